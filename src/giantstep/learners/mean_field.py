"""The learner `mean-field`: a wide network takes small steps on large fresh batches, in law."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

from giantstep.answer import Run
from giantstep.language.problem import Problem
from giantstep.learners.online_sgd import simulation
from giantstep.numerics.cost import Cost, needed_dim
from giantstep.settings.mean_field import MeanField
from giantstep.settings.online_sgd import OnlineSgd


def simulate(
    problem: Problem,
    settings: MeanField,
    *,
    seeds: int = 8,
    seed: int = 0,
    progress: Callable[[float], None] | None = None,
) -> Run:
    """Train ``seeds`` wide networks by steps of `online-sgd` on batches of ``samples``.

    Metrics at the times: ``overlap`` (root mean square over neurons), ``norm``, ``test_error``.
    """
    run = simulation.simulate(
        problem, _as_online(settings), seeds=seeds, seed=seed, progress=progress
    )
    return dataclasses.replace(run, learner=settings.learner, settings=settings.to_json())


def cost(problem: Problem, settings: MeanField) -> Cost:
    """That of the steps of `online-sgd`."""
    return simulation.cost(problem, _as_online(settings))


def _as_online(settings: MeanField) -> OnlineSgd:
    """The same steps in the units of `online-sgd`, whose time is samples/d."""
    dim = needed_dim(settings.dim)
    samples = settings.samples.count(dim, "samples")
    times = [f"{count * samples / dim:.17g}" for count in settings.step_counts]
    return OnlineSgd(
        dim=dim,
        times=",".join(times),
        step_size=settings.step * dim / samples,
        activation=settings.activation,
        geometry="free",
        width=settings.even_width(dim),
        readout="symmetric-sign",
        batch=samples,
    )
