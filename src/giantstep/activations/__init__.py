"""What a neuron computes: activations with their Hermite coefficients, and inner-product kernels."""
