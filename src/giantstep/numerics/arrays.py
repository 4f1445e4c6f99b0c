"""Formulas written once, for numpy arrays and for JAX's: numpy answers a single question faster."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

Numbers = np.ndarray | jax.Array


def namespace(*arrays: Any) -> Any:
    """``jax.numpy`` if one of the arrays is JAX's, otherwise ``numpy``.

    >>> namespace(np.ones(2), 1.0).__name__
    'numpy'
    """
    return jnp if any(isinstance(array, jax.Array) for array in arrays) else np


def iterate(
    f: Callable[[Any], Any],
    start: np.ndarray,
    *,
    damping: float = 1.0,
    tolerance: float = 1e-11,
    max_iterations: int = 10_000,
) -> tuple[np.ndarray, int, bool]:
    """The numpy twin of ``fixed_point``: the value, the iterations, and whether it converged.

    >>> value, _, converged = iterate(np.cos, np.array([1.0]))
    >>> round(float(value[0]), 9), converged
    (0.739085133, True)
    """
    x, residual = start, np.inf
    for count in range(1, max_iterations + 1):
        image = f(x)
        residual = np.max(np.abs(image - x) / (1 + np.abs(image)))
        x = (1 - damping) * x + damping * image
        if not residual > tolerance:
            break
    return x, count, bool(residual <= tolerance)
