"""Losses given as expressions: fields of a sample by its output after the proximal fit."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float

from giantstep.losses import ASIDE, Loss

#: Gauss-Legendre nodes between two kinks of the loss.
SEGMENT_ORDER = 64
_UNIT, _MASS = (np.asarray(rule) / 2 for rule in np.polynomial.legendre.leggauss(SEGMENT_ORDER))


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


def fits_between(loss: Loss, y: Any, kinks: Any, v: Any, low: Any, high: Any) -> Fits:
    """Nodes in the fields from ``low`` to ``high``, split where the fit bends.

    With t = prox(u) the field is u = t + V l'(t), so that nodes in t need no proximal step but at
    both ends: the force is -l'(t), its stiffness l''/(1 + V l''), and du = (1 + V l'') dt. While u
    runs from k + V l'(k-) to k + V l'(k+), the output stays at the kink k, and the force is
    (k - u)/V.
    """
    label = y[:, None]
    ends = [lax.stop_gradient(loss.proximal(y, end, v)) for end in (low, high)]
    within = jnp.clip(kinks, ends[0][:, None], ends[1][:, None])
    edges = jnp.concatenate([ends[0][:, None], within, ends[1][:, None]], axis=1)
    t, mass = _nodes(edges[:, :-1], edges[:, 1:])
    slope, curvature = loss.slope(label, t), loss.curvature(label, t)
    stretch = 1 + v * curvature
    free = Fits(t + v * slope, mass * stretch, -slope, curvature / stretch, loss.value(label, t))

    aside = ASIDE * (1 + jnp.abs(within))
    sides = [within + v * loss.slope(label, within + side) for side in (-aside, aside)]
    sides = [jnp.clip(side, low[:, None], high[:, None]) for side in sides]
    u, weight = _nodes(*sides)
    at = jnp.repeat(within, SEGMENT_ORDER, axis=1)
    held = Fits(u, weight, (at - u) / v, jnp.ones_like(u) / v, loss.value(label, at))
    return Fits(*(jnp.concatenate(parts, axis=1) for parts in zip(free, held, strict=True)))


def _nodes(start: Any, end: Any) -> tuple[Any, Any]:
    """Nodes and weights of all the segments of each row."""
    length = (end - start)[:, :, None]
    flat = (len(start), -1)
    nodes = start[:, :, None] + length * (_UNIT + 0.5)[None, None, :]
    return nodes.reshape(flat), (length * _MASS[None, None, :]).reshape(flat)
