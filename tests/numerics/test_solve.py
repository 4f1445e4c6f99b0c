"""Roots and fixed points: their numbers and derivatives, and how they say that they failed."""

from __future__ import annotations

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from giantstep.numerics.float64 import float64, in_float64
from giantstep.numerics.solve import (
    Ending,
    bisect,
    bracketed_root,
    bracketed_roots,
    fixed_point,
    implicit_fixed_point,
    iterated_fixed_point,
    linear_responses,
)


def test_a_point_that_diverges_says_so() -> None:
    with float64():
        found = fixed_point(lambda x: 2 * x + 1, jnp.asarray(1.0), max_iterations=50)
        broken = fixed_point(lambda x: x * jnp.nan, jnp.asarray(1.0))
    assert found.status == Ending.TOO_MANY_ITERATIONS
    assert broken.status == Ending.NOT_FINITE


def test_damping_reaches_what_plain_iteration_does_not() -> None:
    def f(x: jax.Array) -> jax.Array:
        return 3.0 / x

    with float64():
        plain = fixed_point(f, jnp.asarray(1.0), max_iterations=200)
        damped = fixed_point(f, jnp.asarray(1.0), damping=0.5)
    assert not bool(plain.converged)
    assert float(damped.value) == pytest.approx(np.sqrt(3), abs=1e-10)


def test_gradients_are_those_of_the_implicit_function() -> None:
    def solve(theta: jax.Array) -> jax.Array:
        found = implicit_fixed_point(
            lambda x, t: {"u": jnp.cos(t * x["u"]) + 0.1 * x["v"], "v": jnp.sin(x["u"])},
            theta,
            {"u": jnp.asarray(0.5), "v": jnp.asarray(0.1)},
            damping=0.7,
        )
        return found.value["u"] * found.value["v"]

    with float64():
        slope = float(jax.grad(solve)(0.8))
        step = 1e-5
        central = float(solve(jnp.asarray(0.8 + step)) - solve(jnp.asarray(0.8 - step)))
    assert slope == pytest.approx(central / (2 * step), rel=1e-7)


def test_bisection_runs_under_vmap() -> None:
    with float64():
        found = jax.vmap(lambda t: bisect(lambda x, t: jnp.tanh(x) - t, -20.0, 20.0, t))(
            jnp.linspace(-0.9, 0.9, 7)
        )
    assert found.converged.all()
    # A bisection knows its root to the rounding of its ends.
    rounding = 2 * np.spacing(20.0)
    np.testing.assert_allclose(
        np.tanh(found.value), np.linspace(-0.9, 0.9, 7), rtol=0, atol=rounding
    )


@pytest.mark.parametrize("level", [1.5, -1.5, math.nan])
def test_bisection_without_a_bracket_has_not_converged(level: float) -> None:
    with float64():
        found = bisect(lambda x, t: jnp.tanh(x) - t, -20.0, 20.0, level)
    assert found.status == Ending.NO_BRACKET


def test_iterations_in_numpy_say_so_too() -> None:
    with np.errstate(over="ignore", invalid="ignore"):
        assert iterated_fixed_point(lambda x: x * np.nan, np.ones(2)).status == Ending.NOT_FINITE
        assert not iterated_fixed_point(lambda x: x**3, np.full(2, 2.0)).converged
    slow = iterated_fixed_point(lambda x: x / 2 + 1, np.zeros(1), max_iterations=3)
    assert (slow.status, slow.iterations) == (Ending.TOO_MANY_ITERATIONS, 3)
    assert slow.residual == pytest.approx(0.25 / 2.75)


def test_the_flag_outside_is_left_alone() -> None:
    before = jax.config.jax_enable_x64

    @in_float64
    def dtype() -> str:
        return str(jnp.ones(2).dtype)

    assert dtype() == "float64"
    assert jax.config.jax_enable_x64 == before


def test_second_derivative() -> None:
    """x = t + x^2/4 has x = 2 - 2 sqrt(1 - t), x'' = (1 - t)^(-3/2) / 2."""
    with float64():

        def root(t: jax.Array) -> jax.Array:
            return implicit_fixed_point(lambda x, t: t + x**2 / 4, t, jnp.asarray(0.0)).value

        found = float(jax.jit(jax.grad(jax.grad(root)))(0.5))
    assert found == pytest.approx(0.5**-1.5 / 2, rel=1e-9)


def test_divergence_is_reported() -> None:
    with float64():
        found = implicit_fixed_point(
            lambda x, t: t * x + 1, jnp.asarray(2.0), jnp.asarray(0.3), max_iterations=50
        )
    assert not found.converged


def test_finds_the_root() -> None:
    root = bracketed_root(math.cos, 1.0, 2.0)
    assert root.converged
    assert root.value == pytest.approx(math.pi / 2, rel=1e-12)


@pytest.mark.parametrize("end", [0.0, 2.0])
def test_an_end_may_be_the_root(end: float) -> None:
    assert bracketed_root(lambda x: x - end, 0.0, 2.0) == (end, 0.0, 0, Ending.CONVERGED)


@pytest.mark.parametrize(
    ("function", "status"),
    [
        (lambda x: 1 + x**2, Ending.NO_BRACKET),
        (lambda x: math.nan, Ending.NOT_FINITE),
        (lambda x: math.nan if x > 0 else -1.0, Ending.NOT_FINITE),
        (lambda x: math.nan if 0 < x < 2 else x - 1, Ending.NOT_FINITE),
    ],
    ids=["same sign", "NaN", "NaN at one end", "NaN on the way"],
)
def test_no_bracket_is_no_number(function: object, status: Ending) -> None:
    root = bracketed_root(function, 0.0, 2.0)  # type: ignore[arg-type]
    assert math.isnan(root.value)
    assert root.status == status


def test_each_bracket_has_its_own_status() -> None:
    found = bracketed_roots(
        lambda x, a: np.where(a < 0, np.nan, x**2 - a),
        np.zeros(3),
        np.full(3, 2.0),
        np.array([2.0, 9.0, -1.0]),
    )
    assert found.status.tolist() == [Ending.CONVERGED, Ending.NO_BRACKET, Ending.NOT_FINITE]
    assert found.value[0] == pytest.approx(np.sqrt(2), rel=1e-15)
    assert np.isnan(found.value[1:]).all()


def test_a_root_at_zero_is_not_sought_beyond_rounding_of_its_bracket() -> None:
    """At a jump nothing but halves of the bracket leads on: 52 of them come to its rounding."""
    low, high = np.array([-0.003, 0.998]), np.array([0.002, 1.003])
    found = bracketed_roots(lambda x, jump: np.sign(x - jump), low, high, np.array([0.0, 1.0]))
    assert found.converged.all()
    assert np.max(found.iterations) <= 60
    np.testing.assert_allclose(found.value, [0, 1], rtol=1e-15, atol=2e-18)


def test_anderson_finds_the_fixed_point_of_a_stiff_map_sooner() -> None:
    def stiff(x: np.ndarray) -> np.ndarray:
        return np.cos(np.array([1.0, 0.9, 0.5]) * x[::-1]) / (1 + x**2)

    plain = iterated_fixed_point(lambda x: (x + stiff(x)) / 2, np.full(3, 0.5))
    anderson = iterated_fixed_point(stiff, np.full(3, 0.5), memory=5)
    assert plain.converged
    assert anderson.converged
    assert anderson.iterations < plain.iterations
    np.testing.assert_allclose(anderson.value, plain.value, atol=1e-9)
    np.testing.assert_allclose(stiff(plain.value), plain.value, atol=1e-9)


def test_responses_of_many_systems_or_none() -> None:
    """Each to its own tolerance; one that has no solution, and one without a source."""
    matrices = np.random.default_rng(3).normal(size=(3, 12, 12)) / 8
    matrices[1], sources = np.eye(12), np.ones((3, 12))
    sources[2] = 0.0

    def image(x: np.ndarray) -> np.ndarray:
        return (matrices @ x[..., None])[..., 0]

    found = linear_responses(image, sources, np.array([1e-12, 1e-12, 1e-3]))
    expected = np.linalg.solve(np.eye(12) - matrices[0], sources[0])
    np.testing.assert_allclose(found[0], expected, rtol=1e-10)
    assert np.all(np.isnan(found[1]))
    assert np.all(found[2] == 0)
