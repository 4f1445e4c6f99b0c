"""One run for each seed, drawn and gathered in the same way by every learner that runs them singly.

The runs of `giant-step` and `online-sgd` are computed in groups, by loops of their own.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from giantstep.answer import Run
from giantstep.numerics.seeds import generator
from giantstep.settings.options import Settings

Metrics = Mapping[str, Any]
#: Settings that came later, with the value that leaves the numbers of earlier runs as they were.
LATER: dict[str, dict[str, Any]] = {
    "giant-step": {"centre": False, "forget": False, "redraw_biases": False, "recipe": "none"},
    "spiked-random-features": {"kappa": None},
}


def drawn_by(settings: Settings) -> dict[str, Any]:
    """The settings that the draws of a run depend on."""
    later = LATER.get(settings.learner, {})
    given = settings.to_json().items()
    return {name: value for name, value in given if name not in later or value != later[name]}


def once_per_seed(
    run: Callable[[Any, Any, np.random.Generator], Metrics],
    after: Callable[[Any, Any, Run], Run] = lambda problem, settings, found: found,
    threads: Callable[[Any, Any], int] | None = None,
    described: Callable[[Any], Any] = lambda problem: problem.to_json(),
) -> Callable[..., Run]:
    """The simulation of a learner, from what it does with one problem, settings and generator.

    ``after`` adds what can be said once all seeds have run; ``threads`` as in :func:`over_seeds`;
    ``described`` is what the seeds depend on of a problem.
    """

    def simulate(
        problem: Any,
        settings: Settings,
        *,
        seeds: int = 8,
        seed: int = 0,
        progress: Callable[[float], None] | None = None,
    ) -> Run:
        began = time.perf_counter()
        metrics = over_seeds(
            lambda rng: run(problem, settings, rng),
            (settings.learner, described(problem), drawn_by(settings)),
            seeds=seeds,
            seed=seed,
            progress=progress,
            threads=threads(problem, settings) if threads else None,
        )
        seconds = time.perf_counter() - began
        found = Run(settings.learner, settings.to_json(), metrics, seconds=seconds)
        return after(problem, settings, found)

    simulate.__doc__, simulate.__module__ = run.__doc__, run.__module__
    return simulate


def part_of(
    progress: Callable[[float], None] | None, start: float, share: float
) -> Callable[[float], None] | None:
    """What hears of the progress of a part, and tells that of the whole."""
    if progress is None:
        return None
    return lambda fraction: progress(start + share * fraction)


def over_seeds(
    run: Callable[[np.random.Generator], Metrics],
    described: tuple[Any, ...],
    *,
    seeds: int,
    seed: int,
    progress: Callable[[float], None] | None = None,
    threads: int | None = None,
) -> dict[str, np.ndarray]:
    """The metrics of ``run`` for each of ``seeds`` seeds from ``seed`` on, stacked in that order.

    Each run draws from a generator of its own, which depends on what is ``described`` (learner,
    problem, settings) and on the number of the seed: not on how many seeds there are. With
    ``threads`` so many run side by side. ``progress`` hears the share that is done.
    """

    def one(number: int) -> Metrics:
        return run(generator(*described, number))

    numbers = range(seed, seed + seeds)
    if threads is None:
        return _gathered(map(one, numbers), seeds, progress)
    with ThreadPoolExecutor(threads) as pool:
        return _gathered(pool.map(one, numbers), seeds, progress)


def _gathered(
    runs: Iterable[Metrics], seeds: int, progress: Callable[[float], None] | None
) -> dict[str, np.ndarray]:
    rows: list[Metrics] = []
    for row in runs:
        rows.append(row)
        if progress is not None:
            progress(len(rows) / seeds)
    return {name: np.array([row[name] for row in rows]) for name in rows[0]}
