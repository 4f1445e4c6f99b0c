"""Learning under structured inputs: gradient flows, principal components, Langevin dynamics."""
