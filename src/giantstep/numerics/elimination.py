"""Small linear systems by plain elimination: no LAPACK, so they batch and never wait for a thread.

A batch of triangular solves, or several of them at once, can hang in XLA's thread pool on a CPU of
two cores (jaxlib 0.10). The matrices here need no pivoting, and elimination is then a short loop.
"""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float


def inverse_form(matrix: Float[Array, "n n"], sides: Float[Array, "n m"]) -> Float[Array, "m m"]:
    r"""B^T M^-1 B for a symmetric positive definite M, as a sum of squares.

    With M = L D L^T and Y = L^-1 B it is Y^T D^-1 Y: elimination turns (M, B) into (D L^T, Y). A
    diagonal scaling of M drops out, so that M may range over many orders of magnitude.

    >>> form = inverse_form(jnp.array([[2.0, 1.0], [1.0, 3.0]]), jnp.eye(2))
    >>> [round(float(value), 6) for value in form[0]]
    [0.6, -0.2]
    """
    size = matrix.shape[0]
    below = jnp.arange(size)

    def eliminate(k: Any, system: Any) -> Any:
        row = system[k]
        share = jnp.where(below > k, system[:, k] / row[k], 0.0)
        return system - share[:, None] * row[None, :]

    system = lax.fori_loop(0, size, eliminate, jnp.concatenate([matrix, sides], axis=1))
    reduced = system[:, size:]
    return reduced.T @ (reduced / jnp.diag(system[:, :size])[:, None])


def dominant_solve(matrix: Float[Array, "n n"], right: Float[Array, " n"]) -> Float[Array, " n"]:
    """The solution of M x = b by Gauss and Jordan's elimination, without pivoting.

    For M = 1 - A with A >= 0 of spectral radius below 1, whose pivots are positive.

    >>> solution = dominant_solve(jnp.array([[1.0, -0.5], [0.0, 1.0]]), jnp.ones(2))
    >>> [round(float(x), 6) for x in solution]
    [1.5, 1.0]
    """
    size = matrix.shape[0]
    others = jnp.arange(size)

    def eliminate(k: Any, system: Any) -> Any:
        row = system[k] / system[k, k]
        share = jnp.where(others == k, 0.0, system[:, k])
        return (system - share[:, None] * row[None, :]).at[k].set(row)

    system = jnp.concatenate([matrix, right[:, None]], axis=1)
    return lax.fori_loop(0, size, eliminate, system)[:, size]
