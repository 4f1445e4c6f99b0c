"""Spectral estimates against their theory, and on both sides of the transition."""

from __future__ import annotations

import numpy as np
import pytest

from giantstep.learners.message_passing.spectral import simulate
from giantstep.problem import Problem
from giantstep.settings.spectral import Spectral
from giantstep.theory.message_passing.spectral import predict

ERRORS = 3.5
CASES = [
    ("abs(h1)", {"samples": "2d"}, 30),
    ("abs(h1)", {"samples": "4d"}, 12),
    ("abs(h1)", {"samples": "20d", "preprocessing": "tanh(y)"}, 16),
    ("sign(h1*h2)", {"samples": "6d"}, 24),
    ("sign(h1*h2)", {"samples": "8d", "method": "linearised"}, 12),
    # Four directions with one matrix: its four outliers span them.
    ("(abs(h1) + abs(h2) + abs(h3) + abs(h4))/2 + sqrt(0.1)*z1", {"samples": "12d"}, 12),
]


@pytest.mark.parametrize(("target", "options", "seeds"), CASES)
def test_overlap_and_eigenvalue(target: str, options: dict[str, str], seeds: int) -> None:
    problem, settings = Problem.of(target), Spectral(dim=240, **options)
    theory = predict(problem, settings).metrics
    large = simulate(problem, settings, seeds=seeds)
    small = simulate(problem, settings.replace(dim=120), seeds=seeds)
    for name in ("overlap_squared", "eigenvalue"):
        (mean, error), (other, _) = (
            (values.mean(), values.std(ddof=1) / np.sqrt(len(values)))
            for values in (r.metrics[name].reshape(seeds, -1).mean(axis=1) for r in (large, small))
        )
        expected = float(np.mean(theory[name]))
        assert abs(mean - expected) <= ERRORS * error + abs(mean - other), name
        if name == "overlap_squared":
            assert ERRORS * error <= 0.05 * expected


@pytest.mark.parametrize(
    ("target", "below", "above"),
    [("abs(h1)", "0.25d", "2d"), ("sign(h1*h2)", "1.2d", "6d"), ("He4(h1)", "0.3d", "2d")],
)
def test_the_transition_lies_between(target: str, below: str, above: str) -> None:
    problem = Problem.of(target)
    overlaps = [
        simulate(problem, Spectral(dim=300, samples=samples), seeds=4).metrics["overlap_squared"]
        for samples in (below, above)
    ]
    assert overlaps[0].mean() < 0.1
    assert overlaps[1].mean() > 0.4
