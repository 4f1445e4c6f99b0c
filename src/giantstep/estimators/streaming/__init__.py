"""Fits from sums over chunks of rows, for tables larger than memory and for Dask clusters."""
