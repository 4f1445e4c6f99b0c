"""The equivalent for any spectrum: closed cases, limits, and gradients."""

from __future__ import annotations

import math

import jax
import numpy as np
import pytest

from giantstep.numerics.float64 import float64
from giantstep.theory.ridge.deterministic_equivalent import RidgeRisk, Spectrum, ridge_risk

solved = jax.jit(ridge_risk)


def risk(samples: float, width: float, ridge: float, spectrum: Spectrum, noise: float) -> RidgeRisk:
    with float64():
        return jax.device_get(solved(samples, width, ridge, spectrum, noise))


def random_spectrum(rng: np.random.Generator) -> Spectrum:
    e, multiplicity, b = np.exp(rng.uniform(-2, 2, (3, 4)))
    return Spectrum(e, 10 * multiplicity, b, 0.7, 0.2)


def test_isotropic_ridge_regression_is_marchenko_pastur() -> None:
    """Noise alone: variance Delta gamma (m - lambda m') of the Stieltjes transform m(-lambda)."""
    n, d, lam = 300.0, 120.0, 40.0
    flat = Spectrum(np.ones(1), np.full(1, d), np.zeros(1), 0.0, 0.0)
    found = risk(n, math.inf, lam, flat, 1.0)
    gamma, z = d / n, lam / n

    def stieltjes(z: float) -> float:
        return (-(1 - gamma + z) + math.sqrt((1 - gamma + z) ** 2 + 4 * gamma * z)) / (
            2 * gamma * z
        )

    slope = (stieltjes(z * (1 + 1e-6)) - stieltjes(z * (1 - 1e-6))) / (2e-6 * z)
    assert found.variance == pytest.approx(gamma * (stieltjes(z) + z * slope), rel=1e-7)
    assert found.bias == 0


def test_equation_holds_on_all_three_sides() -> None:
    rng = np.random.default_rng(0)
    for _ in range(20):
        spectrum = random_spectrum(rng)
        n, p, lam = np.exp(rng.uniform(1, 5, 3))
        found = risk(n, p, lam, spectrum, 0.1)
        e, multiplicity = spectrum.eigenvalues, spectrum.multiplicities
        trace = np.sum(multiplicity * e / (e + found.nu2)) + spectrum.tail_trace / found.nu2
        assert trace == pytest.approx(n - lam / found.nu1, rel=1e-10)
        assert trace == pytest.approx(p * (1 - found.nu1 / found.nu2), rel=1e-10)
        assert trace == pytest.approx(n * found.degrees_of_freedom, rel=1e-10)


def test_formulas_as_they_are_published() -> None:
    """The code rearranges 1 - Upsilon, chi and the norm to avoid cancellation."""
    rng = np.random.default_rng(1)
    for _ in range(20):
        spectrum = random_spectrum(rng)
        e, N, b, tail_trace, tail_energy = spectrum
        n, p, lam = np.exp(rng.uniform(2, 5, 3))
        noise = 0.3
        found = risk(n, p, lam, spectrum, noise)
        nu1, nu2 = found.nu1, found.nu2
        t22 = np.sum(N * e**2 / (e + nu2) ** 2)
        t12 = np.sum(N * e / (e + nu2) ** 2) + tail_trace / nu2**2
        upsilon = p / n * ((1 - nu1 / nu2) ** 2 + (nu1 / nu2) ** 2 * t22 / (p - t22))
        chi = t12 / (p - t22)
        bias = nu2**2 * np.sum(b * (1 + chi * e) / (e + nu2) ** 2) + tail_energy
        assert found.upsilon == pytest.approx(upsilon, abs=1e-12)
        assert found.bias == pytest.approx(bias / (1 - upsilon), rel=1e-9)
        assert found.variance == pytest.approx(noise * upsilon / (1 - upsilon), rel=1e-9)
        objective = lam / (n * nu1) * (nu2 * np.sum(b / (e + nu2)) + tail_energy + noise)
        assert found.objective == pytest.approx(objective, rel=1e-10)
        # |a|^2 is the slope of the objective in the ridge.
        above, below = (risk(n, p, lam * (1 + h), spectrum, noise) for h in (1e-5, -1e-5))
        slope = (above.objective - below.objective) / (2e-5 * lam)
        assert found.norm == pytest.approx(slope, rel=1e-7)


def test_infinitely_many_samples() -> None:
    spectrum = random_spectrum(np.random.default_rng(2))
    found = risk(math.inf, 5.0, 0.1, spectrum, 0.4)
    many = risk(1e9, 5.0, 0.1, spectrum, 0.4)
    assert found.test_error == pytest.approx(many.test_error, rel=1e-7)
    assert found.variance == pytest.approx(0, abs=1e-12)
    assert found.norm == pytest.approx(0, abs=1e-12)


def test_gradient_at_ridge_zero() -> None:
    spectrum = random_spectrum(np.random.default_rng(3))
    with float64():
        slope = jax.jit(jax.grad(lambda x: ridge_risk(50.0, 20.0, x, spectrum, 0.1).test_error))
        found = float(slope(0.0))
    forward = [risk(50.0, 20.0, h, spectrum, 0.1).test_error for h in (0.0, 1e-4, 2e-4)]
    difference = (-3 * forward[0] + 4 * forward[1] - forward[2]) / 2e-4
    assert found == pytest.approx(difference, rel=1e-5)
