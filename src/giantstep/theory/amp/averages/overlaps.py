"""Overlaps between 0 and 1, as numbers and as matrices, and how far apart two numbers are."""

from __future__ import annotations

from typing import Any

import numpy as np
from jaxtyping import Float

Overlap = Float[np.ndarray, "r r"]
#: Overlaps closer than this to 0 or 1 are taken for 0 or 1.
EDGE = 1e-7


def overlap_inside(overlap: Overlap, low: float = 0.0) -> Overlap:
    """The overlap with its eigenvalues brought into [low, 1 - EDGE]."""
    values, vectors = np.linalg.eigh((overlap + overlap.T) / 2)
    return (vectors * np.clip(values, low, 1 - EDGE)) @ vectors.T


def overlap_room(overlap: Overlap, directions: Float[np.ndarray, "p r r"]) -> np.ndarray:
    """How far M + t D stays below I, for each of the directions D, which are positive."""
    values, vectors = np.linalg.eigh(overlap)
    scale = 1 / np.sqrt(1 - values)
    relative = scale[:, None] * (vectors.T @ directions @ vectors) * scale
    return 1 / np.linalg.eigvalsh(relative)[..., -1]


def overlap_gap(value: Any, other: Any) -> Any:
    """How far apart two numbers, or arrays of them, are; nothing between equal infinities.

    >>> overlap_gap(np.array([1.0, np.inf]), np.array([1.5, np.inf])).tolist()
    [0.5, 0.0]
    """
    value, other = np.asarray(value, dtype=float), np.asarray(other, dtype=float)
    with np.errstate(invalid="ignore"):
        return np.where(value == other, 0.0, np.abs(value - other))[()]
