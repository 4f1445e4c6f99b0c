"""Standard normal points that fill space more evenly than independent ones."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

#: Sobol numbers closer to 0 or 1 than this would become infinite normals.
EDGE = 1e-12
#: Axes for which direction numbers are tabulated.
MOST_AXES = 21_201


def normal_points(
    count: int, axes: int, rng: np.random.Generator
) -> Float[np.ndarray, "count axes"]:
    """Scrambled Sobol points as standard normals; a power of two of them keeps the balance.

    >>> points = normal_points(1024, 3, np.random.default_rng(0))
    >>> bool(np.all(np.abs(points.T @ points / 1024 - np.eye(3)) < 0.02))
    True
    """
    from scipy.special import ndtri
    from scipy.stats import qmc

    uniform = qmc.Sobol(axes, scramble=True, rng=rng).random(count)
    return ndtri(np.clip(uniform, EDGE, 1 - EDGE))


def antithetic_points(
    count: int, axes: int, rng: np.random.Generator
) -> Float[np.ndarray, "count axes"]:
    """Sobol normals and their negatives, which removes the sampling noise of odd moments.

    >>> points = antithetic_points(8, 2, np.random.default_rng(0))
    >>> bool(np.all(points[:4] == -points[4:]))
    True
    """
    half = normal_points(count // 2, axes, rng)
    return np.concatenate([half, -half])
