"""What learns: networks and their activations."""
