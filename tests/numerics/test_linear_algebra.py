"""Elimination against LAPACK, on graded matrices too."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from giantstep.numerics.float64 import float64
from giantstep.numerics.linear_algebra import dominant_solve, inverse_form


@pytest.mark.parametrize("grade", [0, 12])
def test_inverse_form(grade: int) -> None:
    """Also where rows and columns range over twenty-four orders of magnitude."""
    rng = np.random.default_rng(0)
    half = rng.standard_normal((12, 12))
    scale = np.logspace(-grade, grade, 12)
    matrix = scale[:, None] * (half @ half.T + np.eye(12)) * scale
    sides = scale[:, None] * rng.standard_normal((12, 5))
    with float64():
        found = np.asarray(inverse_form(jnp.asarray(matrix), jnp.asarray(sides)))
    plain = sides / scale[:, None]
    expected = plain.T @ np.linalg.solve(half @ half.T + np.eye(12), plain)
    assert found == pytest.approx(expected, rel=1e-10, abs=1e-10)


def test_dominant_solve() -> None:
    rng = np.random.default_rng(1)
    matrix = np.eye(20) - 0.9 * rng.dirichlet(np.ones(20), 20)
    right = rng.standard_normal(20)
    with float64():
        found = np.asarray(dominant_solve(jnp.asarray(matrix), jnp.asarray(right)))
    assert found == pytest.approx(np.linalg.solve(matrix, right), rel=1e-11)


def test_batches_and_gradients() -> None:
    rng = np.random.default_rng(2)
    half = rng.standard_normal((6, 4, 4))
    matrices = half @ half.transpose(0, 2, 1) + np.eye(4)
    with float64():
        found = jax.jit(jax.vmap(lambda m: inverse_form(m, jnp.eye(4))))(jnp.asarray(matrices))
        trace = jax.jit(jax.grad(lambda m: jnp.trace(inverse_form(m, jnp.eye(4)))))
        slope = trace(jnp.asarray(matrices[0]))
    inverses = np.linalg.inv(matrices)
    assert np.asarray(found) == pytest.approx(inverses, rel=1e-11)
    symmetric = np.asarray(slope + slope.T) / 2
    assert symmetric == pytest.approx(-(inverses[0] @ inverses[0]), rel=1e-10)
