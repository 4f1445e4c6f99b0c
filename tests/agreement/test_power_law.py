"""Power laws: theory against simulation."""

from __future__ import annotations

import pytest

from giantstep.learners.ridge.power_law import simulate
from giantstep.problem import NoTarget
from giantstep.settings.power_law import PowerLaw
from giantstep.theory.ridge.power_law import predict

#: Standard errors allowed, and the largest relative one: a mistake of 5 % would be seen.
ERRORS, SHARPEST = 3.5, 0.05 / 3.5

CASES = {
    "random projections": (0.01, {"samples": 200, "width": 100, "modes": 500}, 160),
    "all modes": (0.01, {"samples": 100, "width": 200, "ridge": 0.3}, 100),
    "as many as samples": (
        0.1,
        {"samples": 150, "width": 150, "ridge": 0.1, "capacity": 1.2, "source": 1, "modes": 500},
        150,
    ),
    "kernel": (0.0, {"samples": 200, "ridge": 1e-3, "capacity": 2, "source": 0.25}, 40),
}


@pytest.mark.parametrize("name", CASES)
def test_theory_and_simulation_agree(name: str) -> None:
    noise, options, seeds = CASES[name]
    problem, settings = NoTarget(noise), PowerLaw(**{"source": 0.4, **options})
    run, theory = simulate(problem, settings, seeds=seeds), predict(problem, settings).metrics
    assert run.metrics.keys() == theory.keys()
    assert run.sem("test_error") <= SHARPEST * theory["test_error"]
    for metric in ("test_error", "bias", "variance", "norm"):
        assert abs(run.mean(metric) - theory[metric]) <= ERRORS * run.sem(metric), metric
    assert run.mean("train_error") == pytest.approx(theory["train_error"], rel=0.05)
    assert run.mean("degrees_of_freedom") == pytest.approx(theory["degrees_of_freedom"], rel=5e-3)
