"""Labels of a few Gaussian directions, binary or real, seen from the student's field."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jax.scipy.special import ndtr
from jaxtyping import Array, Float

from giantstep.errors import NoTheory
from giantstep.language.losses import loss_from_text
from giantstep.language.problem import Problem
from giantstep.numerics.grids import CUTOFF, is_above_surface, line_crossings
from giantstep.numerics.quadrature import Rule, split_gaussian, tensor_rule

#: Places on the first axis at this distance have at most one change of the label between them.
SPACING = 0.01
#: Nodes of a panel of the other axes, by their number: the grid stays below 1e5 points.
OUTER_ORDER = {0: 1, 1: 16, 2: 6, 3: 3}
#: Real labels depend on so many variables at most.
MOST_VARIABLES = 3
#: Nodes of a panel of each direction, by their number, and the length of a panel.
DIRECTION_AXES = {1: (8, 2.0), 2: (6, 2.5), 3: (6, 3.0)}
#: Nodes of a panel of each noise, and cells of the label's law given the directions, by the number
#: of directions: they are as long as half or one standard deviation of a Gaussian.
NOISE_AXIS, NOISE_CELLS = (12, 1.0), {1: 24, 2: 12}
#: The least probability of a label that counts.
RARE = 1e-13


class StudentLabels(NamedTuple):
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


def student_label_lines(
    label: Callable[[np.ndarray], np.ndarray],
    directions: int,
    noises: int,
    kinks: tuple[tuple[float, ...], ...],
) -> StudentLabels:
    """The label cut into lines along its first direction, thresholds found to 1e-15."""
    others = directions + noises - 1
    axes = [
        split_gaussian(kinks[i + 1] if i + 1 < directions else (), panel_order=OUTER_ORDER[others])
        for i in range(others)
    ]
    grid = tensor_rule(axes).without_rare(1e-14)
    outer = grid.nodes

    def surface(points: np.ndarray) -> np.ndarray:
        """The label where the first direction, along which lines run, is the last coordinate."""
        return label(np.roll(points, 1, axis=-1))

    above = functools.partial(is_above_surface, surface)
    cuts = line_crossings([above], outer, [surface], SPACING)
    edges = np.pad(cuts, [(0, 0), (1, 1)], constant_values=(-CUTOFF, CUTOFF))
    middles = (edges[:, 1:] + edges[:, :-1]) / 2
    lines = np.broadcast_to(outer[:, None], (*middles.shape, others))
    seen = surface(np.concatenate([lines, middles[..., None]], axis=-1))
    return StudentLabels(
        outer,
        grid.weights,
        np.where(cuts < CUTOFF, cuts, np.inf),
        np.where(seen > 0, 1.0, -1.0),
        np.array([1.0] * directions + [0.0] * noises),
    )


@functools.lru_cache(maxsize=64)
def student_labels(target: Any) -> StudentLabels:
    """The labels of a target, line by line."""

    def label(h: np.ndarray) -> np.ndarray:
        return target.numpy(h[..., : target.rank], h[..., target.rank :] if target.noises else None)

    return student_label_lines(label, target.rank, target.noises, target.kinks)


class FieldLaw(NamedTuple):
    """For label y at each field w: the density of (y, w) and the same weighted by h."""

    density: Float[Array, "labels fields"]
    first_moment: Float[Array, "labels fields directions"]


def student_field_law(labels: StudentLabels, signs: Any, fields: Any, q: Any, m: Any) -> FieldLaw:
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


class RealLabels(NamedTuple):
    """Labels y(h) + noise on a grid of directions, and the probability of each.

    ``clean`` is the mean of the label given its directions; ``clean_power`` the mean square of
    what the target says, with noises that it has inside; ``kinks`` the outputs at which the loss
    of the label is not smooth.
    """

    values: Float[Array | np.ndarray, " labels"]
    clean: Float[Array | np.ndarray, " labels"]
    clean_power: Float[Array | np.ndarray, ""]
    latent: Float[Array | np.ndarray, "labels directions"]
    weights: Float[Array | np.ndarray, " labels"]
    kinks: Float[Array | np.ndarray, "labels kinks"]
    learnable: Float[Array | np.ndarray, " directions"]


@functools.lru_cache(maxsize=32)
def student_real_labels(problem: Problem, loss: str) -> RealLabels:
    """The labels of a problem, and where their loss is not smooth.

    Noises enter through the label alone, so that its law given the directions is all of them that
    is kept: two values for each of its cells, with the cell's first three moments.

    >>> labels = student_real_labels(Problem("h1 + z1", 0.5), "abs(y-f)")
    >>> round(float(labels.weights @ labels.values**2), 6)
    2.5
    """
    target, noisy = problem.target, problem.noise > 0
    if target.rank + target.noises + noisy > MOST_VARIABLES or not target.aligned_kinks:
        raise NoTheory(
            f"target = {target.text!r} with loss = {loss!r}: labels other than -1 and 1 are "
            f"predicted for up to {MOST_VARIABLES} variables, noise included, and kinks at fixed "
            "values of one of them"
        )
    grid = _student_grid(target.kinks, *DIRECTION_AXES[target.rank])
    noise_kinks = [*target.noise_kinks, *([()] if noisy else [])]
    if not noise_kinks:
        clean = np.broadcast_to(target.numpy(grid.nodes, None), grid.weights.shape)
        points, weights, values = grid.nodes, grid.weights, clean
        power = weights @ clean**2
    else:
        noise = _student_grid(noise_kinks, *NOISE_AXIS)
        shape = len(grid.weights), len(noise.weights)
        h = np.broadcast_to(grid.nodes[:, None], (*shape, target.rank))
        z = np.broadcast_to(noise.nodes[None, :, : target.noises], (*shape, target.noises))
        said = np.broadcast_to(target.numpy(h, z if target.noises else None), shape)
        power = grid.weights @ said**2 @ noise.weights
        heard = said + math.sqrt(problem.noise) * noise.nodes[:, -1] if noisy else said
        rows = [_cells(row, noise.weights, NOISE_CELLS[target.rank]) for row in heard]
        counts = [len(row[0]) for row in rows]
        values = np.concatenate([row[0] for row in rows])
        weights = np.concatenate([w * row[1] for w, row in zip(grid.weights, rows, strict=True)])
        points = np.repeat(grid.nodes, counts, axis=0)
        clean = np.repeat(said @ noise.weights, counts)
    kinks = loss_from_text(loss).kinks(values)
    return RealLabels(values, clean, power, points, weights, kinks, np.ones(target.rank))


def _student_grid(kinks: Sequence[Sequence[float]], order: int, length: float) -> Rule:
    """Nodes on panels between the kinks of each axis."""
    axes = [split_gaussian(own, order, panel_length=length) for own in kinks]
    return tensor_rule(axes).without_rare(RARE)


def _cells(values: np.ndarray, weights: np.ndarray, cells: int) -> tuple[np.ndarray, np.ndarray]:
    """Two values for each cell of a law, with its probability, mean, variance and skewness."""
    from scipy.special import ndtr as normal_cdf

    order = np.argsort(values, kind="stable")
    values, weights = values[order], weights[order]
    edges = normal_cdf(np.linspace(-6.0, 6.0, cells + 1)[1:-1])
    _, starts = np.unique(np.searchsorted(edges, np.cumsum(weights)), return_index=True)
    mass = np.add.reduceat(weights, starts)
    mean = np.add.reduceat(weights * values, starts) / mass
    apart = values - np.repeat(mean, np.diff([*starts, len(values)]))
    spread = np.sqrt(np.add.reduceat(weights * apart**2, starts) / mass)
    safe = np.where(spread > 0, spread, 1.0)
    skewness = np.add.reduceat(weights * apart**3, starts) / mass / safe**3
    upper = skewness / 2 + np.sqrt(skewness**2 / 4 + 1)
    share = 1 / (1 + upper**2)
    both = np.concatenate([mean + spread * upper, mean - spread / upper])
    return both, np.concatenate([mass * share, mass * (1 - share)])


def student_real_field_law(labels: RealLabels, fields: Array, q: Array, m: Array) -> FieldLaw:
    """The joint law of label and field w, with (h, w) Gaussian, E w^2 = q and E[h w] = m."""
    variance = q - m @ m
    apart = fields - (labels.latent @ m)[:, None]
    bell = jnp.exp(-(apart**2) / (2 * variance)) / jnp.sqrt(2 * jnp.pi * variance)
    density = jnp.asarray(labels.weights)[:, None] * bell
    return FieldLaw(density, density[:, :, None] * jnp.asarray(labels.latent)[:, None, :])
