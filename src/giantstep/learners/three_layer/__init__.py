"""Trees learned layer by layer, by AdamW, or by the schedule of their authors."""
