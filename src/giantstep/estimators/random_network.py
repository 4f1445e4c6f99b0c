r"""Random rectified units in a metric that follows the data's average gradient (AGOP).

Features :math:`(A w_k\cdot z/\nu + b_k)_+/\sqrt p`, a readout by ridge regression, then
:math:`A^2 = \overline{\nabla f \nabla f^T}` scaled to unit trace, and once more.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.linalg import eigh

from giantstep.numerics.ridge.path import PathFit

#: Weight of the linear part against the rectified units.
LINEAR_WEIGHT = 0.1


class RandomNetwork(NamedTuple):
    """A fitted random network; ``rows`` of its first layer contain the metric."""

    rows: Float[np.ndarray, "p d"]
    biases: Float[np.ndarray, " p"]
    fit: PathFit

    def features(self, inputs: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "n q"]:
        """Rectified units, then the linear part."""
        return expert_layer_features(inputs, self.rows, self.biases)

    def predict(self, inputs: Float[np.ndarray, "n d"]) -> Float[np.ndarray, " n"]:
        """The fitted function."""
        return self.fit.predict(self.features(inputs))

    def average_gradient(self, inputs: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "d d"]:
        """The average of the outer product of the gradient with itself over these rows."""
        width, columns = self.rows.shape
        units = self.fit.coefficients[:width] / np.sqrt(width)
        linear = self.fit.coefficients[width:] * LINEAR_WEIGHT / np.sqrt(columns)
        # Single precision is enough for an average of products that only sets a metric.
        rows = self.rows.astype(np.float32)
        active = inputs.astype(np.float32) @ rows.T > -self.biases.astype(np.float32)
        gradients = (active * units.astype(np.float32)) @ rows + linear
        return gradients.T @ gradients / len(inputs)


def draw_expert_layer(
    inputs: Float[np.ndarray, "n d"],
    metric: Float[np.ndarray, "d d"],
    width: int,
    generator: np.random.Generator,
) -> tuple[Float[np.ndarray, "p d"], Float[np.ndarray, " p"]]:
    """First layer and biases in this metric, with fields of unit variance over the rows."""
    rows = generator.standard_normal((width, inputs.shape[1])) @ metric.T
    images = inputs @ metric
    size = float(np.sqrt(np.mean(np.einsum("ij,ij->i", images, images)))) or 1.0
    return rows / size, generator.standard_normal(width)


def expert_metric(average: Float[np.ndarray, "d d"]) -> Float[np.ndarray, "d d"]:
    """The square root of the average gradient, scaled to unit trace of its square."""
    values, vectors = eigh(average, check_finite=False)
    trace = float(np.sum(np.maximum(values, 0.0)))
    if trace <= 0:
        return np.eye(len(average))
    return (vectors * np.sqrt(np.maximum(values, 0.0) / trace)) @ vectors.T


def expert_layer_features(
    inputs: Float[np.ndarray, "n d"],
    rows: Float[np.ndarray, "p d"],
    biases: Float[np.ndarray, " p"],
) -> Float[np.ndarray, "n q"]:
    """Rectified units of a first layer, then the linear part."""
    width, columns = rows.shape
    features = np.empty((len(inputs), width + columns), dtype=inputs.dtype)
    scaled = [(part / np.sqrt(width)).astype(inputs.dtype) for part in (rows, biases)]
    fields = features[:, :width]
    np.matmul(inputs, scaled[0].T, out=fields)
    fields += scaled[1]
    np.maximum(fields, 0.0, out=fields)
    features[:, width:] = LINEAR_WEIGHT / np.sqrt(columns) * inputs
    return features
