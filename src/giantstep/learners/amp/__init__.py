"""Approximate message passing and spectral methods on real data."""
