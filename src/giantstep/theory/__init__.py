"""What must happen, in the limit of high dimension: one file a result, deterministic, float64."""
