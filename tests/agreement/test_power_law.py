"""Power laws: theory against simulation."""

from __future__ import annotations

import pytest
from agreement.agreeing import agrees

from giantstep.language.problem import NoTarget
from giantstep.learners.power_law import simulate
from giantstep.settings.power_law import PowerLaw
from giantstep.theory.power_law import predict

CASES = {
    "random projections": (0.01, {"samples": 200, "width": 100, "modes": 500}, 190),
    "all modes": (0.01, {"samples": 100, "width": 200, "ridge": 0.3}, 130),
    "as many as samples": (
        0.1,
        {"samples": 150, "width": 150, "ridge": 0.1, "capacity": 1.2, "source": 1, "modes": 500},
        180,
    ),
    "kernel": (0.0, {"samples": 200, "ridge": 1e-3, "capacity": 2, "source": 0.25}, 64),
}


@pytest.mark.parametrize("name", CASES)
def test_theory_and_simulation_agree(name: str) -> None:
    noise, options, seeds = CASES[name]
    problem, settings = NoTarget(noise), PowerLaw(**{"source": 0.4, **options})
    run, theory = simulate(problem, settings, seeds=seeds), predict(problem, settings).metrics
    assert run.metrics.keys() == theory.keys()
    for metric in ("test_error", "bias", "variance", "norm"):
        power = 0.05 if metric == "test_error" else None
        agrees(run.metrics[metric], theory[metric], power=power)
    assert run.mean("train_error") == pytest.approx(theory["train_error"], rel=0.05)
    assert run.mean("degrees_of_freedom") == pytest.approx(theory["degrees_of_freedom"], rel=5e-3)
