"""The best schedule of steps, and what several buy over one on as many samples."""

from __future__ import annotations

import numpy as np
import pytest

from giantstep.errors import NoTheory, SettingsError
from giantstep.language.problem import Problem
from giantstep.settings.giant_step import GiantStep
from giantstep.theory.giant_step.prediction import predict
from giantstep.theory.giant_step.risk.best_schedule import SEARCH, best_schedule
from giantstep.theory.giant_step.risk.over_sizes import RiskOverSizes
from giantstep.theory.giant_step.risk.prediction import predict_risk

PROBLEM = Problem.of("sin(h1)")
SETTINGS = GiantStep(
    activation="tanh",
    readout="ones",
    samples="2d",
    steps=2,
    width="1d",
    readout_samples="2d",
    ridge=0.1,
)


def risk(settings: GiantStep) -> float:
    return float(predict(PROBLEM, settings).metrics["test_error"][-1])


def test_the_best_schedule() -> None:
    best = best_schedule(PROBLEM, SETTINGS, ("step_size",))
    least = risk(best.settings)
    assert least == pytest.approx(best.errors[2], rel=1e-3)
    first, second = (size.coefficient for size in best.settings.step_size.each)
    for other in ((1.3 * first, second), (first / 1.3, second), (first, 1.3 * second)):
        assert risk(best.settings.replace(step_size=other)) > least
    # One step on all samples, found by another search.
    alone = best_schedule(PROBLEM, SETTINGS.replace(steps=1, samples="4d"), ("step_size",))
    assert best.errors[1] == pytest.approx(alone.test_error, rel=2e-3)
    assert np.all(np.diff(best.errors) < 0)
    assert any("2 steps on 2d" in note for note in best.notes())


def test_what_cannot_be_optimised() -> None:
    with pytest.raises(SettingsError, match="use step_size, ridge or both"):
        best_schedule(PROBLEM, SETTINGS, ("samples",))
    with pytest.raises(NoTheory, match="fresh batches"):
        best_schedule(PROBLEM, SETTINGS.replace(batches="reused"))
    with pytest.raises(NoTheory, match="ridge is missing"):
        best_schedule(PROBLEM, SETTINGS.replace(ridge=None))


SINE = Problem.of("sin(h1)", noise=0.05)
TANH = GiantStep(
    activation="tanh",
    readout="ones",
    samples="20d",
    step_size=3,
    width="1d",
    readout_samples="1.6d",
    ridge=0.1,
)


RELU = TANH.replace(activation="relu", samples="4d", step_size=1.5)


def at(settings: GiantStep, name: str = "test_error") -> float:
    return float(predict_risk(SINE, settings).metrics[name])


def test_a_curve_of_any_activation() -> None:
    """Each point starts from its neighbour, and is what it is alone."""
    values, over = np.linspace(0.2, 3.0, 10), RiskOverSizes(SINE, RELU)
    curve = [over.at(over.sizes._replace(readout_samples_ratio=float(n))) for n in values]
    for index in (0, 4, 9):
        there = RELU.replace(readout_samples=f"{float(values[index])!r}d")
        assert curve[index].test == pytest.approx(at(there), rel=1e-7)
        assert curve[index].train == pytest.approx(at(there, "train_error"), rel=1e-7)


@pytest.mark.slow
def test_best_ridge_of_pairs() -> None:
    best = best_schedule(SINE, RELU.replace(readout="symmetric-sign"), ("ridge",))
    assert best.test_error == pytest.approx(at(best.settings), rel=1e-7)
    gain = best.metrics()["gain_over_random_features"]
    assert gain < at(best.settings, "random_features_error") - best.test_error
    for factor in (0.7, 1.4):
        assert at(best.settings.replace(ridge=factor * best.settings.ridge)) > best.test_error


@pytest.mark.slow
@pytest.mark.parametrize("dim", [None, 200])
def test_best_step_and_ridge(dim: int | None) -> None:
    best = best_schedule(SINE, TANH.replace(dim=dim))
    assert best.at_edge == ()
    assert best.test_error == pytest.approx(at(best.settings), rel=1e-9)
    size, ridge = best.metrics()["step_size"], best.settings.ridge
    for step, by in ((1.05, 1.0), (0.95, 1.0), (1.0, 1.2), (1.0, 0.8), (1.05, 1.2), (0.9, 0.7)):
        nearby = best.settings.replace(step_size=step * size, ridge=by * ridge)
        assert at(nearby) > best.test_error
    floor = at(best.settings, "linear_floor")
    assert best.gain_over_linear == pytest.approx(floor - best.test_error)
    gain = best.metrics()["gain_over_random_features"]
    assert gain < at(best.settings, "random_features_error") - best.test_error


def test_one_size_alone() -> None:
    best = best_schedule(SINE, TANH, ("ridge",))
    assert best.metrics()["step_size"] == 3.0
    assert best.test_error < at(TANH)


def test_an_edge_of_the_search_is_not_an_optimum() -> None:
    """For a linear target at its best ridge every step hurts: the search ends at 0.01."""
    linear, settings = Problem.of("h1"), TANH.replace(ridge=1000.0)
    best = best_schedule(linear, settings)
    assert best.at_edge == ("step_size",)
    assert best.settings.step_size.at(1) == pytest.approx(SEARCH["step_size"][0], rel=1e-12)
    found = predict(linear, settings, optimise=("step_size", "ridge"))
    assert np.isnan(found.metrics["step_size"])
    assert found.metrics["ridge"] == pytest.approx(best.settings.ridge)
    (remark,) = [note for note in found.notes if "no optimum" in note]
    assert remark.startswith("step_size")
    assert "0.01" in remark
    # The error is that at the edge, and the settings say so.
    assert float(found.settings["step_size"]) == pytest.approx(0.01)
    assert found.metrics["test_error"] == pytest.approx(best.test_error, rel=1e-6)
    inside = predict(SINE, TANH, optimise=("ridge",))
    assert not any("no optimum" in note for note in inside.notes)
