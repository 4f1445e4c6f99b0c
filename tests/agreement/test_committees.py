"""Message passing on committees of five units, against state evolution."""

from __future__ import annotations

import numpy as np
import pytest

from giantstep.answer import Run
from giantstep.language.problem import Problem
from giantstep.learners.amp.simulation import simulate
from giantstep.numerics.estimate import student_quantile
from giantstep.settings.amp import Amp
from giantstep.theory.amp.prediction import predict

SIGNS = "(sign(h1) + sign(h2) + sign(h3) + sign(h4) + sign(h5))/sqrt(5)"
SEEDS = 18


def mean_and_error(values: np.ndarray) -> tuple[float, float]:
    each = values.reshape(len(values), -1).mean(axis=1)
    return float(each.mean()), float(each.std(ddof=1) / np.sqrt(len(each)))


def agrees(large: Run, small: Run, theory: dict, name: str, power: float) -> None:
    """Within a Student quantile of standard errors plus what half the dimension changes."""
    mean, error = mean_and_error(large.metrics[name])
    other, _ = mean_and_error(small.metrics[name])
    expected = float(np.mean(theory[name]))
    quantile = student_quantile(SEEDS)
    finite_size = abs(other - mean)
    assert abs(mean - expected) <= quantile * error + finite_size, name
    assert quantile * error + finite_size <= power * expected, f"{name}: no power"


@pytest.mark.slow
def test_units_that_are_alike() -> None:
    problem = Problem.of(SIGNS, noise=0.3)
    settings = Amp(dim=160, samples="5d", start="zero", tolerance=1e-4)
    runs = [simulate(problem, settings.replace(dim=d), seeds=SEEDS) for d in (160, 80)]
    theory = predict(problem, settings).metrics
    assert runs[0].metrics["converged"].all()
    # Nothing beside the mean direction.
    assert np.all(runs[0].metrics["overlap_squared_singular_values"][:, 1:] < 1e-3)
    # Overlaps of single runs scatter by 5 %, test errors by less.
    for name, power in (("overlap_squared", 0.12), ("test_error", 0.05)):
        agrees(*runs, theory, name, power)
