"""What a neuron computes: activations, their Hermite coefficients, their kernels."""
