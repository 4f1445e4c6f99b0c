"""Announced times beside the time that a simulation takes, in seconds of one thread."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.row import Row
from giantstep.asking.questions import asked_questions
from giantstep.asking.table import learner_to_ask
from giantstep.asking.verbs import simulate

#: An estimate may be wrong by this factor, either way.
FACTOR = 3.0
PROBE = 512

Settings = tuple[str | None, dict[str, Any]]
LEARNERS: dict[str, list[Settings]] = {
    "giant-step": [
        ("h1", {"dim": 500, "samples": "20d", "width": 500, "method": "direct"}),
        ("h1 + h1*h2", {"dim": 1000, "samples": "40d", "width": 50, "method": "direct"}),
        ("sin(h1)", {"dim": 300, "samples": "4d", "width": "2d", "readout_samples": "4d"}),
        ("h1 + h1*h2", {"dim": 2000, "samples": "50d", "width": 16, "steps": 2}),
        ("h1", {"dim": 200, "samples": "100d", "width": 100, "steps": 3, "batches": "reused"}),
    ],
    "random-features": [
        ("h1", {"dim": 200, "samples": "4d", "width": "6d"}),
        ("h1", {"dim": 400, "samples": "5d", "width": "1d"}),
        ("sign(h1)", {"dim": 200, "samples": "3d", "width": "2d", "loss": "logistic"}),
        ("h1", {"dim": 60, "samples": "20d", "width": "20d"}),
        ("h1 + h1*h2", {"dim": 1000, "samples": "2d", "width": "0.5d", "test_samples": 20_000}),
    ],
    "kernel": [
        ("h1", {"dim": 100, "samples": "15d"}),
        ("h1", {"dim": 400, "samples": "2d", "test_samples": 10_000}),
        ("h1", {"dim": 50, "samples": "20d", "test_samples": 200}),
        ("h1", {"dim": 1000, "samples": "1d", "test_samples": 2000}),
        ("h1 + h1*h2", {"dim": 30, "samples": "d^2", "test_samples": 1000}),
    ],
    "spiked-random-features": [
        ("h1", {"dim": 400, "readout_samples": "3d", "width": "2d"}),
        ("h1", {"dim": 1000, "readout_samples": "1d", "width": "1d"}),
        ("h1 + h1*h2", {"dim": 200, "readout_samples": "10d", "width": "2d"}),
        ("h1", {"dim": 300, "readout_samples": "2d", "width": "4d"}),
        ("h1", {"dim": 100, "readout_samples": "20d", "width": "4d"}),
    ],
    "power-law": [
        (None, {"samples": 400}),
        (None, {"samples": 200, "width": 100}),
        (None, {"samples": 300, "width": 600}),
        (None, {"samples": 800, "width": 200}),
        (None, {"samples": 100, "modes": 20_000}),
    ],
    "spectral": [
        ("h1**2", {"dim": 600, "samples": "5d"}),
        ("h1**2", {"dim": 1500, "samples": "4d"}),
        ("sign(h1*h2)", {"dim": 400, "samples": "6d"}),
        ("h1**2", {"dim": 3000, "samples": "3d"}),
        ("h1*h2", {"dim": 1000, "samples": "4d"}),
    ],
    "amp": [
        ("sign(h1)", {"dim": 1000, "samples": "2d"}),
        ("h1**2", {"dim": 1000, "samples": "3d"}),
        ("h1*h2", {"dim": 500, "samples": "4d"}),
        ("sign(h1*h2)", {"dim": 500, "samples": "4d"}),
        ("h1**2 + h1", {"dim": 2000, "samples": "2d"}),
    ],
}


def rows() -> Iterator[Row]:
    """The worst of each learner's estimates."""
    matrix = np.full((PROBE, PROBE), 0.5)
    # The clock of the processor misses much of what other threads do in a few milliseconds.
    with threadpool_limits(1, user_api="blas"):
        speed = PROBE**3 / min(_spent(lambda: matrix @ matrix) for _ in range(9))
        found = {
            name: [_expected_over_taken(name, *each, speed) for each in settings]
            for name, settings in LEARNERS.items()
        }
    for name, ratios in found.items():
        worst = max(max(ratio, 1 / ratio) for ratio in ratios)
        yield Row(
            f"{name}: announced over taken, {len(ratios)} settings",
            ", ".join(f"{ratio:.2f}" for ratio in ratios),
            "the time it takes",
            worst,
            f"<= {FACTOR:g}",
            worst <= FACTOR,
        )


def _expected_over_taken(
    name: str, target: str | None, options: dict[str, Any], speed: float
) -> float:
    row = learner_to_ask(name)
    grid: Any = asked_questions(row.load("settings")(**options), target)
    question = grid.questions[0]
    expected = row.load("cost")(question.problem, question.settings).operations / speed
    simulate(grid, seeds=1)  # compiles
    return expected / _spent(lambda: simulate(grid, seeds=1, seed=1))


def _spent(work: Callable[[], Any]) -> float:
    begin = time.process_time()
    work()
    return time.process_time() - begin
