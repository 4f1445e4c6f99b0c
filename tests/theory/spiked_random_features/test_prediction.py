"""Prediction of the learner `spiked-random-features`."""

from __future__ import annotations

import pytest

from giantstep.errors import NoTheory
from giantstep.language.inputs import Sphere
from giantstep.language.problem import Problem
from giantstep.settings.spiked_random_features import SpikedRandomFeatures
from giantstep.theory.spiked_random_features.prediction import predict


def test_metrics_and_status() -> None:
    settings = SpikedRandomFeatures(spike="1.2", bulk="1.05", alignment=0.85)
    found = predict(Problem.of("sin(h1)", noise=0.1), settings)
    assert found.status == "replica"
    assert found.metrics["test_error_noisy"] == pytest.approx(found.metrics["test_error"] + 0.1)
    assert found.metrics["bound_lower"] < found.metrics["bound_upper"]
    assert predict(Problem.of("sin(h1)"), settings.replace(dim=100)).status == "heuristic"


def test_rounded_sizes_count_at_finite_dimension() -> None:
    """1.5 d at d = 101 is 152 samples."""
    settings = SpikedRandomFeatures(readout_samples="1.5d", dim=101)
    exact = settings.replace(readout_samples=152)
    problem = Problem.of("sin(h1)")
    assert predict(problem, settings).metrics == predict(problem, exact).metrics


def test_blocks_with_their_own_bulks() -> None:
    problem = Problem.of("sin(h1)")
    several = SpikedRandomFeatures(spike="-1:0.3,0.5:0.3,2:0.4", bulk="1.02,1.1,1.3")
    equal = several.replace(bulk="1.1")
    assert predict(problem, several).metrics["test_error"] != pytest.approx(
        predict(problem, equal).metrics["test_error"], rel=1e-4
    )


def test_other_inputs_are_refused() -> None:
    with pytest.raises(NoTheory, match="gaussian"):
        predict(Problem.of("h1", inputs=Sphere()), SpikedRandomFeatures())
