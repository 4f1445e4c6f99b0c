"""Curves, derivatives and the best sizes of one giant step; their speed is a benchmark."""

from __future__ import annotations

import numpy as np
import pytest

from giantstep.activations.activation import activation
from giantstep.errors import SettingsError
from giantstep.problem import Problem
from giantstep.settings.giant_step import GiantStep
from giantstep.theory.giant_step.prediction import predict as predict_overlaps
from giantstep.theory.one_step.curves import (
    SEARCH,
    _curve,
    best_sizes,
    risk_curve,
    risk_gradient,
)
from giantstep.theory.one_step.prediction import predict
from giantstep.theory.one_step.stepped_network import Sizes, one_step

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


def central_differences(problem: Problem, settings: GiantStep) -> Sizes:
    step, sizes = one_step(problem, settings)
    sigma = activation(settings.activation)

    def test_error(changed: Sizes) -> float:
        return float(step.risk(step.prepared(sigma, problem, changed), changed).test)

    slopes = []
    for name, value in zip(Sizes._fields, sizes, strict=True):
        h = 1e-3 * value
        at = [test_error(sizes._replace(**{name: value + k * h})) for k in (-2, -1, 1, 2)]
        slopes.append((at[0] - 8 * at[1] + 8 * at[2] - at[3]) / (12 * h))
    return Sizes(*slopes)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("target", "changes"),
    [
        ("sin(h1)", {}),
        ("relu(h1) + 0.3*h2", {"readout": "-1:0.4,1.5:0.6", "samples": "40d", "dim": 150}),
    ],
)
def test_gradient_against_central_differences(target: str, changes: dict[str, object]) -> None:
    problem, settings = Problem.of(target, noise=0.05), TANH.replace(**changes)
    risk, slopes = risk_gradient(problem, settings)
    assert risk == pytest.approx(predict(problem, settings).metrics["test_error"], rel=1e-10)
    assert slopes == pytest.approx(central_differences(problem, settings), rel=1e-5)


@pytest.mark.slow
def test_a_curve_is_compiled_once() -> None:
    values = np.linspace(0.2, 3.0, 100)
    compiled = _curve._cache_size()
    curve = risk_curve(SINE, TANH, "readout_samples_ratio", values)
    again = risk_curve(
        SINE, TANH.replace(ridge=0.2, step_size=2.9), "readout_samples_ratio", values
    )
    assert _curve._cache_size() == compiled + 1
    assert np.all(again.test_error != curve.test_error)
    for index in (0, 40, 99):
        point = predict(SINE, TANH.replace(readout_samples=f"{float(values[index])!r}d")).metrics
        assert curve.test_error[index] == pytest.approx(point["test_error"], rel=1e-9)
        assert curve.train_error[index] == pytest.approx(point["train_error"], rel=1e-9)


RELU = TANH.replace(activation="relu", samples="4d", step_size=1.5)


def test_a_curve_of_any_activation() -> None:
    """Each point starts from its neighbour, and is what it is alone."""
    values = np.linspace(0.2, 3.0, 10)
    curve = risk_curve(SINE, RELU, "readout_samples_ratio", values)
    for index in (0, 4, 9):
        point = predict(SINE, RELU.replace(readout_samples=f"{float(values[index])!r}d")).metrics
        assert curve.test_error[index] == pytest.approx(point["test_error"], rel=1e-7)
        assert curve.train_error[index] == pytest.approx(point["train_error"], rel=1e-7)


def test_a_curve_changes_its_theory_with_its_rows() -> None:
    """Small batches leave rows uneven, and each point is what it is alone."""
    settings = TANH.replace(samples="4d")
    curve = risk_curve(SINE, settings, "step_size", [0.5, 4.0])
    alone = [predict(SINE, settings.replace(step_size=size)) for size in (0.5, 4.0)]
    assert ["not isotropic" in found.notes[0] for found in alone] == [False, True]
    expected = [found.metrics["test_error"] for found in alone]
    assert curve.test_error.tolist() == pytest.approx(expected, rel=1e-7)


def test_gradient_of_any_activation() -> None:
    risk, slopes = risk_gradient(SINE, RELU)
    assert risk == pytest.approx(predict(SINE, RELU).metrics["test_error"], rel=1e-9)
    ends = risk_curve(SINE, RELU, "ridge", [0.099, 0.101]).test_error
    assert slopes.ridge == pytest.approx((ends[1] - ends[0]) / 0.002, rel=1e-3)


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
    with pytest.raises(SettingsError, match="name"):
        risk_curve(SINE, TANH, "samples", [1.0])
