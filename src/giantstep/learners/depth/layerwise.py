"""A network of three layers trained layer by layer; every scenario on the same first layer."""

from __future__ import annotations

import numpy as np

from giantstep.activations.activation import activation
from giantstep.learners.depth.hidden_layer import HiddenLayer, span
from giantstep.learners.depth.moment_steps import count_leaves, moment_steps
from giantstep.learners.depth.outcome import Answer, Trained
from giantstep.learners.depth.second_layer import fit_readout, random_second_layer, train_unit
from giantstep.learners.depth.tree_samples import TreeData
from giantstep.learners.depth.turning_step import turning_step
from giantstep.settings.three_layer import ThreeLayer

#: Gauss-Newton steps of the first layer, below a readout and again below the second layer.
TURNS = 3


def train_layerwise(
    settings: ThreeLayer, dim: int, data: TreeData, rng: np.random.Generator
) -> Trained:
    """Train the first layer, then fit on it whatever the scenario and those before it ask for."""
    (train, test), leaves = data[:2], data.leaves
    x, y, networks = train.inputs, train.labels, settings.networks
    width, second_width = settings.widths(dim)
    count = _directions(settings, dim, data, rng)
    spans = []
    if settings.oracle:
        directions = np.eye(dim)[:count]
    else:
        directions = moment_steps(x, y, settings.number_of_steps(dim), count, rng)
    spans.append(span(directions, leaves))
    layer = HiddenLayer.draw(activation(settings.activation), directions, width, rng)
    for _ in range(0 if settings.oracle else TURNS):
        readout = fit_readout(layer, x, y)
        slopes = layer.slopes(x, readout.coefficients)
        layer = layer.turned(
            turning_step(layer.directions, x, slopes, y - layer.fitted(x, readout), rng)
        )
    spans.append(span(layer.directions, leaves))
    output = layer.fitted(test.inputs, fit_readout(layer, x, y))
    answers = [Answer(output, output)]
    output = random_second_layer(layer, x, y, test.inputs, second_width, rng)
    answers.append(Answer(output, output))
    if "second-layer" in networks:
        unit = train_unit(layer, x, y)
        u = unit.inner(layer, test.inputs)
        answers.append(Answer(unit.link.value(u), u))
        if "joint" in networks:
            for _ in range(0 if settings.oracle else TURNS):
                u = unit.inner(layer, x)
                slopes = unit.link.slope(u)[:, None] * layer.slopes(x, unit.weights)
                residuals = y - unit.link.value(u)
                layer = layer.turned(turning_step(layer.directions, x, slopes, residuals, rng))
                unit = train_unit(layer, x, y)
            u = unit.inner(layer, test.inputs)
            answers.append(Answer(unit.link.value(u), u))
            spans.append(span(layer.directions, leaves))
    return Trained(tuple(answers), tuple(spans), count)


def _directions(settings: ThreeLayer, dim: int, data: TreeData, rng: np.random.Generator) -> int:
    """How many directions the first layer keeps: given, counted, or those of the target."""
    if settings.leaves is None:
        return data.leaves
    if settings.leaves == "auto":
        return count_leaves(data.train.inputs, data.train.labels, rng)
    count: int = settings.leaves.count(dim, "leaves")
    return count
