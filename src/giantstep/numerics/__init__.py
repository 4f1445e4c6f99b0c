"""The numerical tools every room shares: quadrature, float64, fixed points, seeds."""
