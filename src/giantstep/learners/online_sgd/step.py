r"""One step of online SGD in JAX: the same code for real vectors and exactly in law.

Rows are known by their coordinates A in an orthonormal frame whose first r directions are the
target's; directly, the frame is all of R^d. A batch has coordinates Z in the frame, and moves D.
Outside the frame :math:`D^T X` has the law of F T, with F F^T = D^T D and T a Bartlett factor of
d - s degrees of freedom (for one sample: D times the length of its part outside). Hence

.. math::
    A \leftarrow [\,A + \gamma(\overline{D Z^T} - \overline{D H}\,A)\;,\; \gamma F T/n_b\,],

the term in D H on the sphere alone, where rows are then divided by their norms. Only the Gram
matrix of what lies beyond the target's directions matters: p columns hold it.
"""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from giantstep.learners.online_sgd.plan import Constants, SgdRule


class SgdState(NamedTuple):
    """Rows of each run in their frame, (runs, p, s), and the step at which each run got out."""

    rows: Any
    exits: Any


@functools.partial(jax.jit, static_argnums=0)
def take_sgd_steps(
    rule: SgdRule,
    constants: Constants,
    state: SgdState,
    normals: Float[Array, "runs chunk batch n"],
    factors: Float[Array, "runs chunk k k"],
    first: Any,
    count: Any,
) -> SgdState:
    """Take ``count`` steps with the batches of a chunk; ``first`` is the number of the first."""

    def body(number: Any, state: SgdState) -> SgdState:
        each = jax.vmap(functools.partial(_sgd_step, rule, constants))
        rows = each(state.rows, normals[:, number], factors[:, number])
        if not rule.until:
            return SgdState(rows, state.exits)
        rank = rule.target.rank
        squares = jnp.sum(rows**2, axis=-1)
        cosines = jnp.sum(rows[..., :rank] ** 2, axis=-1) / squares
        out = jnp.max(cosines, axis=-1) >= constants.until**2
        step = jnp.asarray(first + number + 1, state.exits.dtype)
        return SgdState(rows, jnp.where(out & (state.exits < 0), step, state.exits))

    return jax.lax.fori_loop(0, count, body, state)


def _sgd_step(
    rule: SgdRule,
    constants: Constants,
    rows: Float[Array, "p s"],
    normals: Float[Array, "batch n"],
    factor: Float[Array, "k k"],
) -> Float[Array, "p s"]:
    target, batch = rule.target, normals.shape[0]
    columns = rows.shape[1]
    inputs, inner = normals[:, :columns], normals[:, columns:-1]
    clean = jnp.broadcast_to(target.jax(inputs[:, : target.rank], inner), (batch,))
    labels = clean.astype(rows.dtype) + jnp.sqrt(constants.noise) * normals[:, -1]
    fields = _sgd_product(inputs, rows.T)
    squares = jnp.sum(inputs**2, axis=1)
    if rule.outside:
        squares = squares + factor[0, 0] ** 2
    moves = _sgd_moves(rule, constants, labels, fields, squares)
    pull = _sgd_product(moves.T, inputs) / batch
    if rule.geometry == "sphere":
        pull = pull - jnp.mean(moves * fields, axis=0)[:, None] * rows
    rows = rows + constants.gain * pull
    if rule.outside:
        beyond = _sgd_product(_sgd_gram_factor(moves.T), factor) * (constants.gain / batch)
        rows = jnp.concatenate([rows, beyond], axis=1)
    if rule.geometry == "sphere":
        rows = rows / jnp.sqrt(jnp.sum(rows**2, axis=1))[:, None]
    if not rule.outside:
        return rows
    rest = _sgd_gram_factor(rows[:, target.rank :])
    return jnp.concatenate([rows[:, : target.rank], rest], axis=1)


def _sgd_moves(
    rule: SgdRule,
    constants: Constants,
    labels: Float[Array, " batch"],
    fields: Float[Array, "batch p"],
    squares: Float[Array, " batch"],
) -> Float[Array, "batch p"]:
    """D, neuron by neuron."""
    sigma, readout = rule.activation, constants.readout
    if rule.loss == "square":
        output = jnp.sum(sigma.jax(fields) * readout[None, :], axis=1) / readout.shape[0]
        return (labels - output)[:, None] * readout[None, :] * sigma.derivative(fields)
    pull = labels[:, None] * readout[None, :]
    if rule.looks_ahead:
        ahead = constants.lookahead * (squares / constants.dim)[:, None]
        fields = fields + ahead * pull * sigma.derivative(fields)
    return pull * sigma.derivative(fields)


def _sgd_product(left: Float[Array, "a b"], right: Float[Array, "b c"]) -> Float[Array, "a c"]:
    """A product whose inner size may be 1: no matrix product is called then."""
    return left * right if left.shape[1] == right.shape[0] == 1 else left @ right


def _sgd_gram_factor(matrix: Float[Array, "p k"]) -> Float[Array, "p q"]:
    """A factor of the same Gram matrix with min(p, k) columns."""
    rows, columns = matrix.shape
    if columns == 1:
        return matrix
    if rows == 1:
        return jnp.sqrt(jnp.sum(matrix**2, axis=1, keepdims=True))
    if columns < rows:
        return matrix
    return jnp.linalg.qr(matrix.T, mode="r").T
