"""The layers: directions of the inputs, neurons that read them, a second layer, its curve."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from giantstep.language.activations.activation import Activation
from giantstep.numerics.ridge.large import CentredFit, by_chunks, krylov_ridge, ridge_by_chunks
from giantstep.numerics.ridge.path import GCV, RidgePath, ridge_or_gcv

#: Biases are uniform between minus this and this: where the projections of inputs are.
WIDEST_BIAS = 2.0


@dataclass(frozen=True, eq=False)
class HiddenLayer:
    """H(x) = sigma(Theta B x + b), with orthonormal rows of B and unit rows of Theta."""

    sigma: Activation
    directions: Float[np.ndarray, "k d"]
    theta: Float[np.ndarray, "p k"]
    biases: Float[np.ndarray, " p"]

    @classmethod
    def draw(
        cls,
        sigma: Activation,
        directions: Float[np.ndarray, "k d"],
        width: int,
        rng: np.random.Generator,
    ) -> HiddenLayer:
        """Neurons in random directions of the span, with random biases."""
        theta = rng.standard_normal((width, len(directions)))
        theta /= np.linalg.norm(theta, axis=1, keepdims=True)
        return cls(sigma, directions, theta, rng.uniform(-WIDEST_BIAS, WIDEST_BIAS, width))

    @property
    def width(self) -> int:
        """Number of neurons."""
        return len(self.theta)

    def fields(self, inputs: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "n p"]:
        """What the neurons see."""
        return (inputs @ self.directions.T) @ self.theta.T + self.biases

    def features(self, inputs: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "n p"]:
        """What the neurons answer."""
        return np.asarray(self.sigma.numpy(self.fields(inputs)))

    def output(
        self, inputs: Float[np.ndarray, "n d"], readout: Float[np.ndarray, " p"]
    ) -> Float[np.ndarray, " n"]:
        """H(x) . readout, by chunks."""
        return by_chunks(
            lambda part: self.features(inputs[part]) @ readout, len(inputs), self.width
        )

    def fitted(self, inputs: Float[np.ndarray, "n d"], fit: CentredFit) -> Float[np.ndarray, " n"]:
        """What a ridge regression on the features answers."""
        return self.output(inputs, fit.coefficients) - fit.centre @ fit.coefficients + fit.mean

    def slopes(
        self, inputs: Float[np.ndarray, "n d"], readout: Float[np.ndarray, " p"]
    ) -> Float[np.ndarray, "n k"]:
        """Derivatives of H(x) . readout along the projections z = B x, by chunks."""
        along, slope = readout[:, None] * self.theta, self.sigma.numpy_derivative
        return by_chunks(
            lambda part: slope(self.fields(inputs[part])) @ along, len(inputs), self.width
        )


def orthonormal_layer(rows: Float[np.ndarray, "k d"]) -> Float[np.ndarray, "k d"]:
    """The orthonormal rows nearest to these: the polar factor."""
    left, _, right = np.linalg.svd(rows, full_matrices=False)
    return left @ right


def trained_leaf_span(directions: Float[np.ndarray, "k d"], leaves: int) -> float:
    """Mean squared projection of the true leaves, the first axes, on orthonormal directions.

    >>> trained_leaf_span(np.eye(4)[:1], 2)
    0.5
    """
    return float(np.sum(directions[:, :leaves] ** 2)) / leaves


#: Neurons relu(u - knot), at quantiles of u.
KNOTS = 20


class LayerCurve(NamedTuple):
    """phi(u) = c_0 + c_1 u + sum_j c_j relu(u - knot_j)."""

    knots: Float[np.ndarray, " knots"]
    fit: CentredFit

    @classmethod
    def of(cls, u: Float[np.ndarray, " n"], labels: Float[np.ndarray, " n"]) -> LayerCurve:
        """The ridge regression of the labels on u and its neurons, with a ridge chosen by GCV."""
        knots = np.quantile(u, (np.arange(KNOTS) + 0.5) / KNOTS)
        path = RidgePath.fit(_trained_curve_columns(u, knots), labels, intercept=True)
        assert path.feature_mean is not None
        coefficients = path.coefficients(ridge_or_gcv(path, GCV))[0]
        return cls(knots, CentredFit(coefficients, path.feature_mean, path.label_mean))

    def value(self, u: Float[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
        """phi(u)."""
        return self.fit.predict(_trained_curve_columns(u, self.knots))

    def slope(self, u: Float[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
        """phi'(u)."""
        a = self.fit.coefficients
        return a[0] + (u[:, None] > self.knots) @ a[1:]


def _trained_curve_columns(
    u: Float[np.ndarray, " n"], knots: Float[np.ndarray, " knots"]
) -> Float[np.ndarray, "n columns"]:
    return np.concatenate([u[:, None], np.maximum(u[:, None] - knots, 0.0)], axis=1)


#: Gauss-Newton steps of the second layer after the first fit, and the share of each that is taken.
STEPS, SHARE = 4, 0.7
#: Samples from which the variance that a random neuron sees is estimated, at most.
MOST_SEEN = 4096


class TrainedUnit(NamedTuple):
    """u = (H(x) - centre) . v, and the curve phi(u)."""

    weights: Float[np.ndarray, " p"]
    centre: Float[np.ndarray, " p"]
    link: LayerCurve

    def inner(
        self, layer: HiddenLayer, inputs: Float[np.ndarray, "n d"]
    ) -> Float[np.ndarray, " n"]:
        """The output u of the second layer."""
        return layer.output(inputs, self.weights) - self.centre @ self.weights


def fit_readout(
    layer: HiddenLayer, inputs: Float[np.ndarray, "n d"], labels: Float[np.ndarray, " n"]
) -> CentredFit:
    """The ridge regression of the labels on the features of a layer."""
    return ridge_by_chunks(lambda part: layer.features(inputs[part]), labels, layer.width)


def train_unit(
    layer: HiddenLayer, inputs: Float[np.ndarray, "n d"], labels: Float[np.ndarray, " n"]
) -> TrainedUnit:
    """A ridge regression, which is one preconditioned step, a curve, and Gauss-Newton steps."""
    weights, centre, _ = fit_readout(layer, inputs, labels)
    unit = _train_curve_of_unit(weights, centre, layer, inputs, labels)
    for _ in range(STEPS):
        unit = _train_step_of_unit(unit, layer, inputs, labels)
    return unit


def _train_curve_of_unit(
    weights: np.ndarray,
    centre: np.ndarray,
    layer: HiddenLayer,
    inputs: np.ndarray,
    labels: np.ndarray,
) -> TrainedUnit:
    u = layer.output(inputs, weights) - centre @ weights
    return TrainedUnit(weights, centre, LayerCurve.of(u, labels))


def _train_step_of_unit(
    unit: TrainedUnit, layer: HiddenLayer, inputs: np.ndarray, labels: np.ndarray
) -> TrainedUnit:
    """v + share * (ridge fit of y - phi(u) on (H - centre) phi'(u)), and the curve fitted again."""
    weights, centre, link = unit
    u = unit.inner(layer, inputs)
    slope = link.slope(u)
    move = ridge_by_chunks(
        lambda part: (layer.features(inputs[part]) - centre) * slope[part, None],
        labels - link.value(u),
        layer.width,
        intercept=False,
    ).coefficients
    weights = weights + SHARE * move
    return _train_curve_of_unit(weights, centre, layer, inputs, labels)


def train_random_layer(
    layer: HiddenLayer,
    inputs: Float[np.ndarray, "n d"],
    labels: Float[np.ndarray, " n"],
    fresh: Float[np.ndarray, "m d"],
    width: int,
    rng: np.random.Generator,
) -> Float[np.ndarray, " m"]:
    """What a readout of random neurons on the first layer answers at fresh inputs.

    Neurons see unit variance over the samples and have biases uniform on [-1, 1].
    """
    rows = rng.standard_normal((width, layer.width))
    biases = rng.uniform(-1, 1, width)
    some = layer.features(inputs[:MOST_SEEN])
    centre = some.mean(axis=0)
    rows /= np.std((some - centre) @ rows.T, axis=0)[:, None]

    def second(x: np.ndarray) -> np.ndarray:
        seen = (layer.features(x) - centre) @ rows.T + biases
        return np.asarray(layer.sigma.numpy(seen))

    fit = ridge_by_chunks(lambda part: second(inputs[part]), labels, width)
    return by_chunks(lambda part: fit.predict(second(fresh[part])), len(fresh), width)


#: With more columns than this the normal equations are not formed: products with the design alone.
MOST_COLUMNS = 2500


def turn_trained_layer(
    layer: HiddenLayer,
    inputs: Float[np.ndarray, "n d"],
    slopes: Float[np.ndarray, "n k"],
    residuals: Float[np.ndarray, " n"],
    rng: np.random.Generator,
) -> HiddenLayer:
    """The same neurons reading B + V made orthonormal, V the ridge fit of the residuals on J.

    J_i = slopes_i (x) x_i, with ``slopes`` the derivatives of the network along z = B x. The
    design J has k*d columns; of it a chunk of rows is made at a time, or from ``MOST_COLUMNS``
    columns on none at all.
    """
    kinds, dim = layer.directions.shape

    def design(part: slice) -> np.ndarray:
        products = slopes[part, :, None] * inputs[part, None, :]
        return products.reshape(len(products), kinds * dim)

    if kinds * dim <= MOST_COLUMNS:
        fit = ridge_by_chunks(design, residuals, kinds * dim, intercept=False)
        move = fit.coefficients.reshape(kinds, dim)
    else:

        def forward(v: np.ndarray) -> np.ndarray:
            return np.sum(slopes * (inputs @ v.reshape(kinds, dim).T), axis=1)

        def backward(r: np.ndarray) -> np.ndarray:
            return ((slopes * r[:, None]).T @ inputs).ravel()

        move = krylov_ridge(forward, backward, residuals, kinds * dim, rng).reshape(kinds, dim)
    return replace(layer, directions=orthonormal_layer(layer.directions + move))
