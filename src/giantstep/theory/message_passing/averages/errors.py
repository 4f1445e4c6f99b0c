"""How far off a number is that comes from a rule of integration: what a coarser rule changes."""

from __future__ import annotations

from typing import Any

import numpy as np


def gap(value: Any, other: Any) -> Any:
    """How far apart two numbers, or arrays of them, are; nothing between equal infinities.

    >>> gap(np.array([1.0, np.inf]), np.array([1.5, np.inf])).tolist()
    [0.5, 0.0]
    """
    value, other = np.asarray(value, dtype=float), np.asarray(other, dtype=float)
    found = np.zeros(value.shape)
    np.subtract(value, other, out=found, where=value != other)
    return float(abs(found)) if found.ndim == 0 else np.abs(found)
