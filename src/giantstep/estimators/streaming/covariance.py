r"""The covariance of the scaled inputs, from sums over rows, and its shrunk roots.

Ledoit and Wolf's share needs no more than :math:`\sum_i |x_i|^4` beside the covariance itself.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float


def shrinkage(covariance: Float[np.ndarray, "d d"], fourth: float, rows: float) -> float:
    """Ledoit and Wolf's share of the identity, for inputs of zero mean.

    ``fourth`` is the mean of the fourth power of a row's length.

    >>> from sklearn.covariance import ledoit_wolf_shrinkage
    >>> X = np.random.default_rng(0).standard_normal((40, 7)) * np.arange(1, 8)
    >>> fourth = float(np.mean(np.sum(X**2, axis=1) ** 2))
    >>> found = shrinkage(X.T @ X / 40, fourth, 40)
    >>> bool(np.isclose(found, ledoit_wolf_shrinkage(X, assume_centered=True)))
    True
    """
    columns = len(covariance)
    if columns == 1:
        return 0.0
    size = float(np.sum(covariance**2))
    spread = size - float(np.trace(covariance)) ** 2 / columns
    chance = min((fourth - size) / rows, spread)
    return chance / spread if chance > 0 else 0.0
