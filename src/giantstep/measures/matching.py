"""Overlap matrices M of message passing as metrics: estimated directions matched with true ones."""

from __future__ import annotations

from typing import Any

import numpy as np
from jaxtyping import Float


def matched_overlaps(overlap: Float[np.ndarray, "r r"]) -> Float[np.ndarray, " r"]:
    """|M[pi(i), i]| for every true direction i, after the best signed permutation pi.

    >>> matched_overlaps(np.array([[0.0, -0.5], [0.2, 0.0]])).tolist()
    [0.2, 0.5]
    """
    from scipy.optimize import linear_sum_assignment

    size = np.abs(overlap)
    columns, best = linear_sum_assignment(size.T, maximize=True)
    return size[best, columns]


def measured_overlap_metrics(overlap: Float[np.ndarray, "r r"]) -> dict[str, Any]:
    """`overlap_squared`, one entry of M for each direction; for r > 1 also its singular values.

    For one direction M is the square of a cosine, and `overlap_squared` a number.
    """
    if overlap.shape == (1, 1):
        return {"overlap_squared": float(overlap[0, 0])}
    return {
        "overlap_squared": matched_overlaps(overlap),
        "overlap_squared_singular_values": np.linalg.svd(overlap, compute_uv=False),
    }
