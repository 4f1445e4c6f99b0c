"""The exact risk after one giant step for any activation, and for pairs of equal first rows."""
