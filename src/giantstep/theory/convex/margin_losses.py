"""Logistic and hinge loss: the proximal fit of one sample, and quadrature split at its kinks."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.nn import sigmoid, softplus
from jaxtyping import Array, Float

from giantstep.numerics.quadrature import CUTOFF

#: Gauss-Legendre nodes of one of the three segments of the margin.
SEGMENT_ORDER = 64
#: Halvings that bring the bracket [u, u + V] below 1/2 for V up to 1e9.
HALVINGS = 31
NEWTON_STEPS = 5
_UNIT, _MASS = (np.asarray(rule) / 2 for rule in np.polynomial.legendre.leggauss(SEGMENT_ORDER))


class Fit(NamedTuple):
    """Of a sample with margin u before the fit: its force, minus its slope, and its loss after."""

    force: Float[Array, " ..."]
    stiffness: Float[Array, " ..."]
    loss: Float[Array, " ..."]


def proximal_step(loss: str, u: Any, v: Any) -> Fit:
    """The proximal step at margin u = y w: force (prox(u) - u)/V, minus its slope in u, loss."""
    if loss == "hinge":
        force = jnp.clip((1 - u) / v, 0.0, 1.0)
        inside = (u > 1 - v) & (u < 1)
        return Fit(force, jnp.where(inside, 1 / v, 0.0), jnp.maximum(1 - u - v * force, 0.0))
    after = _logistic_prox(u, v)
    force = sigmoid(-after)
    curvature = force * (1 - force)
    return Fit(force, curvature / (1 + v * curvature), softplus(-after))


def _logistic_prox(u: Any, v: Any) -> Any:
    """The root t of t - u = V sigmoid(-t), bracketed, then sharpened by Newton's method.

    From half a unit away Newton's method converges: the second derivative never exceeds the first.
    """
    fixed_u, fixed_v = lax.stop_gradient(u), lax.stop_gradient(v)

    def halve(_: Any, bracket: tuple[Any, Any]) -> tuple[Any, Any]:
        low, high = bracket
        middle = (low + high) / 2
        above = middle - fixed_u > fixed_v * sigmoid(-middle)
        return jnp.where(above, low, middle), jnp.where(above, middle, high)

    def newton(_: Any, t: Any) -> Any:
        return _newton_step(t, fixed_u, fixed_v)

    low, high = lax.fori_loop(0, HALVINGS, halve, (fixed_u, fixed_u + fixed_v))
    root = lax.fori_loop(0, NEWTON_STEPS, newton, (low + high) / 2)
    return _newton_step(lax.stop_gradient(root), u, v)


def _newton_step(t: Any, u: Any, v: Any) -> Any:
    force = sigmoid(-t)
    return t - (t - u - v * force) / (1 + v * force * (1 - force))


def margin_rule(v: Any, q: Any, b: Any, signs: Any) -> tuple[Any, Any, Any]:
    """Nodes in the margin u = y (w + b) for each label, split where the loss bends.

    Returns the nodes, the weights of an average over the fields, and those of an average over the
    fields of the wrong sign.
    """
    reach = CUTOFF * jnp.sqrt(q)
    low, high = signs * b - reach, signs * b + reach
    bends = [jnp.clip(bend, low, high) for bend in (1 - v, jnp.ones_like(v), jnp.zeros_like(v))]
    start = jnp.stack([low, bends[0], bends[1], low], axis=1)
    length = jnp.stack([bends[0], bends[1], high, bends[2]], axis=1) - start
    nodes = start[:, :, None] + length[:, :, None] * (_UNIT + 0.5)[None, None, :]
    weights = length[:, :, None] * _MASS[None, None, :]
    everywhere, missed = (
        np.array(kind)[None, :, None] for kind in ([1.0, 1, 1, 0], [0.0, 0, 0, 1])
    )
    flat = (len(signs), -1)
    return (
        nodes.reshape(flat),
        (everywhere * weights).reshape(flat),
        (missed * weights).reshape(flat),
    )
