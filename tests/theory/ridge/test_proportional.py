"""The proportional limit: reference values, identities, invariants, gradients."""

from __future__ import annotations

import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from proportional_features import proportional_risk

from giantstep.language.activations.activation import activation
from giantstep.language.activations.kernels import kernel
from giantstep.numerics.float64 import float64
from giantstep.theory.ridge.deterministic_equivalent import RidgeRisk

NUMBERS = (
    *("samples_ratio", "width_ratio", "ridge", "noise", "linear_features", "nonlinear_features"),
    *("linear_target", "nonlinear_target", "mean", "constant"),
)


@jax.jit
def solved(numbers: dict[str, Any]) -> RidgeRisk:
    return proportional_risk(**numbers)


@jax.jit
def slopes(numbers: dict[str, Any]) -> dict[str, Any]:
    return jax.grad(lambda x: proportional_risk(**x).test_error)(numbers)


def risk(**numbers: float) -> RidgeRisk:
    full = {"noise": 0.0, "linear_target": 1.0, "nonlinear_target": 0.0, "mean": 0.0}
    chosen = {**full, "constant": math.inf, **numbers}
    with float64():
        return jax.device_get(solved({name: float(value) for name, value in chosen.items()}))


def features(name: str) -> dict[str, float]:
    sigma = activation(name)
    return {
        "linear_features": float(sigma.hermite(1)[1] ** 2),
        "nonlinear_features": sigma.mu_star_squared,
    }


#: relu and h + He2/sqrt 2, noise 0.1: (samples, width, ridge) -> test and training error.
RELU = {
    (2, 1, 0): (2.995812, 0.773953),
    (2, 1, 0.01): (2.752529, 0.777638),
    (2, 1, 0.1): (2.095686, 0.868393),
    (2, 1, 1): (1.777287, 1.318664),
    (1.5, 3, 0): (3.062383, 0.0),
    (1.5, 3, 0.01): (2.556715, 0.0234685),
    (1.5, 3, 1): (1.719954, 1.149063),
}


@pytest.mark.parametrize("sizes", RELU)
def test_relu(sizes: tuple[float, float, float]) -> None:
    alpha, psi, ridge = sizes
    found = risk(
        samples_ratio=alpha,
        width_ratio=psi,
        ridge=ridge,
        noise=0.1,
        nonlinear_target=1.0,
        **features("relu"),
    )
    assert (found.test_error, found.train_error) == pytest.approx(RELU[sizes], abs=1e-6)


def test_norm_and_objective() -> None:
    found = risk(
        samples_ratio=2,
        width_ratio=1,
        ridge=0.1,
        noise=0.1,
        nonlinear_target=1.0,
        **features("relu"),
    )
    assert found.norm == pytest.approx(1.707282, abs=1e-6)
    assert found.objective == pytest.approx(1.039121, abs=1e-6)


def test_ridgeless_double_descent() -> None:
    widths = (0.25, 0.5, 1, 1.5, 1.9, 2.1, 3, 4, 10, 100)
    expected = (
        *(2.101551, 2.266638, 2.995812, 5.539008, 26.729446),
        *(28.106634, 4.197238, 2.868938, 1.872713, 1.567746),
    )
    found = [
        risk(
            samples_ratio=2,
            width_ratio=p,
            ridge=0,
            noise=0.1,
            nonlinear_target=1.0,
            **features("relu"),
        )
        for p in widths
    ]
    assert [float(f.test_error) for f in found] == pytest.approx(expected, abs=2e-6)


@pytest.mark.parametrize(("alpha", "psi"), [(2.0, 0.7), (0.6, 3.0), (1.3, 1.7)])
def test_ridgeless_root_in_closed_form(alpha: float, psi: float) -> None:
    m1, ms, rank = 0.3, 0.2, min(alpha, psi)
    found = risk(
        samples_ratio=alpha, width_ratio=psi, ridge=0, linear_features=m1, nonlinear_features=ms
    )
    linear = rank * m1 - m1 - ms
    root = (-linear + math.sqrt(linear**2 + 4 * rank * m1 * ms)) / (2 * rank)
    assert found.nu2 == pytest.approx(root, rel=1e-12)
    assert found.nu1 == pytest.approx(max(0, 1 - alpha / psi) * root, rel=1e-12)
    expected = (max(0, alpha - psi) / alpha) ** 2 * found.test_error
    assert found.train_error == pytest.approx(expected, rel=1e-12)


def test_peak_is_infinite() -> None:
    found = risk(samples_ratio=2, width_ratio=2, ridge=0, noise=0.1, **features("relu"))
    assert found.test_error == math.inf
    assert found.train_error == 0


def test_near_the_peak() -> None:
    sizes = {"samples_ratio": 2, "width_ratio": 2, "ridge": 1e-3, "nonlinear_target": 1.0}
    assert risk(**sizes, **features("z + 0.5*He2(z)")).test_error == pytest.approx(18.77, abs=5e-3)


def test_erf_and_sine() -> None:
    shape = {"linear_target": 0.36787944, "nonlinear_target": 0.06445292, "noise": 0.2}
    expected = {0: (0.794696, None), 0.01: (0.597801, 0.007409), 1: (0.331269, 0.302215)}
    for ridge, (test_error, train_error) in expected.items():
        found = risk(samples_ratio=1, width_ratio=2, ridge=ridge, **shape, **features("erf"))
        assert found.test_error == pytest.approx(test_error, abs=1e-6)
        assert train_error is None or found.train_error == pytest.approx(train_error, abs=1e-6)


def test_tanh_and_relu() -> None:
    shape = {"linear_target": 0.25, "nonlinear_target": 0.5 - 0.25 - 1 / (2 * math.pi)}
    expected = {0: 0.236316, 0.1: 0.168639, 1: 0.209996}
    for ridge, test_error in expected.items():
        found = risk(samples_ratio=3, width_ratio=1.5, ridge=ridge, **shape, **features("tanh"))
        assert found.test_error == pytest.approx(test_error, abs=1e-6)
        assert ridge or found.train_error == pytest.approx(0.059079, abs=1e-6)


@pytest.mark.parametrize(
    ("name", "constant", "expected"),
    [
        ("tanh", 0.0, (1.32352, 0.97343, 1.07773)),
        ("z + 0.7*He2(z)", 0.98, (2.79850, 1.82699, 1.11767)),
        ("z + 0.7*He2(z)", 0.0, (3.67822, 2.39842, 1.40381)),
    ],
)
def test_mean_of_the_target(name: str, constant: float, expected: tuple[float, ...]) -> None:
    for ridge, test_error in zip((0.01, 0.1, 1), expected, strict=True):
        sizes = {"samples_ratio": 2, "width_ratio": 1.5, "ridge": ridge, "noise": 0.05}
        found = risk(**sizes, mean=0.7, constant=constant, **features(name))
        assert found.test_error == pytest.approx(test_error, abs=6e-6)


def test_kernel_limit() -> None:
    exp = kernel("exp")
    shape = {"linear_features": exp.power(1), "nonlinear_features": exp.total_above(1)}
    sizes = {"samples_ratio": 1, "width_ratio": math.inf, "ridge": 0.01, "noise": 0.01}
    assert risk(**sizes, **shape).test_error == pytest.approx(0.394814, abs=1e-6)
    found = risk(**sizes, **shape, linear_target=0.0, nonlinear_target=1.0)
    assert found.test_error == pytest.approx(1.237471, abs=1e-6)
    wide = risk(**{**sizes, "width_ratio": 1e9}, **shape)
    assert wide.test_error == pytest.approx(risk(**sizes, **shape).test_error, abs=1e-8)


def test_gradient_of_the_reference_point() -> None:
    point = {
        "samples_ratio": 2.0,
        "width_ratio": 1.0,
        "ridge": 0.1,
        "noise": 0.1,
        **features("relu"),
    }
    point |= {"linear_target": 1.0, "nonlinear_target": 1.0, "mean": 0.0, "constant": 1.0}
    with float64():
        found = jax.device_get(slopes(point))
    names = (
        "samples_ratio",
        "width_ratio",
        "ridge",
        "linear_features",
        "nonlinear_features",
        "noise",
    )
    expected = (-0.2083407, -0.1755883, -2.8506024, -0.2459803, 3.8147953, 0.3962127)
    assert [float(found[name]) for name in names] == pytest.approx(expected, abs=1e-6)


def random_point(rng: np.random.Generator) -> dict[str, float]:
    drawn = np.exp(rng.uniform(-1.5, 1.5, len(NUMBERS)))
    return dict(zip(NUMBERS, map(float, drawn), strict=True))


def test_gradients_are_those_of_central_differences() -> None:
    """In all ten numbers at twenty random settings."""
    rng = np.random.default_rng(4)
    for _ in range(20):
        point = random_point(rng)
        with float64():
            found = jax.device_get(slopes(point))
        for name, value in point.items():
            step = 1e-4 * value
            # Richardson's extrapolation: the error of the difference itself is 1e-14 or so.
            wide, narrow = (
                (
                    risk(**{**point, name: value + h}).test_error
                    - risk(**{**point, name: value - h}).test_error
                )
                / (2 * h)
                for h in (2 * step, step)
            )
            difference = (4 * narrow - wide) / 3
            assert found[name] == pytest.approx(difference, rel=1e-6, abs=1e-6)


positive = st.floats(-4.0, 3.0).map(lambda x: float(np.exp(x)))


@settings(max_examples=200)
@given(st.tuples(*[positive] * 8), st.sampled_from([0.0, 1.0, math.inf]))
def test_invariants(numbers: tuple[float, ...], constant: float) -> None:
    point = {**dict(zip(NUMBERS, numbers, strict=False)), "constant": constant, "mean": 0.5}
    found = risk(**point)
    alpha, psi, ridge, noise = (point[name] for name in NUMBERS[:4])
    noisy = found.test_error + noise
    assert 0 <= found.upsilon < 1
    assert found.test_error >= point["nonlinear_target"] * (1 - 1e-12)
    assert found.train_error <= noisy * (1 + 1e-12)
    assert alpha * found.degrees_of_freedom <= min(alpha, psi) * (1 + 1e-9)
    assert found.bias + found.variance == pytest.approx(found.test_error, rel=1e-9, abs=1e-12)
    gcv = (1 - found.degrees_of_freedom) ** 2 * noisy
    assert found.train_error == pytest.approx(gcv, rel=1e-6, abs=1e-12)
    penalty = ridge * found.norm
    assert found.objective == pytest.approx(found.train_error + penalty, rel=1e-9)


@settings(max_examples=50)
@given(st.tuples(*[positive] * 8))
def test_scaling_features_scales_the_ridge(numbers: tuple[float, ...]) -> None:
    point = dict(zip(NUMBERS, numbers, strict=False))
    scaled = dict(point)
    for name in ("ridge", "linear_features", "nonlinear_features"):
        scaled[name] *= 7.0
    assert risk(**scaled).test_error == pytest.approx(risk(**point).test_error, rel=1e-10)


def test_thousands_of_ridges_in_one_call_without_recompilation() -> None:
    traced = []

    @jax.jit
    def curve(ridges: jax.Array, alpha: jax.Array) -> jax.Array:
        traced.append(1)
        shape = {"linear_features": 0.25, "nonlinear_features": 0.09}
        energies = {"linear_target": 1.0, "nonlinear_target": 1.0}
        one = jax.vmap(lambda x: proportional_risk(alpha, 1.0, x, 0.1, **shape, **energies))
        return one(ridges).test_error

    with float64():
        first = curve(jnp.geomspace(1e-4, 10, 2000), jnp.asarray(2.0))
        second = curve(jnp.geomspace(1e-3, 1, 2000), jnp.asarray(3.0))
    assert len(traced) == 1
    assert first.shape == second.shape == (2000,)
