"""The prediction of `power-law`: risk, rates, best ridge, gradient."""

from __future__ import annotations

import numpy as np
import pytest

from giantstep.errors import NoTheory, SettingsError
from giantstep.language.problem import NoTarget
from giantstep.settings.power_law import PowerLaw
from giantstep.theory.power_law import gradient, predict

NOISY = NoTarget(noise=0.01)


def test_risk() -> None:
    case = PowerLaw(capacity=1.5, source=0.4, samples=200, width=100, ridge=0.01, modes=2000)
    found = predict(NOISY, case)
    assert found.metrics["test_error"] == pytest.approx(0.0580095, abs=1e-7)
    assert found.metrics["bias"] == pytest.approx(0.0491284, abs=1e-7)
    assert found.metrics["variance"] == pytest.approx(0.0580095 - 0.0491284, abs=1e-7)
    assert found.status == "theorem"


def test_without_width_it_is_kernel_regression() -> None:
    case = PowerLaw(capacity=2, source=0.25, samples=200, ridge=1e-3, modes=2000)
    found = predict(NoTarget(), case)
    assert found.metrics["test_error"] == pytest.approx(0.0113333, abs=1e-7)
    wide = predict(NoTarget(), case.replace(width=1e9))
    assert wide.metrics["test_error"] == pytest.approx(0.0113333, rel=1e-4)


def test_rates() -> None:
    case = PowerLaw(capacity=1.5, source=0.4, exponents=True, ridge_exponent=0.6, width_exponent=2)
    found = predict(NOISY, case).metrics
    assert found["gamma_bias"] == pytest.approx(0.48)
    assert found["gamma_variance"] == pytest.approx(0.6)
    assert found["gamma"] == pytest.approx(0.48)
    assert found["optimal_ridge_exponent"] == pytest.approx(1.5 / 2.2)
    assert predict(NOISY, case.replace(ridge_exponent=1.2)).metrics["gamma"] == pytest.approx(0.2)
    clean = predict(NoTarget(), case.replace(ridge_exponent=1.2))
    assert clean.metrics["gamma"] == pytest.approx(0.96)


def test_sizes_given_by_their_exponents() -> None:
    by_exponent = PowerLaw(samples=1000, ridge_exponent=0.8, width_exponent=1.5)
    by_number = PowerLaw(samples=1000, ridge=1000**0.2, width=1000**1.5)
    expected = predict(NOISY, by_number).metrics["test_error"]
    assert predict(NOISY, by_exponent).metrics["test_error"] == pytest.approx(expected)


def test_optimal_ridge() -> None:
    case = PowerLaw(capacity=1.5, source=0.4, samples=500, width=300)
    found = predict(NOISY, case, optimise=("ridge",)).metrics
    slope = gradient(NOISY, case.replace(ridge=found["ridge"]))["ridge"]
    assert slope * found["ridge"] == pytest.approx(0, abs=1e-10)


def test_gradient_is_that_of_central_differences() -> None:
    rng = np.random.default_rng(7)
    typical = {"samples": 300, "width": 200, "ridge": 0.1, "capacity": 1.6, "source": 0.6}
    for _ in range(20):
        spread = np.exp(rng.uniform(-0.3, 0.3, len(typical)))
        point = {name: value * x for (name, value), x in zip(typical.items(), spread, strict=True)}
        found = gradient(NOISY, PowerLaw(**point))
        for name, value in point.items():
            wide, narrow = (
                (
                    predict(NOISY, PowerLaw(**{**point, name: value + h})).metrics["test_error"]
                    - predict(NOISY, PowerLaw(**{**point, name: value - h})).metrics["test_error"]
                )
                / (2 * h)
                for h in (2e-4 * value, 1e-4 * value)
            )
            assert found[name] == pytest.approx((4 * narrow - wide) / 3, rel=1e-6, abs=1e-8)


def test_settings_without_an_answer() -> None:
    with pytest.raises(SettingsError, match="ridge = 0"):
        predict(NOISY, PowerLaw(samples=200, width=100, modes=50, ridge=0))
    with pytest.raises(SettingsError, match="no dimension d"):
        PowerLaw(samples="2d")
    with pytest.raises(SettingsError, match="capacity"):
        PowerLaw(capacity=1.0)
    with pytest.raises(SettingsError, match="ridge_exponent"):
        PowerLaw(exponents=True)
    with pytest.raises(NoTheory, match="peak"):
        predict(NOISY, PowerLaw(exponents=True, ridge_exponent=2, width_exponent=1))
