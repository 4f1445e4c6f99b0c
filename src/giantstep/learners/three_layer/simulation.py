"""The learner `three-layer`: networks of two and three layers on a tree, and what they cost."""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

import numpy as np

from giantstep.answer import Run
from giantstep.errors import SettingsError
from giantstep.language.problem import TreeProblem
from giantstep.learners.seeds import once_per_seed
from giantstep.learners.three_layer.adam import DECAYS, TWO_LAYERS_WIDER, train_adam
from giantstep.learners.three_layer.authors import RANDOM_WIDTH, SECOND_STEPS, train_authors
from giantstep.learners.three_layer.layers import MOST_COLUMNS, STEPS, trained_leaf_span
from giantstep.learners.three_layer.layerwise import (
    TURNS,
    UNITS,
    sample_eigenvectors,
    sample_moments,
    train_layerwise,
    train_lazy,
)
from giantstep.learners.three_layer.samples import alignment, draw_tree_data, simulated_tree_sizes
from giantstep.numerics.cost import DRAW, EXPONENTIAL, Cost, ridge_fit
from giantstep.numerics.ridge.large import ENTRIES, KRYLOV_STEPS, PROBES
from giantstep.settings.three_layer import LAYERWISE, ThreeLayer

TRAINERS = {
    "lazy": train_lazy,
    "adam": train_adam,
    "authors": train_authors,
    **dict.fromkeys(LAYERWISE, train_layerwise),
}


def _simulation_with_notes(problem: TreeProblem, settings: ThreeLayer, found: Run) -> Run:
    """The run with the names of its networks, and what is known of its first layer."""
    notes = []
    if settings.oracle:
        notes.append("oracle first layer: drawn inside the span of the true leaves")
    if settings.leaves == "auto":
        counted, true = found.metrics["leaves"], simulated_tree_sizes(problem, settings).leaves
        right = int(np.sum(counted == true))
        notes.append(f"leaves counted: the true {true} in {right} of {len(counted)} seeds")
    named = {"networks": ",".join(settings.networks), "stages": ",".join(settings.stages)}
    return dataclasses.replace(found, settings={**found.settings, **named}, notes=tuple(notes))


@functools.partial(once_per_seed, after=_simulation_with_notes)
def simulate(
    problem: TreeProblem, settings: ThreeLayer, rng: np.random.Generator
) -> dict[str, Any]:
    """Train once for each seed; errors on fresh samples, network by network.

    ``test_error_relative`` is the test error over the variance of the labels without noise.
    ``moment_span`` is the mean squared projection of the true leaves on as many eigenvectors of the
    moment matrix of the labels, ``span`` that on the directions of the first layer, stage by stage.
    ``alignment`` is the correlation of what the second layer hands on with the branch, of a network
    without one that of its output. ``leaves`` counts the directions that the first layer keeps.
    """
    dim = simulated_tree_sizes(problem, settings).dim
    samples = settings.samples.count(dim, "samples")
    data = draw_tree_data(problem, samples, settings.test_samples, dim, rng)
    train, test = data.train, data.test
    if np.ptp(train.labels) == 0:
        raise SettingsError(
            f"samples = {samples}: the labels drawn are all equal, so that nothing can be learned "
            "of them; give more samples"
        )
    eigenvectors = sample_eigenvectors(sample_moments(train.inputs, train.labels), data.leaves)
    trained = TRAINERS[settings.scenario](settings, dim, data, rng)
    errors = np.array([np.mean((each.output - test.clean) ** 2) for each in trained.answers])
    found = {
        "test_error": errors,
        "test_error_noisy": errors + problem.noise,
        "test_error_relative": errors / np.var(test.clean),
        "alignment": np.array([alignment(a.inner, test.latent) for a in trained.answers]),
        "moment_span": trained_leaf_span(eigenvectors, data.leaves),
        "leaves": float(trained.directions),
    }
    return found | ({"span": np.array(trained.spans)} if settings.stages else {})


def cost(problem: TreeProblem, settings: ThreeLayer) -> Cost:
    """Samples in d dimensions, held, and the fits and steps of a scenario."""
    dim, _, directions = simulated_tree_sizes(problem, settings)
    n, (width, second) = settings.samples.count(dim, "samples"), settings.widths(dim)
    rows = n + settings.test_samples
    held, work = {
        "lazy": lambda: _cost_of_training_fit(n, dim + dim * (dim + 1) // 2, 1.0 * n * dim**2),
        "adam": lambda: _adam(settings, n, dim, width, second),
        "authors": lambda: _authors(settings, n, dim, width, second),
    }.get(settings.scenario, lambda: _layerwise(settings, n, dim, width, second, directions))()
    return Cost(
        8 * (rows * (dim + 6.0) + held),
        rows * dim * (DRAW + dim) + work,
        f"samples = {n}, width = {width} at dim = {dim}",
        "lower --samples, --width, --dim or --test-samples",
    )


def _cost_of_training_fit(n: int, columns: int, products: float) -> tuple[float, float]:
    """Numbers held and operations of a fit: dense, or by products that cost ``products`` each."""
    if columns <= MOST_COLUMNS:
        return 2.0 * ENTRIES + 4.0 * min(columns, n) ** 2, ridge_fit(n, columns)
    steps = KRYLOV_STEPS * (1 + PROBES)
    return 2.0 * columns * KRYLOV_STEPS, steps * (2 * products + 2.0 * columns * KRYLOV_STEPS)


def _layerwise(
    settings: ThreeLayer, n: int, dim: int, width: int, second: int, directions: int
) -> tuple[float, float]:
    readout = ridge_fit(n, width) + n * width * (2.0 * directions + EXPONENTIAL / 10)
    held, turn = _cost_of_training_fit(n, directions * dim, 1.0 * n * directions * dim)
    turn += 3.0 * n * width * directions
    work = settings.number_of_steps(dim) * 2.0 * n * dim * UNITS + 2 * readout
    work += ridge_fit(n, second) + n * second * (width + EXPONENTIAL / 10)
    fits = {"first-layer": 0, "second-layer": 1, "joint": 1 + TURNS}[settings.scenario]
    turns = 0 if settings.oracle else TURNS
    work += turns * (turn + readout) + fits * (1 + STEPS) * readout
    work += turns * turn if settings.scenario == "joint" else 0.0
    return held + n * directions * 2.0 + 5.0 * second**2, work


def _adam(settings: ThreeLayer, n: int, dim: int, width: int, second: int) -> tuple[float, float]:
    weights = {2: TWO_LAYERS_WIDER * width * dim, 3: width * (dim + second)}
    layers = [int(name[-1]) for name in settings.networks]
    passes = settings.number_of_steps(dim) * len(DECAYS) * 3.0 * n
    return 1.0 * n * dim + 10.0 * max(weights.values()), sum(passes * weights[k] for k in layers)


def _authors(
    settings: ThreeLayer, n: int, dim: int, width: int, second: int
) -> tuple[float, float]:
    first = settings.number_of_steps(dim) * 3.0 * n * width * (dim + second)
    later = SECOND_STEPS * 2.0 * n * width * second
    fits = sum(ridge_fit(n, p) for p in (width, RANDOM_WIDTH, second))
    return 3.0 * n * (width + RANDOM_WIDTH), first + later + fits
