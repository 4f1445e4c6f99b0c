from __future__ import annotations

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from giantstep.numerics.arrays import iterate
from giantstep.numerics.fixed_point import bisect, fixed_point, implicit_fixed_point
from giantstep.numerics.float64 import float64, in_float64


def test_a_point_that_diverges_says_so() -> None:
    with float64():
        found = fixed_point(lambda x: 2 * x + 1, jnp.asarray(1.0), max_iterations=50)
        broken = fixed_point(lambda x: x * jnp.nan, jnp.asarray(1.0))
    assert not bool(found.converged)
    assert not bool(broken.converged)


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
        assert not bisect(lambda x, t: jnp.tanh(x) - t, -20.0, 20.0, level).converged


def test_the_numpy_twin_says_so_too() -> None:
    with np.errstate(over="ignore", invalid="ignore"):
        assert not iterate(lambda x: x * np.nan, np.ones(2))[2]
        assert not iterate(lambda x: x**3, np.full(2, 2.0))[2]


def test_the_flag_outside_is_left_alone() -> None:
    before = jax.config.jax_enable_x64

    @in_float64
    def dtype() -> str:
        return str(jnp.ones(2).dtype)

    assert dtype() == "float64"
    assert jax.config.jax_enable_x64 == before
