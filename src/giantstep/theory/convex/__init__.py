"""Random features fitted with a convex loss other than the square."""
