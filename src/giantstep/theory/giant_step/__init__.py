"""What giant steps teach the first layer: overlaps, batches fresh or reused."""
