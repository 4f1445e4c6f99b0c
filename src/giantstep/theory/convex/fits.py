"""The proximal fit of one sample, and quadrature split where it bends.

Logistic and hinge loss in the margin, and losses given as expressions by their output after it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.nn import sigmoid, softplus
from jaxtyping import Array, Float

from giantstep.language.losses import ASIDE, Loss
from giantstep.numerics.quadrature import CUTOFF
from giantstep.numerics.solve import halved

#: Gauss-Legendre nodes of a panel, and where panels end in units of the range of the fields: the
#: middle ones are one standard deviation long.
PANEL_ORDER = 16
PANEL_EDGES = np.array([-1, -5 / 9, -5 / 18, -1 / 9, 0, 1 / 9, 5 / 18, 5 / 9, 1])
#: Outputs closer than this, relatively, are one output, at a kink.
ONE_OUTPUT = 1e-9
_UNIT, _MASS = (
    np.asarray(rule)[None, None, :] / 2 for rule in np.polynomial.legendre.leggauss(PANEL_ORDER)
)


class Fits(NamedTuple):
    """For each label, nodes in the field w + b with their weights, and the fit of each.

    ``force`` is (prox(u) - u)/V, ``stiffness`` minus its slope in the field u, ``loss`` what is
    left after the fit.
    """

    fields: Float[Array, "labels nodes"]
    weights: Float[Array, "labels nodes"]
    force: Float[Array, "labels nodes"]
    stiffness: Float[Array, "labels nodes"]
    loss: Float[Array, "labels nodes"]


def fits_between(loss: Loss, y: Any, kinks: Any, v: Any, middle: Any, reach: Any) -> Fits:
    """Nodes in the fields of ``middle`` +- ``reach``, in panels that end where the fit bends.

    With t = prox(u) the field is u = t + V l'(t), so that nodes in t need no proximal step but at
    the ends of panels: the force is -l'(t), its stiffness l''/(1 + V l''), and du = (1 + V l'') dt.
    While u runs from k + V l'(k-) to k + V l'(k+), the output stays at the kink k, the force is
    (k - u)/V, and nodes are in u. Panels are laid out in u: where V is large, all fields of a
    steep loss share a short range of t, which panels in t would miss.
    """
    label = y[:, None]
    u_ends = lax.stop_gradient(middle[:, None] + reach * PANEL_EDGES[None, :])
    t_ends = lax.stop_gradient(loss.proximal(label, u_ends, v))
    within = jnp.clip(kinks, t_ends[:, :1], t_ends[:, -1:])
    aside = ASIDE * (1 + jnp.abs(within))
    sides = [within + v * loss.slope(label, within + side) for side in (-aside, aside)]
    sides = [jnp.clip(side, u_ends[:, :1], u_ends[:, -1:]) for side in sides]
    # The output grows with the field, so that sorting each keeps them together.
    u_start, u_length = _panels(jnp.concatenate([u_ends, *sides], axis=1))
    t_start, t_length = _panels(jnp.concatenate([t_ends, within, within], axis=1))
    held = t_length <= ONE_OUTPUT * (1 + jnp.abs(t_start))

    t = t_start + t_length * (_UNIT + 0.5)
    slope, curvature = loss.slope(label[:, :, None], t), loss.curvature(label[:, :, None], t)
    stretch = 1 + v * curvature
    u_held = u_start + u_length * (_UNIT + 0.5)
    fits = Fits(
        jnp.where(held, u_held, t + v * slope),
        jnp.where(held, u_length, t_length * stretch) * _MASS,
        jnp.where(held, (t - u_held) / v, -slope),
        jnp.where(held, 1 / v, curvature / stretch),
        loss.value(label[:, :, None], t),
    )
    return Fits(*(part.reshape(len(y), -1) for part in fits))


def _panels(ends: Any) -> tuple[Any, Any]:
    """Where each panel starts, and its length, with an axis for its nodes."""
    ends = jnp.sort(ends, axis=1)
    return ends[:, :-1, None], jnp.diff(ends, axis=1)[:, :, None]


#: Gauss-Legendre nodes of one of the three segments of the margin.
SEGMENT_ORDER = 64
#: Halvings that bring the bracket [u, u + V] below 1/2 for V up to 1e9.
HALVINGS = 31
NEWTON_STEPS = 5
_SEGMENT_UNIT, _SEGMENT_MASS = (
    np.asarray(rule) / 2 for rule in np.polynomial.legendre.leggauss(SEGMENT_ORDER)
)


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

    def is_above(t: Any) -> Any:
        return t - fixed_u > fixed_v * sigmoid(-t)

    def newton(_: Any, t: Any) -> Any:
        return _newton_step(t, fixed_u, fixed_v)

    low, high = halved(is_above, fixed_u, fixed_u + fixed_v, HALVINGS)
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
    nodes = start[:, :, None] + length[:, :, None] * (_SEGMENT_UNIT + 0.5)[None, None, :]
    weights = length[:, :, None] * _SEGMENT_MASS[None, None, :]
    everywhere, missed = (
        np.array(kind)[None, :, None] for kind in ([1.0, 1, 1, 0], [0.0, 0, 0, 1])
    )
    flat = (len(signs), -1)
    return (
        nodes.reshape(flat),
        (everywhere * weights).reshape(flat),
        (missed * weights).reshape(flat),
    )
