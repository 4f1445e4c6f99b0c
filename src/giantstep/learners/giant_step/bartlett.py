"""A Gaussian matrix up to rotation of its columns, at a cost that ignores how many there are."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from giantstep.learners.giant_step.draws import Draws


def bartlett(
    draws: Draws, rows: int, freedom: int, *path: int
) -> Float[np.ndarray, "runs rows columns"]:
    r"""Lower trapezoidal T with :math:`G = T O`: G Gaussian, O with orthonormal rows.

    G is ``rows`` x ``freedom`` with iid N(0,1) entries. T has min(rows, freedom) columns,
    :math:`T_{ii} = \chi_{freedom - i}`, :math:`T_{ij} \sim N(0,1)` below the diagonal. Its cost
    does not depend on ``freedom``; chi is drawn in float64, exact at any number of degrees.
    """
    columns = min(rows, freedom)
    diagonal = np.arange(columns)
    factors = []
    for rng in draws.streams(*path):
        factor = np.tril(rng.standard_normal((rows, columns)), -1)
        factor[diagonal, diagonal] = np.sqrt(rng.chisquare(float(freedom) - diagonal))
        factors.append(factor)
    return np.stack(factors)
