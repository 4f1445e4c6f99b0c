"""The proximal fit of one sample by its output, and quadrature split where it bends."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float

from giantstep.language.losses import ASIDE, Loss
from giantstep.numerics.quadrature import CUTOFF, gauss_legendre

#: Gauss-Legendre nodes of a panel, and where panels end in units of the range of the fields: the
#: middle ones are one standard deviation long.
PANEL_ORDER = 16
PANEL_EDGES = np.array([-1, -5 / 9, -5 / 18, -1 / 9, 0, 1 / 9, 5 / 18, 5 / 9, 1])
#: Outputs closer than this, relatively, are one output, at a kink.
ONE_OUTPUT = 1e-9
_UNIT, _MASS = (rule[None, None] / 2 for rule in gauss_legendre(PANEL_ORDER))


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


def expected_fit_nodes(loss: Loss, y: Any, kinks: Any, v: Any, middle: Any, reach: Any) -> Fits:
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
    u_start, u_length = _expected_fit_panels(jnp.concatenate([u_ends, *sides], axis=1))
    t_start, t_length = _expected_fit_panels(jnp.concatenate([t_ends, within, within], axis=1))
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


def _expected_fit_panels(ends: Any) -> tuple[Any, Any]:
    """Where each panel starts, and its length, with an axis for its nodes."""
    ends = jnp.sort(ends, axis=1)
    return ends[:, :-1, None], jnp.diff(ends, axis=1)[:, :, None]


#: Gauss-Legendre nodes below a margin of 0.
MISSED_ORDER = 64
_MISSED_UNIT, _MISSED_MASS = (rule[None] / 2 for rule in gauss_legendre(MISSED_ORDER))


def expected_missed_margins(q: Any, b: Any, signs: Any) -> tuple[Any, Any]:
    """Nodes and weights in the margin u = y (w + b) of each label where it is below 0."""
    low, high = (signs * b + side * CUTOFF * jnp.sqrt(q) for side in (-1, 1))
    length = (jnp.clip(0.0, low, high) - low)[:, None]
    return low[:, None] + length * (_MISSED_UNIT + 0.5), length * _MISSED_MASS
