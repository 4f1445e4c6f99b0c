"""What can be learned of a target: staircases, thresholds, error floors, samples."""
