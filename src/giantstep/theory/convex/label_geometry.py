"""Binary labels of a few Gaussian directions, seen from the student's field."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jax.scipy.special import ndtr
from jaxtyping import Array, Float

from giantstep.numerics.quadrature import CUTOFF, split_gaussian

#: Points on the first axis between which a label may change its value at most once.
SCAN_POINTS = 1801
#: Nodes of a panel of the other axes, by their number: the grid stays below 1e5 points.
OUTER_ORDER = {0: 1, 1: 16, 2: 6, 3: 3}


class Labels(NamedTuple):
    """Where y(h) = +1: on each line along h1, the intervals between thresholds.

    ``outer`` holds the other coordinates of each line and ``weights`` its probability.
    ``values[i, j]`` is the label between thresholds j and j + 1 of line i (the ends are infinite).
    ``learnable`` is 0 for a coordinate that is label noise, not a direction of the input.
    """

    outer: Float[Array | np.ndarray, "lines others"]
    weights: Float[Array | np.ndarray, " lines"]
    thresholds: Float[Array | np.ndarray, "lines cuts"]
    values: Float[Array | np.ndarray, "lines intervals"]
    learnable: Float[Array | np.ndarray, " directions"]


def label_lines(
    label: Callable[[np.ndarray], np.ndarray],
    directions: int,
    noises: int,
    kinks: tuple[tuple[float, ...], ...],
) -> Labels:
    """The label cut into lines along its first direction, thresholds found to 1e-15."""
    others = directions + noises - 1
    axes = [
        split_gaussian(kinks[i + 1] if i + 1 < directions else (), panel_order=OUTER_ORDER[others])
        for i in range(others)
    ]
    outer = np.array(list(itertools.product(*[nodes for nodes, _ in axes])))
    weights = np.array([np.prod(w) for w in itertools.product(*[w for _, w in axes])])
    outer = outer.reshape(len(weights), others)
    kept = weights > 1e-14
    outer, weights = outer[kept], weights[kept] / weights[kept].sum()

    def values(first: np.ndarray) -> np.ndarray:
        rest = np.broadcast_to(outer[:, None, :], (*first.shape, others))
        return np.where(label(np.concatenate([first[..., None], rest], axis=-1)) > 0, 1.0, -1.0)

    scan = np.broadcast_to(np.linspace(-CUTOFF, CUTOFF, SCAN_POINTS), (len(outer), SCAN_POINTS))
    # An irrational shift keeps the scan off thresholds at round numbers, where sign(0) = 0.
    seen = values(scan + 1e-4 * np.sqrt(2))
    change = seen[:, 1:] != seen[:, :-1]
    cuts = int(change.sum(axis=1).max())
    order = np.argsort(~change, axis=1, kind="stable")[:, :cuts]
    present = np.take_along_axis(change, order, axis=1)
    low = np.take_along_axis(scan, order, axis=1) + 1e-4 * np.sqrt(2)
    high = low + (scan[0, 1] - scan[0, 0])
    before = np.take_along_axis(seen, order, axis=1)
    for _ in range(55):
        middle = (low + high) / 2
        same = values(middle) == before if cuts else np.zeros_like(middle, dtype=bool)
        low, high = np.where(same, middle, low), np.where(same, high, middle)
    flips = np.cumprod(np.where(present, -1.0, 1.0), axis=1)
    intervals = seen[:, :1] * np.concatenate([np.ones((len(outer), 1)), flips], axis=1)
    return Labels(
        outer,
        weights,
        np.where(present, (low + high) / 2, np.inf),
        intervals,
        np.array([1.0] * directions + [0.0] * noises),
    )


@functools.lru_cache(maxsize=64)
def labels_of(target: Any) -> Labels:
    """The labels of a target, line by line."""

    def label(h: np.ndarray) -> np.ndarray:
        return target.numpy(h[..., : target.rank], h[..., target.rank :] if target.noises else None)

    return label_lines(label, target.rank, target.noises, target.kinks)


class FieldLaw(NamedTuple):
    """For label y at each field w: the density of (y, w) and the same weighted by h."""

    density: Float[Array, "labels fields"]
    first_moment: Float[Array, "labels fields directions"]


def field_law(labels: Labels, signs: Any, fields: Any, q: Any, m: Any) -> FieldLaw:
    """The joint law of label and field w, with (h, w) Gaussian, E w^2 = q and E[h w] = m.

    ``fields[i]`` are the fields at which label ``signs[i]`` is asked for.
    """
    across = q - jnp.sum(m[1:] ** 2)
    w = fields[:, :, None] - (labels.outer @ m[1:])[None, None, :]
    mean, spread = m[0] * w / across, jnp.sqrt(1 - m[0] ** 2 / across)
    weight = labels.weights[None, None, :] * jnp.exp(-(w**2) / (2 * across))
    weight = weight / jnp.sqrt(2 * jnp.pi * across)

    cut = (labels.thresholds[None, None] - mean[..., None]) / spread
    edge = jnp.zeros_like(w)[..., None]
    below = jnp.concatenate([edge, ndtr(cut), edge + 1], axis=-1)
    bell = jnp.exp(-(cut**2) / 2) / jnp.sqrt(2 * jnp.pi)
    bell = jnp.concatenate([edge, bell, edge], axis=-1)
    chosen = (labels.values[None] == signs[:, None, None]).astype(w.dtype)[:, None]
    probability = jnp.sum(chosen * jnp.diff(below, axis=-1), axis=-1)
    excess = -spread * jnp.sum(chosen * jnp.diff(bell, axis=-1), axis=-1)

    density = jnp.sum(weight * probability, axis=-1)
    along = jnp.sum(weight * (mean * probability + excess), axis=-1)
    others = jnp.einsum("yfl,lo->yfo", weight * probability, labels.outer)
    return FieldLaw(density, jnp.concatenate([along[..., None], others], axis=-1))
