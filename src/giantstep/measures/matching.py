"""Overlap matrices as metrics: estimated directions matched with true ones."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from jaxtyping import Float


def matched(overlap: Float[np.ndarray, "r r"]) -> Float[np.ndarray, " r"]:
    """|M[pi(i), i]| for every true direction i, after the best signed permutation pi.

    >>> matched(np.array([[0.0, -0.5], [0.2, 0.0]])).tolist()
    [0.2, 0.5]
    """
    size = np.abs(overlap)
    columns = np.arange(len(size))
    orders = [list(order) for order in itertools.permutations(columns)]
    best = max(orders, key=lambda order: size[order, columns].sum())
    return size[best, columns]


def overlap_metrics(overlap: Float[np.ndarray, "r r"]) -> dict[str, Any]:
    """`overlap` (a number for r = 1, else matched) and, for r > 1, `overlap_singular_values`."""
    if overlap.shape == (1, 1):
        return {"overlap": float(overlap[0, 0])}
    return {
        "overlap": matched(overlap),
        "overlap_singular_values": np.linalg.svd(overlap, compute_uv=False),
    }
