"""Labels of committees, of any number of directions: sums by their characteristic functions."""
