"""The second layer on a given first one: random, or trained with the third."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from giantstep.learners.depth.chunked_ridge import Fit, by_chunks, fit_ridge
from giantstep.learners.depth.hidden_layer import HiddenLayer
from giantstep.learners.depth.link import Link

#: Gauss-Newton steps of the second layer after the first fit, and the share of each that is taken.
STEPS, SHARE = 4, 0.7
#: Samples from which the variance that a random neuron sees is estimated, at most.
MOST_SEEN = 4096


class TrainedUnit(NamedTuple):
    """u = (H(x) - centre) . v, and the curve phi(u)."""

    weights: Float[np.ndarray, " p"]
    centre: Float[np.ndarray, " p"]
    link: Link

    def inner(
        self, layer: HiddenLayer, inputs: Float[np.ndarray, "n d"]
    ) -> Float[np.ndarray, " n"]:
        """The output u of the second layer."""
        return layer.output(inputs, self.weights) - self.centre @ self.weights


def fit_readout(
    layer: HiddenLayer, inputs: Float[np.ndarray, "n d"], labels: Float[np.ndarray, " n"]
) -> Fit:
    """The ridge regression of the labels on the features of a layer."""
    return fit_ridge(lambda part: layer.features(inputs[part]), labels, layer.width)


def train_unit(
    layer: HiddenLayer, inputs: Float[np.ndarray, "n d"], labels: Float[np.ndarray, " n"]
) -> TrainedUnit:
    """A ridge regression, which is one preconditioned step, a curve, and Gauss-Newton steps."""
    weights, centre, _ = fit_readout(layer, inputs, labels)
    unit = TrainedUnit(weights, centre, Link.of(_inner(layer, inputs, weights, centre), labels))
    for _ in range(STEPS):
        unit = _stepped(unit, layer, inputs, labels)
    return unit


def _inner(
    layer: HiddenLayer, inputs: np.ndarray, weights: np.ndarray, centre: np.ndarray
) -> np.ndarray:
    return layer.output(inputs, weights) - centre @ weights


def _stepped(
    unit: TrainedUnit, layer: HiddenLayer, inputs: np.ndarray, labels: np.ndarray
) -> TrainedUnit:
    """v + share * (ridge fit of y - phi(u) on (H - centre) phi'(u)), and the curve fitted again."""
    weights, centre, link = unit
    u = unit.inner(layer, inputs)
    slope = link.slope(u)
    move = fit_ridge(
        lambda part: (layer.features(inputs[part]) - centre) * slope[part, None],
        labels - link.value(u),
        layer.width,
        intercept=False,
    ).coefficients
    weights = weights + SHARE * move
    return TrainedUnit(weights, centre, Link.of(_inner(layer, inputs, weights, centre), labels))


def random_second_layer(
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

    fit = fit_ridge(lambda part: second(inputs[part]), labels, width)
    readout = fit.coefficients
    answers = by_chunks(lambda part: second(fresh[part]) @ readout, len(fresh), width)
    return answers - fit.centre @ readout + fit.mean
