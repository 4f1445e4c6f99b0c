"""Bounds on the best risk: reference values and the span of the learned functions."""

from __future__ import annotations

import numpy as np
import pytest

from giantstep.language.activations.activation import activation
from giantstep.language.problem import Problem
from giantstep.theory.giant_step.risk.bounds import functional_bounds
from giantstep.theory.giant_step.risk.readout import Fit, Readout
from giantstep.theory.giant_step.risk.solution import readout_risk
from giantstep.theory.spiked_random_features.finite_size import Blocks
from giantstep.theory.spiked_random_features.prediction import spiked_readout


def readout_for(sigma: str, target: str, spikes: list[float], alignment: float = 1.0) -> Readout:
    ones = np.ones(len(spikes))
    blocks = Blocks(np.array(spikes), ones, ones / len(spikes))
    return spiked_readout(Problem.of(target), activation(sigma), blocks, alignment)


@pytest.mark.parametrize(
    ("sigma", "spikes", "upper", "lower"),
    [
        ("tanh", [0.9], 0.029105, 0.001669),
        ("tanh", [1.5], 0.011506, 0.007218),
        ("erf2", [1.5], 0.013224, 0.006311),
        ("tanh", [1.0, 2.0], 0.008051, 0.000186),
    ],
)
def test_reference_values(sigma: str, spikes: list[float], upper: float, lower: float) -> None:
    bounds = functional_bounds(readout_for(sigma, "sin(h1)", spikes))
    assert bounds["bound_upper"] == pytest.approx(upper, abs=6e-7)
    assert bounds["bound_lower"] == pytest.approx(lower, abs=6e-7)


@pytest.mark.parametrize(
    ("samples", "best"), [(1.0, 0.029069), (2.0, 0.029023), (5.0, 0.028802), (20.0, 0.027701)]
)
def test_best_risk_over_the_ridge_lies_between(samples: float, best: float) -> None:
    readout = readout_for("tanh", "sin(h1)", [0.9])
    bounds = functional_bounds(readout)
    ridges = samples * np.geomspace(1e-4, 1e2, 61)
    risks = [readout_risk(readout, Fit.of(samples, 1.0, ridge)).test for ridge in ridges]
    assert min(risks) == pytest.approx(best, rel=1e-4)
    assert bounds["bound_lower"] < min(risks) < bounds["bound_upper"]


def test_a_target_in_the_span_is_fitted() -> None:
    """g = mu_0 of the features: no error is left, and kappa*mu_1 is proportional to kappa*mu_0'."""
    readout = readout_for("erf2", "erf(1.5*h1/2)", [1.5])
    assert functional_bounds(readout)["bound_upper"] == pytest.approx(0.0, abs=1e-12)
    derivative = np.exp(-((1.5 * readout.learned.kappa[0] / 2) ** 2)) * 1.5 / np.sqrt(np.pi)
    np.testing.assert_allclose(1.5 * readout.slopes[0], derivative, atol=1e-10)


def test_misaligned_spikes_fit_less() -> None:
    found = [
        functional_bounds(readout_for("tanh", "sin(h1)", [1.5], g)) for g in (1.0, 0.8, 0.5, 0.0)
    ]
    uppers, lowers = ([each[name] for each in found] for name in ("bound_upper", "bound_lower"))
    assert all(np.diff(uppers) > 0)
    assert uppers[-1] == pytest.approx((1 - np.exp(-2)) / 2)
    # Across the spike the features are linear: at least the linear energy can be fitted.
    assert all(lower <= 0.064453 + 0.1 for lower in lowers)
