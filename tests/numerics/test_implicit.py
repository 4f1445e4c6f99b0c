"""Fixed points with lazily compiled derivatives."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import pytest

from giantstep.numerics.fixed_point import implicit_fixed_point
from giantstep.numerics.float64 import float64
from giantstep.numerics.implicit import lazy_fixed_point


def halfway(x: dict[str, jax.Array], t: jax.Array) -> dict[str, jax.Array]:
    return {"a": jnp.cos(t * x["b"]), "b": (x["a"] + x["b"]) / 2}


def test_value_and_gradient_are_those_of_the_newton_step() -> None:
    with float64():
        start = {"a": jnp.asarray(0.5), "b": jnp.asarray(0.5)}
        values, slopes = zip(
            *(
                jax.jit(jax.value_and_grad(lambda t, f=f: f(halfway, t, start).value["a"]))(1.3)
                for f in (lazy_fixed_point, implicit_fixed_point)
            ),
            strict=True,
        )
    assert float(values[0]) == pytest.approx(float(values[1]), abs=1e-10)
    assert float(slopes[0]) == pytest.approx(float(slopes[1]), abs=1e-9)


def test_second_derivative() -> None:
    """x = t + x^2/4 has x = 2 - 2 sqrt(1 - t), x'' = (1 - t)^(-3/2) / 2."""
    with float64():

        def root(t: jax.Array) -> jax.Array:
            return lazy_fixed_point(lambda x, t: t + x**2 / 4, t, jnp.asarray(0.0)).value

        found = float(jax.jit(jax.grad(jax.grad(root)))(0.5))
    assert found == pytest.approx(0.5**-1.5 / 2, rel=1e-9)


def test_divergence_is_reported() -> None:
    with float64():
        found = lazy_fixed_point(
            lambda x, t: t * x + 1, jnp.asarray(2.0), jnp.asarray(0.3), max_iterations=50
        )
    assert not found.converged
