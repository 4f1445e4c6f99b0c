"""Overlaps that Algorithm 1 reaches on samples, beside the table of the study."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from benchmarks.row import Row, beside_study
from giantstep.language.problem import Problem
from giantstep.learners.gradient_flow import simulate
from giantstep.settings.gradient_flow import GradientFlow

#: Samples over dimension, then by strength of the spike the overlaps of the study: He3, a neuron
#: relu(z-1), d = 128, alignment d^-1/4, 400 steps of 0.2, eight starts with both signs.
RATIOS = (2, 4, 8, 16, 32)
STUDY = {
    "0": (-0.02, -0.03, -0.02, 0.32, 0.62),
    "d^0.25": (-0.01, 0.03, 0.15, 0.38, 0.70),
    "d^0.5": (0.07, 0.12, 0.21, 0.41, 0.82),
    "d^0.75": (0.20, 0.23, 0.38, 0.55, 0.89),
    "d": (0.28, 0.35, 0.50, 0.72, 0.90),
}
STUDY_RUNS, RUNS = 3, 192


def rows() -> Iterator[Row]:
    """One line for each cell; then, for each n/d, the least rise from one strength to the next."""
    reached: dict[int, list[np.ndarray]] = {ratio: [] for ratio in RATIOS}
    for strength, known in STUDY.items():
        inputs = "gaussian" if strength == "0" else f"spiked:strength={strength},alignment=d^-0.25"
        problem = Problem("He3(h1)/sqrt(6)", inputs=inputs)
        for ratio, study in zip(RATIOS, known, strict=True):
            options = {"dim": 128, "activation": "relu(z-1)", "width": 2, "test_samples": 10}
            settings = GradientFlow(samples=f"{ratio}d", **options)
            runs = simulate(problem, settings, seeds=RUNS, seed=2000).metrics["overlap"]
            reached[ratio].append(runs)
            yield beside_study(f"strength {strength}, n = {ratio}d", runs, study, STUDY_RUNS)
    for ratio, by_strength in reached.items():
        means = np.array([runs.mean() for runs in by_strength])
        errors = np.array([runs.std(ddof=1) / RUNS**0.5 for runs in by_strength])
        rise = np.diff(means) / np.hypot(errors[1:], errors[:-1])
        told = " ".join(f"{mean:.2f}" for mean in means)
        # Neighbours may lie closer than their errors; a fall beyond these would not be noise.
        met = bool(rise.min() > -3 and means[-1] == means.max())
        yield Row(
            f"rising with the strength, n = {ratio}d", told, "", rise.min(), ">= -3 s.e.", met
        )
