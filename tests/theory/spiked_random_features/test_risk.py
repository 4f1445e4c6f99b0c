"""The exact risk of spiked features: reference values, limits, symmetries, several directions."""

from __future__ import annotations

import math
from typing import get_args

import jax
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from proportional_features import proportional_risk
from spiked_rows import ROWS

from giantstep.language.activations.activation import activation
from giantstep.language.problem import Problem
from giantstep.language.targets import Target
from giantstep.language.targets.hermite import target_energies, target_moments
from giantstep.numerics.float64 import float64
from giantstep.theory.giant_step.risk.bounds import functional_bounds
from giantstep.theory.spiked_random_features.finite_size import Blocks, Version
from giantstep.theory.spiked_random_features.prediction import predict, spiked_readout
from giantstep.theory.spiked_random_features.risk import spiked_risk

SIZES = {"samples_ratio": 2.0, "width_ratio": 1.5, "ridge": 0.1}


def errors(
    sigma: str,
    target: str,
    spikes: list[float],
    *,
    bulks: list[float] | None = None,
    fractions: list[float] | None = None,
    alignment: float = 0.8,
    noise: float = 0.0,
    version: Version = "limit",
    dim: float = 1e12,
    **sizes: float,
) -> tuple[float, float]:
    """Test and train error, label noise included."""
    count = len(spikes)
    blocks = Blocks(
        np.array(spikes),
        np.array(bulks or [1.0] * count),
        np.array(fractions or [1 / count] * count),
    )
    risk = spiked_risk(
        activation(sigma), Target(target), blocks, alignment=alignment, **(SIZES | sizes),
        noise=noise, dim=dim, version=version,
    )  # fmt: skip
    assert risk.converged
    return float(risk.test), float(risk.train)


@pytest.mark.parametrize("name", ROWS)
def test_reference_values(name: str) -> None:
    row = ROWS[name]
    limit = predict(row.problem(), row.settings()).metrics
    # The references are rounded to five decimals.
    assert limit["test_error"] == pytest.approx(row.test, rel=1e-4, abs=6e-6)
    assert limit["train_error"] == pytest.approx(row.train, rel=1e-4, abs=6e-6)
    finite = predict(row.problem(), row.settings(400), version="spike-strength").metrics
    assert finite["test_error"] == pytest.approx(row.test_at_400, rel=1e-4, abs=6e-6)


@pytest.mark.parametrize(
    ("sigma", "target"),
    [("tanh", "sin(h1) + 0.2*He2(h1)"), ("relu", "relu(h1) + h1"), ("erf2", "h1 + h2*h3 + h2")],
)
@pytest.mark.parametrize("alignment", [0.0, 0.6])
def test_without_spike_it_is_random_features(sigma: str, target: str, alignment: float) -> None:
    features, labels = activation(sigma), Target(target)
    mu, energy, power = features.hermite(1), target_energies(labels, 1), target_moments(labels)
    with float64():
        expected = jax.jit(proportional_risk)(
            *(2.0, 1.5, 0.1, 0.3),
            linear_features=float(mu[1]) ** 2,
            nonlinear_features=features.mu_star_squared,
            linear_target=float(energy[1]),
            nonlinear_target=power.variance - float(energy[1]),
            mean=power.mean,
            constant=math.inf if abs(mu[0]) > 1e-9 else 0.0,
        )
    test, train = errors(sigma, target, [0.0], alignment=alignment, noise=0.3)
    assert test == pytest.approx(float(expected.test_error) + 0.3, rel=1e-8)
    assert train == pytest.approx(float(expected.train_error), rel=1e-8)


@pytest.mark.parametrize("sigma", ["tanh", "relu"])
def test_infinite_ridge_gives_the_upper_bound(sigma: str) -> None:
    blocks = Blocks(np.array([0.9, 2.0]), np.array([1.0, 1.3]), np.array([0.5, 0.5]))
    problem = Problem.of("sin(h1) + 0.1*h1*h2")
    bounds = functional_bounds(spiked_readout(problem, activation(sigma), blocks, 0.9))
    sizes = {"samples_ratio": 2.0, "width_ratio": 1.0, "ridge": 1e7}
    risk = spiked_risk(activation(sigma), problem.target, blocks, alignment=0.9, **sizes)
    assert risk.test == pytest.approx(bounds["bound_upper"], rel=1e-6)


def test_many_samples_and_neurons_give_the_lower_bound() -> None:
    blocks = Blocks(np.array([0.9]), np.ones(1), np.ones(1))
    for target, alignment in (("sin(h1)", 1.0), ("sin(h1) + h1*h2", 0.8)):
        readout = spiked_readout(Problem.of(target), activation("tanh"), blocks, alignment)
        bounds = functional_bounds(readout)
        sizes = {"samples_ratio": 1e8, "width_ratio": 1e5, "ridge": 1e-3}
        risk = spiked_risk(activation("tanh"), Target(target), blocks, alignment=alignment, **sizes)
        assert risk.test == pytest.approx(bounds["bound_lower"], rel=2e-3)


@pytest.mark.parametrize("version", get_args(Version))
def test_one_block_equals_two_equal_blocks(version: Version) -> None:
    dim = 1e12 if version == "limit" else 150.0
    one = errors("tanh", "sin(h1)", [1.2], bulks=[1.1], version=version, dim=dim)
    two = errors(
        "tanh", "sin(h1)", [1.2, 1.2], bulks=[1.1, 1.1], fractions=[0.3, 0.7],
        version=version, dim=dim,
    )  # fmt: skip
    assert two == pytest.approx(one, rel=1e-9)


@settings(max_examples=15)
@given(
    st.floats(0.1, 3.0), st.floats(0.8, 2.0), st.floats(0.0, 1.0),
    st.floats(0.3, 4.0), st.floats(0.3, 4.0), st.floats(1e-3, 10.0),
)  # fmt: skip
def test_symmetries_and_bounds(
    spike: float, bulk: float, alignment: float, samples: float, width: float, ridge: float
) -> None:
    sizes = {"samples_ratio": samples, "width_ratio": width, "ridge": ridge, "alignment": alignment}
    plus = errors("tanh", "sin(h1)", [spike], bulks=[bulk], noise=0.1, **sizes)
    minus = errors("tanh", "sin(h1)", [-spike], bulks=[bulk], noise=0.1, **sizes)
    blocks = {"bulks": [bulk, 1.0], "noise": 0.1, **sizes}
    there = errors("tanh", "sin(h1)", [spike, 0.5], **blocks, fractions=[0.3, 0.7])
    blocks["bulks"] = [1.0, bulk]
    back = errors("tanh", "sin(h1)", [0.5, spike], **blocks, fractions=[0.7, 0.3])
    assert minus == pytest.approx(plus, rel=1e-8)
    assert back == pytest.approx(there, rel=1e-7)
    assert plus[0] > 0.1
    assert plus[1] < plus[0]


def test_scaling_of_labels_and_weights() -> None:
    """y -> 3 y multiplies the risk by 9; sigma -> 2 sigma with ridge -> 4 ridge changes nothing."""
    once = errors("tanh", "sin(h1)", [1.0], noise=0.2)
    assert errors("tanh", "3*sin(h1)", [1.0], noise=1.8) == pytest.approx(
        tuple(9 * error for error in once), rel=1e-10
    )
    assert errors("2*tanh(z)", "sin(h1)", [1.0], noise=0.2, ridge=0.4) == pytest.approx(
        once, rel=1e-10
    )
    # sigma(z/2) with a first layer twice as large.
    assert errors("tanh(z/2)", "sin(h1)", [2.0], bulks=[4.0], noise=0.2) == pytest.approx(
        once, rel=1e-8
    )


def test_rotation_of_the_target() -> None:
    oblique = errors("tanh", "tanh((3*h1 + 4*h2)/5)", [1.5])
    assert oblique == pytest.approx(errors("tanh", "tanh(h1)", [1.5]), rel=1e-5)


def test_nonlinear_functions_of_other_directions_are_noise() -> None:
    """E[(he_2(h2)/2)^2] = 1/2: nothing of it can be fitted by features that are linear across."""
    several = errors("tanh", "sin(h1) + He2(h2)/2", [1.5])
    assert several == pytest.approx(errors("tanh", "sin(h1)", [1.5], noise=0.5), rel=1e-9)


def test_a_product_with_the_learned_direction_is_partly_fitted() -> None:
    """h1*h2 is slope times kappa across: between free noise and full knowledge."""
    product = errors("erf2", "h1 + h1*h2", [1.5], samples_ratio=50.0, width_ratio=20.0)[0]
    noise = errors("erf2", "h1", [1.5], samples_ratio=50.0, width_ratio=20.0, noise=1.0)[0]
    even = errors("erf2", "h1 + abs(h1)*h2", [1.5], samples_ratio=50.0, width_ratio=20.0)[0]
    # u(kappa) is even for an odd sigma, so kappa*h2 has no partner but |kappa|*h2 has one.
    assert 0.97 * noise < product < noise
    assert even < 0.6 * noise


def test_label_noise_alone() -> None:
    """With g near 0 the risk is pure variance: proportional to the noise."""
    small, large = (errors("tanh", "h1/1000000", [1.0], noise=noise) for noise in (0.1, 1.0))
    assert large == pytest.approx(tuple(10 * error for error in small), rel=1e-9)


def test_near_the_interpolation_peak() -> None:
    test, train = errors(
        "tanh", "sin(h1)", [0.9], alignment=0.7, samples_ratio=1.0, width_ratio=1.0, ridge=1e-6
    )
    calm, _ = errors(
        "tanh", "sin(h1)", [0.9], alignment=0.7, samples_ratio=1.0, width_ratio=1.0, ridge=0.1
    )
    assert test > 50 * calm
    assert 0 < train < 1e-3
