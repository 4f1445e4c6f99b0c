"""Ridge regression and generalised cross-validation, in memory, from sums, or by products."""
