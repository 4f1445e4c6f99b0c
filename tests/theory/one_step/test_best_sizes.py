"""Neighbouring points and the best sizes of one giant step; their speed is a benchmark."""

from __future__ import annotations

import numpy as np
import pytest

from giantstep.errors import SettingsError
from giantstep.language.problem import Problem
from giantstep.settings.giant_step import GiantStep
from giantstep.theory.giant_step.prediction import predict as predict_overlaps
from giantstep.theory.one_step.any_activation.over_sizes import RiskOverSizes
from giantstep.theory.one_step.best_sizes import SEARCH, best_sizes
from giantstep.theory.one_step.prediction import predict

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


def test_a_curve_of_any_activation() -> None:
    """Each point starts from its neighbour, and is what it is alone."""
    values, over = np.linspace(0.2, 3.0, 10), RiskOverSizes(SINE, RELU)
    curve = [over.at(over.sizes._replace(readout_samples_ratio=float(at))) for at in values]
    for index in (0, 4, 9):
        point = predict(SINE, RELU.replace(readout_samples=f"{float(values[index])!r}d")).metrics
        assert curve[index].test == pytest.approx(point["test_error"], rel=1e-7)
        assert curve[index].train == pytest.approx(point["train_error"], rel=1e-7)


@pytest.mark.slow
def test_best_ridge_of_pairs() -> None:
    settings = RELU.replace(readout="symmetric-sign")
    best = best_sizes(SINE, settings, ("ridge",))
    there = settings.replace(ridge=best.ridge)
    least = predict(SINE, there).metrics
    assert best.test_error == pytest.approx(least["test_error"], rel=1e-7)
    assert best.gain_over_random_features < least["random_features_error"] - best.test_error
    for factor in (0.7, 1.4):
        beside = predict(SINE, there.replace(ridge=factor * best.ridge)).metrics["test_error"]
        assert beside > best.test_error


@pytest.mark.slow
@pytest.mark.parametrize("dim", [None, 200])
def test_best_step_and_ridge(dim: int | None) -> None:
    settings = TANH.replace(dim=dim)
    best = best_sizes(SINE, settings)
    assert best.at_edge == ()
    found = predict(SINE, settings.replace(step_size=best.step_size, ridge=best.ridge)).metrics
    assert best.test_error == pytest.approx(found["test_error"], rel=1e-9)
    for step, ridge in ((1.05, 1.0), (0.95, 1.0), (1.0, 1.2), (1.0, 0.8), (1.05, 1.2), (0.9, 0.7)):
        nearby = settings.replace(step_size=step * best.step_size, ridge=ridge * best.ridge)
        assert predict(SINE, nearby).metrics["test_error"] > best.test_error
    assert best.gain_over_linear == pytest.approx(found["linear_floor"] - best.test_error)
    assert best.gain_over_random_features < found["random_features_error"] - best.test_error


def test_one_size_alone() -> None:
    best = best_sizes(SINE, TANH, ("ridge",))
    assert best.step_size == 3.0
    assert best.test_error < predict(SINE, TANH).metrics["test_error"]


def test_an_edge_of_the_search_is_not_an_optimum() -> None:
    """For a linear target at its best ridge every step hurts: the search ends at 0.01."""
    linear, settings = Problem.of("h1"), TANH.replace(ridge=1000.0)
    best = best_sizes(linear, settings)
    assert best.at_edge == ("step_size",)
    assert best.step_size == pytest.approx(SEARCH["step_size"][0], rel=1e-12)
    found = predict_overlaps(linear, settings, optimise=("step_size", "ridge"))
    assert np.isnan(found.metrics["step_size"])
    assert found.metrics["ridge"] == pytest.approx(best.ridge)
    (remark,) = [note for note in found.notes if "no optimum" in note]
    assert remark.startswith("step_size")
    assert "0.01" in remark
    # The error is that at the edge, and the settings say so.
    assert float(found.settings["step_size"]) == pytest.approx(0.01)
    assert found.metrics["test_error"] == pytest.approx(best.test_error, rel=1e-6)
    inside = predict_overlaps(SINE, TANH, optimise=("ridge",))
    assert not any("no optimum" in note for note in inside.notes)


def test_refusals() -> None:
    with pytest.raises(SettingsError, match="optimise"):
        best_sizes(SINE, TANH, ("width",))
