"""State evolution, free entropy, phase transitions, spectral methods: the best that is known."""
