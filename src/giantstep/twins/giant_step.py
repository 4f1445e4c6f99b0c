"""Giant steps beside their theory: how far the learned subspace is from the predicted one."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np

from giantstep import measures
from giantstep.learners.giant_step import simulation as learner
from giantstep.problem import Problem
from giantstep.results import Run
from giantstep.settings.giant_step import GiantStep
from giantstep.theory.giant_step.prediction import predicted_subspaces


def simulate(
    problem: Problem,
    settings: GiantStep,
    *,
    seeds: int = 8,
    seed: int = 0,
    progress: Callable[[float], None] | None = None,
) -> Run:
    """The learner's run with the metric ``angle``: from its top directions to the predicted U_t."""
    run = learner.simulate(problem, settings, seeds=seeds, seed=seed, progress=progress)
    subspaces, notes = predicted_subspaces(problem, settings)
    matrices = run.arrays["overlap_matrix"]
    angles = [
        measures.angle(matrices[:, step], subspace) for step, subspace in enumerate(subspaces)
    ]
    metrics = {**run.metrics, "angle": np.stack(angles, axis=1)}
    return dataclasses.replace(run, metrics=metrics, notes=(*run.notes, *notes))
