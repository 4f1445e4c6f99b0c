"""Ridge regression without feature learning: random features, kernels, power laws."""
