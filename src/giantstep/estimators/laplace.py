r"""Kernel ridge regression with the Laplace kernel, in a metric that follows the average gradient.

.. math:: k(z, z') = \exp(-|A(z - z')|/b)

with b of 1 or 3 median distances, the ridge and b chosen by exact leave-one-out errors of the
rows in the fit. A large table is thinned for that choice: the best ridge moves by less than one
step of the grid when rows double.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.linalg import lapack
from scipy.spatial.distance import cdist, pdist, squareform

from giantstep.numerics.ridge.scaled import Roots

#: Bandwidths tried, in median distances, and ridges.
BANDWIDTHS = (1.0, 3.0)
RIDGES = 10.0 ** np.arange(-6, 1.1, 0.5)
#: Rows that are enough to choose the bandwidth and the ridge.
ENOUGH_ROWS = 500


class Choice(NamedTuple):
    """A bandwidth in median distances, and the position of the ridge on the grid."""

    factor: float
    level: int


class LaplaceKernel(NamedTuple):
    """A fitted kernel regression: centres in the metric, dual coefficients, an intercept."""

    centres: Float[np.ndarray, "n d"]
    metric: Float[np.ndarray, "d d"]
    bandwidth: float
    dual: Float[np.ndarray, " n"]
    intercept: float
    choice: Choice

    def predict(self, inputs: Float[np.ndarray, "m d"]) -> Float[np.ndarray, " m"]:
        """The fitted function."""
        distances = cdist(inputs @ self.metric, self.centres)
        return np.exp(-distances / self.bandwidth) @ self.dual + self.intercept


def fit_laplace(
    inputs: Float[np.ndarray, "n d"],
    labels: Float[np.ndarray, " n"],
    metric: Float[np.ndarray, "d d"],
    *,
    start: int | None = None,
    choice: Choice | None = None,
    roots: Roots = 1.0,
) -> LaplaceKernel:
    r"""The bandwidth and ridge of ``choice``, or of least leave-one-out error.

    .. math:: e_i = [(K + \lambda)^{-1} y]_i / [(K + \lambda)^{-1}]_{ii}

    A row of weight w has the ridge :math:`\lambda/w`. The mean of the labels is removed first. The
    ridge is found downhill along the grid from the position ``start``, by default its middle.
    """
    centres = inputs @ metric
    mean = float(np.mean(roots**2 * labels))
    centred = labels - mean
    pairs = pdist(centres)
    step = -(-len(labels) // ENOUGH_ROWS)
    weights = np.broadcast_to(roots, labels.shape) ** 2
    few = pairs if step == 1 else pdist(centres[::step])
    # One row has no distance, and equal rows have none either.
    middle = float(np.median(few) if len(few) else 0.0) or 1.0
    if choice is None:
        level = len(RIDGES) // 2 if start is None else start
        found = []
        for factor in BANDWIDTHS:
            kernel = squareform(np.exp(-few / (factor * middle)))
            level, error = _laplace_ridge_downhill(kernel, centred[::step], level, weights[::step])
            found.append((error, Choice(factor, level)))
        choice = min(found)[1]
    kernel = squareform(np.exp(-pairs / (choice.factor * middle)))
    dual = _laplace_dual(kernel, centred, RIDGES[choice.level] / weights)
    return LaplaceKernel(centres, metric, choice.factor * middle, dual, mean, choice)


def _laplace_ridge_downhill(
    kernel: np.ndarray, labels: np.ndarray, first: int, weights: np.ndarray
) -> tuple[int, float]:
    """Position of the ridge at the bottom, and the leave-one-out error there."""
    here = first, _leave_one_out(kernel, labels, RIDGES[first], weights)
    for step in (1, -1):
        moved = False
        while 0 <= here[0] + step < len(RIDGES):
            level = here[0] + step
            there = level, _leave_one_out(kernel, labels, RIDGES[level], weights)
            if not there[1] < here[1]:
                break
            here, moved = there, True
        if moved:
            break
    return here


def _leave_one_out(
    kernel: Float[np.ndarray, "n n"],
    labels: Float[np.ndarray, " n"],
    ridge: float,
    weights: Float[np.ndarray, " n"] | float = 1.0,
) -> float:
    """Mean squared leave-one-out error; the kernel's diagonal is taken as 1.

    With the Cholesky factor L of K + ridge, the diagonal of the inverse is the sum of squares of
    the columns of the inverse of L.
    """
    factor, failed = _laplace_factor(kernel.copy(), ridge / weights)
    if failed:
        return np.inf
    inverse, _ = lapack.dtrtri(factor, lower=1, overwrite_c=1)
    dual = (inverse @ labels) @ inverse
    return float(np.mean(weights * (dual / np.einsum("ij,ij->j", inverse, inverse)) ** 2))


def _laplace_dual(kernel: np.ndarray, labels: np.ndarray, ridge: np.ndarray) -> np.ndarray:
    """Dual coefficients at one ridge; the kernel is overwritten."""
    factor, failed = _laplace_factor(kernel, ridge)
    return np.zeros_like(labels) if failed else lapack.dpotrs(factor, labels, lower=1)[0]


def _laplace_factor(kernel: np.ndarray, ridge: np.ndarray | float) -> tuple[np.ndarray, int]:
    """The Cholesky factor of kernel + ridge, in place, and whether it failed."""
    kernel[np.diag_indices_from(kernel)] = 1.0 + ridge
    factor, failed = lapack.dpotrf(kernel.T, lower=1, clean=1, overwrite_a=1)
    return factor, failed
