"""The learner `three-layer`: networks of two and three layers on a tree."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from giantstep.errors import SettingsError
from giantstep.learners.depth.adam import train_adam
from giantstep.learners.depth.authors import train_authors
from giantstep.learners.depth.hidden_layer import span
from giantstep.learners.depth.layerwise import train_layerwise
from giantstep.learners.depth.lazy import train_lazy
from giantstep.learners.depth.moment_steps import moment_matrix, top_eigenvectors
from giantstep.learners.depth.outcome import alignment
from giantstep.learners.depth.sizes import tree_sizes
from giantstep.learners.depth.tree_samples import draw_tree_data
from giantstep.learners.seeds import over_seeds
from giantstep.problem import TreeProblem
from giantstep.results import Run
from giantstep.settings.three_layer import LAYERWISE, ThreeLayer

TRAINERS = {
    "lazy": train_lazy,
    "adam": train_adam,
    "authors": train_authors,
    **dict.fromkeys(LAYERWISE, train_layerwise),
}


def simulate(
    problem: TreeProblem,
    settings: ThreeLayer,
    *,
    seeds: int = 8,
    seed: int = 0,
    progress: Callable[[float], None] | None = None,
) -> Run:
    """Train once for each seed; errors on fresh samples, network by network.

    ``test_error_relative`` is the test error over the variance of the labels without noise.
    ``moment_span`` is the mean squared projection of the true leaves on as many eigenvectors of the
    moment matrix of the labels, ``span`` that on the directions of the first layer, stage by stage.
    ``alignment`` is the correlation of what the second layer hands on with the branch, of a network
    without one that of its output. ``leaves`` counts the directions that the first layer keeps.
    """
    began = time.perf_counter()
    sizes = tree_sizes(problem, settings)
    metrics = over_seeds(
        lambda rng: _one_run(problem, settings, sizes.dim, rng),
        (settings.learner, problem.to_json(), settings.to_json()),
        seeds=seeds,
        seed=seed,
        progress=progress,
    )
    notes = []
    if settings.oracle:
        notes.append("oracle first layer: drawn inside the span of the true leaves")
    if settings.leaves == "auto":
        right = int(np.sum(metrics["leaves"] == sizes.leaves))
        notes.append(f"leaves counted: the true {sizes.leaves} in {right} of {seeds} seeds")
    described = {
        **settings.to_json(),
        "networks": ",".join(settings.networks),
        "stages": ",".join(settings.stages),
    }
    return Run(
        settings.learner,
        described,
        metrics,
        tuple(notes),
        time.perf_counter() - began,
    )


def _one_run(
    problem: TreeProblem, settings: ThreeLayer, dim: int, rng: np.random.Generator
) -> dict[str, Any]:
    samples = settings.samples.count(dim, "samples")
    data = draw_tree_data(problem, samples, settings.test_samples, dim, rng)
    train, test = data.train, data.test
    if np.ptp(train.labels) == 0:
        raise SettingsError(
            f"samples = {samples}: the labels drawn are all equal, so that nothing can be learned "
            "of them; give more samples"
        )
    eigenvectors = top_eigenvectors(moment_matrix(train.inputs, train.labels), data.leaves)
    trained = TRAINERS[settings.scenario](settings, dim, data, rng)
    errors = np.array([np.mean((each.output - test.clean) ** 2) for each in trained.answers])
    found = {
        "test_error": errors,
        "test_error_noisy": errors + problem.noise,
        "test_error_relative": errors / np.var(test.clean),
        "alignment": np.array([alignment(a.inner, test.branches) for a in trained.answers]),
        "moment_span": span(eigenvectors, data.leaves),
        "leaves": float(trained.directions),
    }
    return found | ({"span": np.array(trained.spans)} if settings.stages else {})
