"""Averages over labels and fields at a given overlap, by nodes that fit each kind of channel."""
