"""One run for each seed, drawn and gathered in the same way by every learner that runs them singly.

The runs of `giant-step` and `online-sgd` are computed in groups, by loops of their own.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
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


def draws_depend_on(settings: Settings) -> dict[str, Any]:
    """The settings that the draws of a run depend on."""
    later = LATER.get(settings.learner, {})
    given = settings.to_json().items()
    return {name: value for name, value in given if name not in later or value != later[name]}


def once_per_seed(
    run: Callable[[Any, Any, np.random.Generator], Metrics],
    after: Callable[[Any, Any, Run], Run] = lambda problem, settings, found: found,
    threads: Callable[[Any, Any], int] = lambda problem, settings: 0,
    described: Callable[[Any], Any] = lambda problem: problem.to_json(),
) -> Callable[..., Run]:
    """The simulation of a learner, from what it does with one problem, settings and generator.

    Each run draws from a generator of its own, which depends on the learner, on what is
    ``described`` of the problem, on the settings and on the number of the seed: not on how many
    seeds there are. Of ``threads``, if any, so many run side by side. ``after`` adds what can be
    said once all seeds have run.
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
        what = (settings.learner, described(problem), draws_depend_on(settings))

        def one(number: int) -> Metrics:
            return run(problem, settings, generator(*what, number))

        numbers, side_by_side = range(seed, seed + seeds), threads(problem, settings)
        rows: list[Metrics] = []
        with ThreadPoolExecutor(side_by_side or 1) as pool:
            for row in pool.map(one, numbers) if side_by_side else map(one, numbers):
                rows.append(row)
                if progress is not None:
                    progress(len(rows) / seeds)
        metrics = {name: np.array([row[name] for row in rows]) for name in rows[0]}
        seconds = time.perf_counter() - began
        found = Run(settings.learner, settings.to_json(), metrics, seconds=seconds)
        return after(problem, settings, found)

    simulate.__doc__, simulate.__module__ = run.__doc__, run.__module__
    return simulate


def run_part(
    progress: Callable[[float], None] | None, start: float, share: float
) -> Callable[[float], None] | None:
    """A function that is told the progress of one part and reports that of the whole."""
    if progress is None:
        return None
    return lambda fraction: progress(start + share * fraction)
