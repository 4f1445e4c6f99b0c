"""What can be learned of a target, in words and pictures."""
