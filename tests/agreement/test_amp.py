"""Message passing on state evolution: overlaps and test errors at two sizes, target by target."""

from __future__ import annotations

import numpy as np
import pytest

from giantstep.learners.message_passing.amp import simulate
from giantstep.problem import Problem
from giantstep.results import Run
from giantstep.settings.amp import Amp
from giantstep.theory.message_passing.amp import predict

#: Standard errors allowed, beyond the finite-size term.
ERRORS = 3.5
#: Target, noise, n/d (away from transitions), dimension, seeds. Labels are evaluated in blocks of
#: 512 or 1024: dimensions at which n fills one get the most power for the time.
ONE_DIRECTION = [
    ("h1", 0.25, 1.0, 480, 20),
    ("h1", 0.25, 2.0, 240, 16),
    ("h1", 0.25, 4.0, 240, 12),
    ("sign(h1)", 0.0, 1.0, 500, 30),
    ("sign(h1)", 0.0, 2.0, 240, 24),
    ("sign(h1)", 0.0, 4.0, 240, 12),
    ("He3(h1)", 0.0, 0.7, 720, 54),
    ("He3(h1)", 0.0, 1.6, 240, 8),
]
STAIRCASE = "h1^2 + sign(h1*h2*h3)"


def mean_and_error(run: Run, name: str) -> tuple[float, float]:
    """Mean over seeds and directions, and its standard error over seeds."""
    values = run.metrics[name].reshape(len(run.metrics[name]), -1).mean(axis=1)
    return float(values.mean()), float(values.std(ddof=1) / np.sqrt(len(values)))


def check(problem: Problem, settings: Amp, seeds: int, power: float = 0.05) -> None:
    """Agreement within errors and a finite-size term; ``power`` is the error that is caught.

    Corrections are of order 1/d: what doubling the dimension changes is what is left.
    """
    large = simulate(problem, settings, seeds=seeds)
    small = simulate(problem, settings.replace(dim=settings.dim // 2), seeds=seeds)
    theory = predict(problem, settings).metrics
    assert large.mean("converged") >= 0.95
    for name in ("overlap_squared", "test_error"):
        mean, error = mean_and_error(large, name)
        finite_size = abs(mean_and_error(small, name)[0] - mean)
        expected = float(np.mean(theory[name]))
        assert abs(mean - expected) <= ERRORS * error + finite_size + 1e-5, name
        if name == "overlap_squared":
            assert ERRORS * error <= power * expected


@pytest.mark.parametrize(("target", "noise", "alpha", "dim", "seeds"), ONE_DIRECTION)
def test_one_direction(target: str, noise: float, alpha: float, dim: int, seeds: int) -> None:
    check(Problem.of(target, noise=noise), Amp(dim=dim, samples=f"{alpha}d"), seeds)


@pytest.mark.slow
@pytest.mark.parametrize(("alpha", "dim", "seeds"), [(6, 160, 8), (8, 128, 6)])
def test_parity_of_two(alpha: float, dim: int, seeds: int) -> None:
    check(Problem.of("sign(h1*h2)"), Amp(dim=dim, samples=f"{alpha}d"), seeds)


@pytest.mark.slow
def test_the_staircase_above_its_second_stair() -> None:
    check(Problem.of(STAIRCASE), Amp(dim=170, samples="6d"), 6, power=0.15)
