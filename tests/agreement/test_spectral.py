"""Spectral estimates against their theory, and on both sides of the transition."""

from __future__ import annotations

import numpy as np
import pytest
from agreement.agreeing import agrees, mean_and_allowed

from giantstep.language.problem import Problem
from giantstep.learners.spectral import simulate
from giantstep.settings.spectral import Spectral
from giantstep.theory.spectral import predict

CASES = [
    ("abs(h1)", {"samples": "2d"}, 56),
    ("abs(h1)", {"samples": "4d"}, 12),
    ("abs(h1)", {"samples": "20d", "preprocessing": "tanh(y)"}, 24),
    ("sign(h1*h2)", {"samples": "6d"}, 32),
    ("sign(h1*h2)", {"samples": "8d", "method": "linearised"}, 20),
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
        values, smaller = (
            run.metrics[name].reshape(seeds, -1).mean(axis=1) for run in (large, small)
        )
        power = 0.05 if name == "overlap_squared" else None
        agrees(values, np.mean(theory[name]), smaller=smaller, power=power)


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


@pytest.mark.parametrize(
    ("target", "samples"),
    [("abs(h1)", "0.5d"), ("abs(h1)", "0.65d"), ("abs(h1)", "1.5d"), ("sign(h1*h2)", "2.7d")],
)
def test_errors_bound_what_finite_size_adds_next_to_a_transition(target: str, samples: str) -> None:
    """Runs at d = 100 stay within three errors of the limit, and far beyond its numerical one."""
    problem, settings = Problem.of(target), Spectral(samples=samples, dim=100)
    law, limit = predict(problem, settings), predict(problem, settings.replace(dim=None))
    runs = simulate(problem, settings, seeds=100).metrics["overlap_squared"]
    values = runs.reshape(100, -1).mean(axis=1)
    expected, error, numerical = (
        float(np.mean(part["overlap_squared"])) for part in (law.metrics, law.errors, limit.errors)
    )
    _, allowed = mean_and_allowed(values)
    gap = abs(values.mean() - expected)
    assert gap <= allowed + 3 * error
    # Further from the transition the limit is as good as its numerical error says.
    assert (gap > allowed + 3 * numerical) == (samples != "1.5d")
    assert numerical < 1e-3 * error
