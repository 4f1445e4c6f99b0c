"""Accuracies of Langevin dynamics on parities, beside the table of the study."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.row import Row, beside_study
from giantstep.learners.structured.langevin import simulate
from giantstep.problem import Problem
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
RUNS = 4


def rows() -> Iterator[Row]:
    """One line for each cell: the study has two runs for two coordinates, one for more."""
    for (count, exponent), cells in STUDY.items():
        product = "*".join(f"h{k + 1}" for k in range(count))
        problem = Problem(f"sign({product})", inputs=f"hypercube:boost=d^{exponent:g}")
        for samples, study in cells.items():
            settings = Langevin(dim=20, samples=samples, steps=2000 if count == 2 else 3000)
            runs = simulate(problem, settings, seeds=RUNS, seed=3000).metrics["accuracy"]
            work = f"{count} coordinates, boost d^{exponent:g}, n = {samples}"
            yield beside_study(work, runs, study, 2 if count == 2 else 1)
