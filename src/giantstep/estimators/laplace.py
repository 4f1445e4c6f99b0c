r"""Kernel ridge regression with the Laplace kernel, in a metric that follows the average gradient.

.. math:: k(z, z') = \exp(-|A(z - z')|/b)

with b of 1 or 3 median distances, the ridge and b chosen by exact leave-one-out errors of the
rows in the fit.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.linalg import eigh
from scipy.spatial.distance import cdist

#: Bandwidths tried, in median distances, and ridges.
BANDWIDTHS = (1.0, 3.0)
RIDGES = 10.0 ** np.arange(-6, 1.1, 0.5)


class LaplaceKernel(NamedTuple):
    """A fitted kernel regression: centres in the metric, dual coefficients, an intercept."""

    centres: Float[np.ndarray, "n d"]
    metric: Float[np.ndarray, "d d"]
    bandwidth: float
    dual: Float[np.ndarray, " n"]
    intercept: float

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
) -> LaplaceKernel:
    r"""The bandwidth and ridge of least leave-one-out error; the mean of the labels is removed.

    .. math:: e_i = [(K + \lambda)^{-1} y]_i / [(K + \lambda)^{-1}]_{ii}
    """
    centres = inputs @ metric
    distances = cdist(centres, centres)
    middle = float(np.median(distances[np.triu_indices(len(distances), 1)])) or 1.0
    mean = float(labels.mean())
    centred = labels - mean
    best: tuple[float, LaplaceKernel] | None = None
    for factor in BANDWIDTHS:
        values, vectors = eigh(np.exp(-distances / (factor * middle)), check_finite=False)
        parts, squares = vectors.T @ centred, vectors**2
        for level in RIDGES:
            inverse = 1 / (np.maximum(values, 0.0) + level)
            dual = vectors @ (inverse * parts)
            error = float(np.mean((dual / (squares @ inverse)) ** 2))
            if best is None or error < best[0]:
                model = LaplaceKernel(centres, metric, factor * middle, dual, mean)
                best = error, model
    assert best is not None
    return best[1]
