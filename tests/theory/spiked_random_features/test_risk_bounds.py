"""Bounds on the best risk: reference values and the span of the learned functions."""

from __future__ import annotations

import numpy as np
import pytest

from giantstep.language.activations.activation import activation
from giantstep.language.targets import Target
from giantstep.theory.spiked_random_features.finite_size import Blocks
from giantstep.theory.spiked_random_features.risk import Prepared, spiked_risk
from giantstep.theory.spiked_random_features.risk_bounds import functional_basis, risk_bounds


def prepared_for(
    sigma: str, target: str, spikes: list[float], alignment: float = 1.0
) -> tuple[Prepared, Blocks]:
    ones = np.ones(len(spikes))
    blocks = Blocks(np.array(spikes), ones, ones / len(spikes))
    prepared = Prepared.of(
        activation(sigma), Target(target), alignment=alignment, spikes=blocks.spikes, bulks=ones
    )
    return prepared, blocks


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
    bounds = risk_bounds(*prepared_for(sigma, "sin(h1)", spikes))
    assert bounds.upper == pytest.approx(upper, abs=6e-7)
    assert bounds.lower == pytest.approx(lower, abs=6e-7)


@pytest.mark.parametrize(
    ("samples", "best"), [(1.0, 0.029069), (2.0, 0.029023), (5.0, 0.028802), (20.0, 0.027701)]
)
def test_best_risk_over_the_ridge_lies_between(samples: float, best: float) -> None:
    prepared, blocks = prepared_for("tanh", "sin(h1)", [0.9])
    bounds = risk_bounds(prepared, blocks)
    ridges = samples * np.geomspace(1e-4, 1e2, 61)
    risks = [
        float(
            spiked_risk(prepared, blocks, samples_ratio=samples, width_ratio=1.0, ridge=ridge).test
        )
        for ridge in ridges
    ]
    assert min(risks) == pytest.approx(best, rel=1e-4)
    assert bounds.lower < min(risks) < bounds.upper


def test_a_target_in_the_span_is_fitted() -> None:
    """g = mu_0 of the features: no error is left, and kappa*mu_1 is proportional to kappa*mu_0'."""
    prepared, blocks = prepared_for("erf2", "erf(1.5*h1/2)", [1.5])
    bounds = risk_bounds(prepared, blocks)
    assert bounds.upper == pytest.approx(0.0, abs=1e-12)
    basis = functional_basis(prepared, blocks)
    kappa = prepared.grid.kappa
    derivative = np.exp(-((1.5 * kappa / 2) ** 2)) * 1.5 / np.sqrt(np.pi)
    np.testing.assert_allclose(1.5 * basis.slopes[0], derivative, atol=1e-10)


def test_misaligned_spikes_fit_less() -> None:
    uppers, lowers = zip(
        *(risk_bounds(*prepared_for("tanh", "sin(h1)", [1.5], g)) for g in (1.0, 0.8, 0.5, 0.0)),
        strict=True,
    )
    assert all(np.diff(uppers) > 0)
    assert uppers[-1] == pytest.approx((1 - np.exp(-2)) / 2)
    # Across the spike the features are linear: at least the linear energy can be fitted.
    assert all(lower <= 0.064453 + 0.1 for lower in lowers)
