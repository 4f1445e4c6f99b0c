"""Power laws: reference risks, rates against local slopes, optimal exponents."""

from __future__ import annotations

import math

import jax
import numpy as np
import pytest

from giantstep.numerics.float64 import float64
from giantstep.theory.ridge.deterministic_equivalent import RidgeRisk, ridge_risk
from giantstep.theory.ridge.scaling_laws import (
    optimal_exponents,
    power_law_spectrum,
    scaling_exponents,
)


@jax.jit
def solved(a, r, n, p, ridge, noise, modes):  # type: ignore[no-untyped-def]
    return ridge_risk(n, p, ridge, power_law_spectrum(a, r, modes), noise)


def risk(
    a: float, r: float, n: float, p: float, ridge: float, noise: float, modes: float = math.inf
) -> RidgeRisk:
    with float64():
        return jax.device_get(solved(*map(float, (a, r, n, p, ridge, noise, modes))))


def test_reference_risks() -> None:
    first = risk(1.5, 0.4, 200, 100, 0.01, 0.01, 2000)
    assert first.test_error == pytest.approx(0.0580095, abs=1e-7)
    assert first.bias == pytest.approx(0.0491284, abs=1e-7)
    assert first.nu2 == pytest.approx(3.19696e-3, rel=1e-5)
    assert first.upsilon == pytest.approx(0.470369, abs=1e-6)
    wide = risk(1.5, 0.4, 200, 400, 1e-3, 0.01, 2000)
    assert wide.test_error == pytest.approx(0.0315623, abs=1e-7)
    square = risk(1.2, 1, 300, 300, 0.1, 0.1, 2000)
    assert square.test_error == pytest.approx(0.140211, abs=1e-6)
    assert square.train_error == pytest.approx(0.0167227, abs=1e-7)
    kernel = risk(2, 0.25, 200, math.inf, 1e-3, 0, 2000)
    assert kernel.test_error == pytest.approx(0.0113333, abs=1e-7)
    assert kernel.train_error == pytest.approx(6.44986e-5, rel=1e-5)


#: (a, r, ell, q) -> the rates of bias and variance.
RATES = {
    (1.5, 0.4, 0.6, 2.0): (0.480, 0.600),
    (1.5, 0.8, 0.9, 1.5): (1.440, 0.400),
    (1.5, 0.8, 0.9, 0.65): (0.950, 0.400),
    (2.0, 1.5, 1.0, 0.6): (1.100, 0.500),
    (1.5, 0.4, 3.0, 2.0): (1.200, 0.000),
    (1.5, 0.4, 2.0, 0.7): (0.840, 0.300),
    (1.5, 0.4, 0.9, 0.8): (0.720, 0.400),
}


@pytest.mark.parametrize("case", RATES, ids=str)
def test_rates_are_the_local_slopes(case: tuple[float, float, float, float]) -> None:
    a, r, ell, q = case
    rates = scaling_exponents(a, r, ell, q)
    assert (rates.bias, rates.variance) == pytest.approx(RATES[case], abs=1e-12)
    low, high = (risk(a, r, n, n**q, n ** (1 - ell), 1.0) for n in (1e7, 1e8))
    assert math.log10(low.bias / high.bias) == pytest.approx(rates.bias, abs=0.05)
    assert math.log10(low.variance / high.variance) == pytest.approx(rates.variance, abs=0.05)


@pytest.mark.parametrize(
    ("a", "r", "q", "expected", "tolerance"),
    [(1.5, 0.4, 1.0, 0.5455, 0.01), (1.5, 0.8, 1.0, 0.7059, 0.01), (1.5, 0.8, 0.45, 0.633, 0.05)],
)
def test_optimal_ridge_reaches_the_optimal_rate(
    a: float, r: float, q: float, expected: float, tolerance: float
) -> None:
    best = []
    for n in (1e6, 1e7):
        ridges = n ** (1 - np.linspace(0.2, 1.4, 61))
        best.append(min(float(risk(a, r, n, n**q, x, 1.0).test_error) for x in ridges))
    assert math.log10(best[0] / best[1]) == pytest.approx(expected, abs=tolerance)


def test_optimal_exponents_are_optimal() -> None:
    for a in (1.2, 1.5, 3.0):
        for r in (0.2, 0.5, 0.8, 2.0):
            best = optimal_exponents(a, r)
            at_best = scaling_exponents(a, r, best.ridge, best.width)
            assert at_best.total == pytest.approx(best.rate, abs=1e-12)
            assert scaling_exponents(a, r, best.ridge, best.width - 0.01).total < best.rate
            for ell in np.linspace(0.05, 3, 60):
                assert scaling_exponents(a, r, ell, 2.0).total <= best.rate + 1e-12


def test_without_noise_the_bias_counts() -> None:
    assert scaling_exponents(1.5, 0.4, 3.0, 2.0, noisy=False).total == pytest.approx(1.2)
    assert scaling_exponents(1.5, 0.4, 3.0, 2.0).total == 0


@pytest.mark.parametrize("modes", [1, 7, 1999, 2000, 2001, 5000, 123_456])
def test_binned_sums_are_the_exact_ones(modes: int) -> None:
    k = np.arange(1.0, modes + 1)
    with float64():
        spectrum = jax.device_get(power_law_spectrum(1.3, 0.7, float(modes)))
    assert spectrum.multiplicities.sum() == pytest.approx(modes, rel=1e-12)
    trace = spectrum.eigenvalues @ spectrum.multiplicities + spectrum.tail_trace
    assert trace == pytest.approx(np.sum(k**-1.3), rel=1e-9)
    energy = spectrum.energies.sum() + spectrum.tail_energy
    assert energy == pytest.approx(np.sum(k ** -(2 * 1.3 * 0.7 + 1)), rel=1e-9)


def test_bins_are_fine_enough() -> None:
    """Exact modes up to 20,000 against bins from 2,000 on."""
    a, r, modes = 1.4, 0.6, 20_000
    k = np.arange(1.0, modes + 1)
    from giantstep.theory.ridge.deterministic_equivalent import Spectrum

    exact = Spectrum(k**-a, np.ones(modes), k ** -(2 * a * r + 1), 0.0, 0.0)
    with float64():
        expected = jax.jit(ridge_risk)(3000.0, 5000.0, 1e-3, exact, 0.1).test_error
    assert risk(a, r, 3000, 5000, 1e-3, 0.1, modes).test_error == pytest.approx(
        float(expected), rel=1e-6
    )
