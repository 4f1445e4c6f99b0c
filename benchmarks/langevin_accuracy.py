"""Accuracies of Langevin dynamics on parities, beside the table of the study and beyond it."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from benchmarks.row import Row, beside_study
from giantstep.language.problem import Problem
from giantstep.learners.langevin import simulate
from giantstep.settings.langevin import Langevin

#: Coordinates of the parity and exponent of the boost -> accuracy by samples, d = 20.
STUDY = {
    (2, 0.0): {50: 0.514, 100: 0.903, 200: 1.0, 400: 1.0},
    (2, 0.5): {50: 0.884, 100: 1.0, 200: 1.0, 400: 1.0},
    (2, 1.0): {50: 1.0, 100: 1.0, 200: 1.0, 400: 1.0},
    (3, 0.0): {100: 0.619, 200: 0.856, 400: 0.982, 800: 1.0},
    (3, 0.5): {100: 1.0, 200: 1.0, 400: 1.0, 800: 1.0},
    (3, 1.0): {100: 1.0, 200: 1.0, 400: 1.0, 800: 1.0},
    (4, 0.0): {200: 0.527, 400: 0.637, 800: 0.880},
    (4, 0.5): {200: 1.0, 400: 1.0, 800: 1.0},
}
#: Dimension, coordinates and exponent -> samples of what the study leaves out.
ADDED = {
    (20, 4, 1.0): (200, 400, 800),
    (50, 2, 0.0): (50, 100, 200, 400),
    (50, 2, 0.5): (50, 100, 200),
    (50, 2, 1.0): (50, 100),
    (50, 3, 0.0): (100, 200, 400, 800),
    (50, 3, 0.5): (50, 100, 200),
    (50, 3, 1.0): (50, 100),
    (50, 4, 0.0): (200, 400, 800),
    (50, 4, 0.5): (100, 200, 400),
    (50, 4, 1.0): (50, 100, 200),
}
RUNS = 4


def rows() -> Iterator[Row]:
    """One line for each cell: the study has two runs for two coordinates, one for more."""
    for (count, exponent), cells in STUDY.items():
        for samples, study in cells.items():
            runs = accuracies(20, count, exponent, samples)
            work = f"{count} coordinates, boost d^{exponent:g}, n = {samples}"
            yield beside_study(work, runs, study, 2 if count == 2 else 1)
    for (dim, count, exponent), sizes in ADDED.items():
        for samples in sizes:
            runs = accuracies(dim, count, exponent, samples)
            ours = f"{runs.mean():.3f}({1000 * runs.std(ddof=1) / RUNS**0.5:.0f}), {RUNS} runs"
            work = f"d = {dim}, {count} coordinates, boost d^{exponent:g}, n = {samples}"
            yield Row(work, ours, "not in the study", float("nan"), "none", True)


def accuracies(dim: int, count: int, exponent: float, samples: int) -> np.ndarray:
    """Of a few runs, for a parity of so many coordinates."""
    product = "*".join(f"h{k + 1}" for k in range(count))
    problem = Problem(f"sign({product})", inputs=f"hypercube:boost=d^{exponent:g}")
    settings = Langevin(dim=dim, samples=samples, steps=2000 if count == 2 else 3000)
    return simulate(problem, settings, seeds=RUNS, seed=3000).metrics["accuracy"]
