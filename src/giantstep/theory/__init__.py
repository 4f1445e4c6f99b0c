"""What must happen, in the limit of high dimension: one file per result, deterministic, float64."""
