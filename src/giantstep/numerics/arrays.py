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
    tolerance: float = 1e-11,
    max_iterations: int = 10_000,
    memory: int = 0,
) -> tuple[np.ndarray, int, bool]:
    """The numpy twin of ``fixed_point``: the value, the iterations, and whether it converged.

    With ``memory`` each step is Anderson's: the combination of the last images whose residual is
    least. It pays where f is expensive.

    >>> value, count, converged = iterate(np.cos, np.array([1.0]))
    >>> round(float(value[0]), 9), converged
    (0.739085133, True)
    >>> iterate(np.cos, np.array([1.0]), memory=3)[1] < count / 4
    True
    """
    x, count, residual = start, 0, np.inf
    points: list[np.ndarray] = []
    gaps: list[np.ndarray] = []
    while count < max_iterations:
        image, count = f(x), count + 1
        residual = np.max(np.abs(image - x) / (1 + np.abs(image)))
        if not residual > tolerance:
            break
        points, gaps = [*points, x][-memory - 1 :], [*gaps, image - x][-memory - 1 :]
        x = image
        if len(gaps) > 1:
            steps, changes = np.diff(points, axis=0).T, np.diff(gaps, axis=0).T
            mix = np.linalg.lstsq(changes, gaps[-1], rcond=1e-10)[0]
            x = image - (steps + changes) @ mix
    return image, count, bool(residual <= tolerance)
