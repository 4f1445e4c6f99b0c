r"""Kernel ridge regression with the Laplace kernel, in a metric that follows the average gradient.

.. math:: k(z, z') = \exp(-|A(z - z')|/b)

with b of 1 or 3 median distances, the ridge and b chosen by exact leave-one-out errors of the
rows in the fit.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.linalg import lapack
from scipy.spatial.distance import cdist, pdist, squareform

#: Bandwidths tried, in median distances, and ridges.
BANDWIDTHS = (1.0, 3.0)
RIDGES = 10.0 ** np.arange(-6, 1.1, 0.5)


class LaplaceKernel(NamedTuple):
    """A fitted kernel regression: centres in the metric, dual coefficients, an intercept.

    ``levels`` are the positions on the grid of the ridge that is best for each bandwidth.
    """

    centres: Float[np.ndarray, "n d"]
    metric: Float[np.ndarray, "d d"]
    bandwidth: float
    dual: Float[np.ndarray, " n"]
    intercept: float
    levels: tuple[int, ...]

    def predict(self, inputs: Float[np.ndarray, "m d"]) -> Float[np.ndarray, " m"]:
        """The fitted function."""
        distances = cdist(inputs @ self.metric, self.centres)
        return np.exp(-distances / self.bandwidth) @ self.dual + self.intercept

    def average_gradient(self) -> Float[np.ndarray, "d d"]:
        """The average outer product of the gradient over the centres.

        The kernel has a cusp where its arguments meet; that term is left out.
        """
        distances = cdist(self.centres, self.centres)
        with np.errstate(divide="ignore", invalid="ignore"):
            slopes = -np.exp(-distances / self.bandwidth) / (self.bandwidth * distances)
        weights = np.where(distances > 0, slopes, 0.0) * self.dual
        gradients = weights.sum(axis=1)[:, None] * self.centres - weights @ self.centres
        images = gradients @ self.metric.T
        return images.T @ images / len(images)


def fit_laplace(
    inputs: Float[np.ndarray, "n d"],
    labels: Float[np.ndarray, " n"],
    metric: Float[np.ndarray, "d d"],
    start: tuple[int, ...] | None = None,
) -> LaplaceKernel:
    r"""The bandwidth and ridge of least leave-one-out error; the mean of the labels is removed.

    .. math:: e_i = [(K + \lambda)^{-1} y]_i / [(K + \lambda)^{-1}]_{ii}

    The ridge is found downhill along the grid from ``start``, one position for each bandwidth.
    """
    centres = inputs @ metric
    pairs = pdist(centres)
    # One row has no distance, and equal rows have none either.
    middle = float(np.median(pairs) if len(pairs) else 0.0) or 1.0
    mean = float(labels.mean())
    centred = labels - mean
    levels, found = [], []
    for factor, first in zip(
        BANDWIDTHS, start or (len(RIDGES) // 2,) * len(BANDWIDTHS), strict=True
    ):
        kernel = squareform(np.exp(-pairs / (factor * middle)))
        level, error, dual = _downhill(kernel, centred, first)
        levels.append(level)
        found.append((error, factor * middle, dual))
    _, bandwidth, dual = min(found, key=lambda one: one[0])
    return LaplaceKernel(centres, metric, bandwidth, dual, mean, tuple(levels))


def _downhill(kernel: np.ndarray, labels: np.ndarray, first: int) -> tuple[int, float, np.ndarray]:
    """Position of the ridge, leave-one-out error and dual coefficients at the bottom."""
    here = (first, *leave_one_out(kernel, labels, RIDGES[first]))
    for step in (1, -1):
        moved = False
        while 0 <= here[0] + step < len(RIDGES):
            level = here[0] + step
            there = (level, *leave_one_out(kernel, labels, RIDGES[level]))
            if not there[1] < here[1]:
                break
            here, moved = there, True
        if moved:
            break
    return here


def leave_one_out(
    kernel: Float[np.ndarray, "n n"], labels: Float[np.ndarray, " n"], ridge: float
) -> tuple[float, Float[np.ndarray, " n"]]:
    """Mean squared leave-one-out error and dual coefficients; the kernel's diagonal is taken as 1.

    With the Cholesky factor L of K + ridge, the diagonal of the inverse is the sum of squares of
    the columns of the inverse of L.
    """
    shifted = kernel.copy()
    shifted[np.diag_indices_from(shifted)] = 1.0 + ridge
    factor, failed = lapack.dpotrf(shifted.T, lower=1, clean=1, overwrite_a=1)
    if failed:
        return np.inf, np.zeros_like(labels)
    inverse, _ = lapack.dtrtri(factor, lower=1, overwrite_c=1)
    dual = (inverse @ labels) @ inverse
    return float(np.mean((dual / np.einsum("ij,ij->j", inverse, inverse)) ** 2)), dual
