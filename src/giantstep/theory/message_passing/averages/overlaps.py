"""Overlaps between 0 and 1, as numbers and as matrices."""

from __future__ import annotations

from typing import Any

import numpy as np
from jaxtyping import Float

#: Overlaps closer than this to 0 or 1 are taken for 0 or 1.
EDGE = 1e-7


def logistic(t: float) -> float:
    """1/(1 + exp(-t)), the inverse of :func:`logit`."""
    return float(1 / (1 + np.exp(-t)))


def logit(m: Float[np.ndarray, " *k"] | np.floating | float) -> Any:
    """log(m/(1 - m)), in which overlaps close to 0 and close to 1 are well apart."""
    return np.log(m / (1 - m))


def inside(overlap: Float[np.ndarray, "r r"], low: float = 0.0) -> Float[np.ndarray, "r r"]:
    """The overlap with its eigenvalues brought into [low, 1 - EDGE]."""
    values, vectors = np.linalg.eigh((overlap + overlap.T) / 2)
    return (vectors * np.clip(values, low, 1 - EDGE)) @ vectors.T


def room(overlap: Float[np.ndarray, "r r"], directions: Float[np.ndarray, "p r r"]) -> np.ndarray:
    """How far M + t D stays below I, for each of the directions D, which are positive."""
    values, vectors = np.linalg.eigh(overlap)
    scale = 1 / np.sqrt(1 - values)
    relative = scale[:, None] * (vectors.T @ directions @ vectors) * scale
    return 1 / np.linalg.eigvalsh(relative)[..., -1]
