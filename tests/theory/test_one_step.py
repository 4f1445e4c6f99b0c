"""The exact risk after one giant step: reference values, limits and derivatives."""

from __future__ import annotations

import numpy as np
import pytest

from giantstep.problem import Problem
from giantstep.settings.giant_step import GiantStep
from giantstep.settings.spiked_random_features import SpikedRandomFeatures
from giantstep.theory.one_step import predict
from giantstep.theory.one_step_curves import best_sizes, risk_curve, risk_gradient
from giantstep.theory.spiked_random_features import predict as predict_spiked

LINEAR_AND_QUADRATIC = "h1 + He2(h1)/sqrt(2)"
#: activation, target, n/d, p/d, ridge of the mean loss, spikes, c, alignment, noise,
#: test and train error in the limit, test error with the shrinkage of d = 400.
ROWS = {
    "C1": ("tanh", "sin(h1)", 2, 1, 0.05, "0.9", 1, 1, 0, 0.03302, 0.02155, 0.03386),
    "C2": ("tanh", "sin(h1)", 2, 1, 0.05, "0.9", 1, 0.7, 0, 0.15299, 0.06643, 0.15339),
    "C3": ("tanh", "sin(h1)", 1, 1.5, 0.01, "2", 1.2, 0.6, 0, 0.39148, 0.02158, 0.39160),
    "C4": ("tanh", "relu(h1)", 1.5, 1, 0.2, "1.5", 1, 0.8, 0, 0.34505, 0.24167, 0.34521),
    "C5": (
        *("erf2", LINEAR_AND_QUADRATIC, 3, 0.5, 0.02, "1.5", 1, 0.8, 0.1),
        *(1.38351, 1.24197, 1.38480),
    ),
    "C6": ("relu", "sin(h1)", 2, 1, 0.05, "1", 1, 0.9, 0, 0.33734, 0.18706, 0.33740),
    "C7": (
        *("tanh", "sin(h1)", 2, 1.5, 0.025, "-1:0.3,0.5:0.3,2:0.4", 1.1, 0.7, 0),
        *(0.14840, 0.03505, 0.14944),
    ),
    "C8": (
        *("relu", LINEAR_AND_QUADRATIC, 2.5, 1, 0.04, "-1.5:0.5,1.5:0.5", 1, 0.85, 0.25),
        *(1.35558, 0.70715, 1.35677),
    ),
}


def spiked(row: str, dim: int | None = None) -> tuple[Problem, SpikedRandomFeatures]:
    sigma, target, alpha, beta, mean_ridge, spike, bulk, alignment, noise = ROWS[row][:9]
    settings = SpikedRandomFeatures(
        dim=dim,
        activation=sigma,
        spike=spike,
        bulk=str(bulk),
        alignment=alignment,
        readout_samples=f"{alpha}d",
        width=f"{beta}d",
        ridge=mean_ridge * alpha / beta,
    )
    return Problem.of(target, noise=noise), settings


@pytest.mark.parametrize("row", ROWS)
def test_reference_errors(row: str) -> None:
    test, train, shrunk = ROWS[row][9:]
    problem, settings = spiked(row)
    found = predict_spiked(problem, settings).metrics
    # The references are rounded to five decimals.
    assert found["test_error"] == pytest.approx(test, rel=1e-4, abs=6e-6)
    assert found["train_error"] == pytest.approx(train, rel=1e-4, abs=6e-6)
    problem, settings = spiked(row, dim=400)
    finite = predict_spiked(problem, settings, version="dim").metrics["test_error"]
    assert finite == pytest.approx(shrunk, rel=1e-4, abs=6e-6)


STEP = GiantStep(
    activation="tanh",
    readout="ones",
    samples="20d",
    step_size=3,
    width="1d",
    readout_samples="1.6d",
    ridge=0.1,
)


def test_published_values_of_tanh_and_sine() -> None:
    curve = risk_curve(Problem.of("sin(h1)"), STEP, "readout_samples", [0.2, 1.6, 3.0])
    np.testing.assert_allclose(curve.test_error, [0.048483, 0.037311, 0.032518], atol=2e-6)
    found = predict(Problem.of("sin(h1)"), STEP).metrics
    assert found["spike_strength"] == pytest.approx(1.134056, abs=2e-6)
    assert found["bulk_variance"] == pytest.approx(1.018973, abs=2e-6)
    assert found["alignment"] == pytest.approx(0.971854, abs=2e-6)


def test_bounds_on_the_best_risk() -> None:
    settings = SpikedRandomFeatures(activation="tanh", spike="0.9", ridge=0.1)
    found = predict_spiked(Problem.of("sin(h1)"), settings).metrics
    assert found["bound_upper"] == pytest.approx(0.029105, abs=1e-6)
    assert found["bound_lower"] == pytest.approx(0.001669, abs=1e-6)
    assert found["linear_floor"] == pytest.approx(0.064453, abs=1e-6)
    strong = predict_spiked(Problem.of("sin(h1)"), settings.replace(ridge=2e4)).metrics
    assert strong["test_error"] == pytest.approx(found["bound_upper"], abs=2e-6)


def test_no_spike_is_random_features() -> None:
    problem = Problem.of("sin(h1)", noise=0.1)
    settings = SpikedRandomFeatures(activation="tanh", spike="0", ridge=0.1, readout_samples="2d")
    found = predict_spiked(problem, settings).metrics
    assert found["test_error"] == pytest.approx(found["random_features_error"], abs=1e-8)


def test_two_equal_blocks_are_one() -> None:
    problem = Problem.of("sin(h1)")
    one = SpikedRandomFeatures(activation="tanh", spike="1.2", alignment=0.8)
    two = one.replace(spike="1.2:0.3,1.2:0.7")
    errors = [predict_spiked(problem, s).metrics["test_error"] for s in (one, two)]
    # Equal blocks make the overlaps' equations degenerate: a pseudo-inverse solves them.
    assert errors[0] == pytest.approx(errors[1], rel=2e-6)


def test_gradient_against_central_differences() -> None:
    problem = Problem.of("sin(h1)", noise=0.05)
    _, slopes = risk_gradient(problem, STEP)
    for name, point in (("step_size", 3.0), ("ridge", 0.1), ("readout_samples", 1.6)):
        step = 1e-4 * point
        curve = risk_curve(problem, STEP, name, [point - step, point + step])
        central = np.diff(curve.test_error)[0] / (2 * step)
        assert getattr(slopes, name) == pytest.approx(central, rel=1e-5)


def test_the_best_step_and_ridge_are_a_minimum() -> None:
    problem = Problem.of("sin(h1)")
    best = best_sizes(problem, STEP)
    assert best.gain_over_random_features > 0
    for name, value in (("step_size", best.step_size), ("ridge", best.ridge)):
        at_best = STEP.replace(step_size=best.step_size, ridge=best.ridge)
        around = risk_curve(problem, at_best, name, [0.8 * value, value, 1.25 * value])
        assert np.argmin(around.test_error) == 1
