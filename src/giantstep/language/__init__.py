"""What people write: targets, activations, losses, sizes, laws of the inputs, problems."""
