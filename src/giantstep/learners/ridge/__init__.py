"""Ridge regression on random features, kernels, power-law features and the model of one step."""
