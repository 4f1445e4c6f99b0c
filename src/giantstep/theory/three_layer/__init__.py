"""Trees and three layers: what each layer sees, from how many samples, and what is left over."""
