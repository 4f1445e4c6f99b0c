"""What a sample says of its label, through its projections on what the rows have learned."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from giantstep.language.problem import Problem
from giantstep.theory.giant_step.risk.batch_samples import risk_input_rule
from giantstep.theory.giant_step.risk.first_layer import FirstLayer, limit_frame_of_means
from giantstep.theory.learnability.staircase import one_step_direction
from giantstep.theory.spiked_random_features.conditional_labels import Latents
from giantstep.theory.spiked_random_features.risk import grid_steepness, spiked_labels_on_grid

#: Means shorter than this are none, and sines below this count as zero.
NO_MEAN, NO_SINE = 1e-9, 1e-7


class Learned(NamedTuple):
    """What a sample says of the label, through its projections on what the rows have learned.

    On each point: ``projections`` of the kinds' means, with ``weights``. ``directions``: vectors
    that the fit singles out, as columns; of these the first ``along`` have the coordinates
    ``kappa`` on the points, and each other one is a standard normal z_i beside them. ``labels``:
    E[y | kappa], then E[z_i y | kappa]; ``power`` E[y^2 | kappa], noise included.
    """

    weights: Float[np.ndarray, " points"]
    projections: Float[np.ndarray, "k points"]
    directions: Float[np.ndarray, "vectors directions"]
    kappa: Float[np.ndarray, "along points"]
    labels: Float[np.ndarray, "groups points"]
    power: Float[np.ndarray, " points"]


def learned(
    problem: Problem, layer: FirstLayer, *, coarse: bool = False, whole: bool = False
) -> Learned:
    """The labels given the projections on the means: one axis where the means are parallel.

    ``whole``: given the target's directions as well, as always where inputs have a spike.

    >>> from giantstep.language.activations.activation import activation
    >>> from giantstep.theory.giant_step.risk.first_layer import Neurons
    >>> from giantstep.theory.giant_step.risk.gradient_step import limit_layers
    >>> problem = Problem.of("h1 + h2")
    >>> *_, layer = limit_layers(
    ...     problem, activation("tanh"), Neurons.of([1.0, -1.0]), step_sizes=[1.0],
    ...     samples_ratios=[4.0])
    >>> found = learned(problem, layer)
    >>> found.kappa.shape[0], found.labels.shape[0]
    (1, 3)
    """
    left, values, right = np.linalg.svd(layer.means, full_matrices=False)
    count = int(np.sum(values > 1e-6 * max(values[0], NO_MEAN)))
    target, rank = problem.target, problem.target.rank
    if count > 1 or whole or problem.inputs.spike is not None:
        means, frame = limit_frame_of_means(layer.means, rank)
        deviations = np.sqrt(layer.variances)
        points, labels, weights = risk_input_rule(problem, means, deviations, coarse=coarse)
        power = labels**2 + problem.noise
        return Learned(weights, means @ points.T, frame, points.T, labels[None], power)
    # All means are on one line: the other directions of the target are integrated out.
    spikes, unit = left[:, 0] * values[0], right[0]
    seen = unit[:rank]
    moved = float(np.max(np.abs(spikes))) > NO_MEAN
    alignment = min(float(np.linalg.norm(seen)), 1.0) if moved else 0.0
    direction = seen / alignment if alignment > NO_SINE else one_step_direction(target)[0]
    steepness = grid_steepness(spikes, layer.variances)
    grid, found = spiked_labels_on_grid(
        target, tuple(direction), alignment, steepness, coarse=coarse
    )
    sine = math.sqrt(max(1 - alignment**2, 0.0))
    directions = [unit] if moved else []
    embedded = np.zeros((rank, len(unit)))
    embedded[:, :rank] = Latents.of(target, direction).basis()[0]
    if sine >= NO_SINE:
        directions.append((embedded[0] - alignment * unit) / sine if moved else embedded[0])
    directions += list(embedded[1:])
    return Learned(
        grid.weights,
        spikes[:, None] * grid.kappa,
        np.array(directions).T.reshape(len(unit), -1),
        grid.kappa[None][: int(moved)],
        np.concatenate([found.mean[None], found.slope]),
        found.power + problem.noise,
    )
