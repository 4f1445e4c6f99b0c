"""Moments of h given a label y = g(h), by random lines that are integrated exactly along one axis.

A line fixes all coordinates but one. On it, {g <= e} is a union of intervals whose Gaussian
moments are known in closed form, so only the ends of the intervals, where g crosses e, have to be
found. The lines are drawn at random within strata, in independent replicas: products of moments of
different replicas are unbiased, which is what a lattice of points cannot offer (on a lattice a
noiseless label identifies the point).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Float

from giantstep.numerics.grids import Function, line_crossings
from giantstep.numerics.hermite import (
    MultiIndex,
    hermite_primitives,
    hermite_values,
    multi_indices,
)
from giantstep.targets.label_law.edges import label_edges
from giantstep.targets.label_law.moments import LabelMoments

#: Lines and nodes beyond this many standard deviations weigh less than 2e-17.
REACH = 8.5
#: Half the distance between the two nodes at either side of a kink.
NUDGE = 1e-11
#: Strata are equally likely under this variance, so that the tails of the Gaussian are covered.
STRATA_VARIANCE = 3.0
#: Crossings treated at a time.
CHUNK = 1_000_000


@dataclass(frozen=True)
class Slicing:
    """A function on R^D, its kinks, and which axes are latent directions.

    ``kinks`` are positions on each axis, ``surfaces`` functions u whose zeros are kinks
    elsewhere. The first ``latent`` axes are directions; the others are noises.
    """

    function: Function
    latent: int
    kinks: tuple[tuple[float, ...], ...]
    surfaces: tuple[Function, ...] = ()
    order: tuple[int, ...] = field(default=())

    @property
    def axes(self) -> int:
        """D, the number of axes."""
        return len(self.kinks)

    def sliced_along(self, inner: int) -> Slicing:
        """The same function with one axis moved to the end."""
        order = (*(axis for axis in range(self.axes) if axis != inner), inner)
        back = np.argsort(order)
        return Slicing(
            lambda points: self.function(points[..., back]),
            self.latent,
            tuple(self.kinks[axis] for axis in order),
            tuple(_reordered(surface, back) for surface in self.surfaces),
            order,
        )


def _reordered(function: Function, back: np.ndarray) -> Function:
    return lambda points: function(points[..., back])


def sliced_moments(
    problem: Slicing,
    degree: int,
    *,
    lines: int,
    nodes: int,
    cells: int,
    replicas: int,
    seed: int,
) -> LabelMoments:
    """E[1{y in cell} He_j(h)] for |j| <= degree, on about ``cells`` cells of the label.

    >>> product = Slicing(lambda h: h[..., 0] * h[..., 1], 2, ((), ()))
    >>> found = sliced_moments(product, 2, lines=200, nodes=200, cells=200, replicas=2, seed=0)
    >>> cross = found.indices.index((1, 1))
    >>> one, two = found.moments[:, :, cross]
    >>> round(float(sum(one * two / found.mass)), 2)
    1.0
    """
    rng = np.random.default_rng(seed)
    problem = problem.sliced_along(_best_axis(problem, rng))
    grid = _base_nodes(problem.kinks[-1], nodes)
    sample, weights = _stratified_lines(rng, min(lines, 400), problem.kinks[:-1])
    fibres = _fibres(problem, sample, grid)
    edges = label_edges(*fibres, weights, cells)
    indices = multi_indices(problem.latent, degree)
    found = np.stack([_replica(problem, grid, edges, indices, lines, rng) for _ in range(replicas)])
    mass = found[:, :, 0].mean(axis=0)
    kept = mass > 1e-14
    method = f"{replicas} x {lines} random lines, {int(kept.sum())} cells"
    return LabelMoments(indices, mass[kept], found[:, kept], method)


def _best_axis(problem: Slicing, rng: np.random.Generator) -> int:
    """The axis along which the function varies most, jumps not counted, on typical lines."""
    nodes = np.linspace(-3, 3, 61)
    spread = np.std(problem.function(rng.standard_normal((2000, problem.axes)))) + 1e-300
    scores = []
    for axis in range(problem.axes):
        points = np.repeat(rng.standard_normal((200, 1, problem.axes)), len(nodes), axis=1)
        points[:, :, axis] = nodes
        steps = np.sort(np.abs(np.diff(problem.function(points), axis=1)), axis=1)[:, :-4]
        scores.append(np.mean(np.log1p(steps.sum(axis=1) / spread)))
    return int(np.argmax(scores))


def _base_nodes(kinks: Sequence[float], count: int) -> np.ndarray:
    """Evenly spaced nodes, with a pair of nodes at the two sides of every kink."""
    corners = [-REACH, *(k for k in kinks if -REACH < k < REACH), REACH]
    parts = []
    for left, right in itertools.pairwise(corners):
        share = max(int(np.ceil(count * (right - left) / (2 * REACH))), 3)
        parts.append(np.linspace(left + NUDGE, right - NUDGE, share + 1))
    return np.concatenate(parts)


def _stratified_lines(
    rng: np.random.Generator, count: int, kinks: Sequence[Sequence[float]]
) -> tuple[Float[np.ndarray, "lines outer"], Float[np.ndarray, " lines"]]:
    """One antithetic pair of points in each stratum of R^(D-1), and the strata's probabilities."""
    from scipy.special import ndtr, ndtri

    if not kinks:
        return np.zeros((1, 0)), np.ones(1)
    if len(kinks) > 3:
        return rng.standard_normal((count, len(kinks))), np.full(count, 1 / count)
    per_axis = max(round((count / 2) ** (1 / len(kinks))), 1)
    broad = np.sqrt(STRATA_VARIANCE)
    lows, sizes = [], []
    for positions in kinks:
        corners = [0.0, *ndtr(np.array(positions) / broad), 1.0]
        pieces = [
            np.linspace(a, b, max(round(per_axis * (b - a)), 1) + 1)[:-1]
            for a, b in itertools.pairwise(corners)
        ]
        edges = ndtr(broad * ndtri(np.append(np.concatenate(pieces), 1.0)))
        lows.append(edges[:-1])
        sizes.append(np.diff(edges))
    low = np.stack(np.meshgrid(*lows, indexing="ij"), axis=-1).reshape(-1, len(kinks))
    size = np.stack(np.meshgrid(*sizes, indexing="ij"), axis=-1).reshape(-1, len(kinks))
    draw = rng.random(low.shape)
    uniform = np.concatenate([low + size * draw, low + size * (1 - draw)])
    weights = np.tile(np.prod(size, axis=1) / 2, 2)
    return ndtri(np.clip(uniform, 1e-17, 1 - 1e-16)), weights


def _fibres(
    problem: Slicing, lines: np.ndarray, grid: np.ndarray
) -> tuple[Float[np.ndarray, "lines nodes"], Float[np.ndarray, "lines nodes"]]:
    """Positions along each line and the function there."""
    at = np.broadcast_to(grid, (len(lines), len(grid)))
    if problem.surfaces:
        labels = [_positive(surface) for surface in problem.surfaces]
        cuts = np.minimum(line_crossings(labels, lines, problem.surfaces), REACH)
        at = np.sort(np.concatenate([at, cuts - NUDGE, cuts + NUDGE], axis=1), axis=1)
    points = np.empty((*at.shape, problem.axes))
    points[..., :-1] = lines[:, None, :]
    points[..., -1] = at
    return at, np.broadcast_to(problem.function(points), at.shape)


def _positive(surface: Function) -> Callable[[np.ndarray], np.ndarray]:
    return lambda points: surface(points) > 0


def _replica(
    problem: Slicing,
    grid: np.ndarray,
    edges: np.ndarray,
    indices: tuple[MultiIndex, ...],
    count: int,
    rng: np.random.Generator,
) -> Float[np.ndarray, "cells indices"]:
    lines, weights = _stratified_lines(rng, count, problem.kinks[:-1])
    degree = max(map(sum, indices))
    inner_degree = degree if problem.order[-1] < problem.latent else 0
    basis = hermite_values(lines, degree)
    total = np.zeros((len(edges) + 1, len(indices)))
    for part in _chunks(len(lines), len(edges)):
        at, values = _fibres(problem, lines[part], grid)
        below = _moments_below(at, values, edges, inner_degree)
        for column, index in enumerate(indices):
            factor, power = weights[part], 0
            for place, axis in enumerate(problem.order):
                if axis >= problem.latent or not index[axis]:
                    continue
                if place == problem.axes - 1:
                    power = index[axis]
                else:
                    factor = factor * basis[index[axis], part, place]
            total[:, column] += np.diff(factor @ below[power], prepend=0.0)
    return total


def _chunks(lines: int, edges: int) -> Iterator[slice]:
    size = max(CHUNK // (4 * edges), 1)
    for start in range(0, lines, size):
        yield slice(start, start + size)


def _moments_below(
    at: np.ndarray, values: np.ndarray, edges: np.ndarray, degree: int
) -> Float[np.ndarray, "k lines edges_and_infinity"]:
    """E[He_k(h) 1{g <= e}] on each line, for every edge e and for e = infinity.

    The set {g <= e} ends where g rises through e and starts where it falls through e.
    """
    lines, count = len(values), len(edges)
    rank = np.searchsorted(edges, values)
    first = np.minimum(rank[:, :-1], rank[:, 1:])
    crossed = np.abs(np.diff(rank, axis=1))
    line, cell = np.nonzero(crossed)
    times = crossed[line, cell]
    which = np.repeat(np.arange(len(line)), times)
    within = np.arange(len(which)) - np.repeat(np.cumsum(times) - times, times)
    edge = first[line, cell][which] + within

    left, step = values[:, :-1][line, cell], np.diff(values, axis=1)[line, cell]
    bend = _bend(at, values)[line, cell]
    linear = (edges[edge] - left[which]) / step[which]
    fraction = linear + bend[which] * linear * (1 - linear)
    start, length = at[:, :-1][line, cell], np.diff(at, axis=1)[line, cell]
    ends = hermite_primitives(start[which] + fraction * length[which], degree)
    ends *= np.sign(step)[which]

    below = np.zeros((degree + 1, lines, count + 1))
    place = line[which] * count + edge
    for k in range(degree + 1):
        sums = np.bincount(place, weights=ends[k], minlength=lines * count)
        below[k, :, :count] = sums.reshape(lines, count)
    below[0, :, :count] += values[:, -1:] <= edges
    below[0, :, count] = 1.0
    return below


def _bend(at: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Second-order correction of a crossing's position within its cell: h^2 g'' / (2 dg).

    Cells at the two sides of a kink have the slope of their own side only.
    """
    length, step = np.diff(at, axis=1), np.diff(values, axis=1)
    smooth = length > 3 * NUDGE
    with np.errstate(divide="ignore", invalid="ignore"):
        slope = np.where(smooth, step / length, np.nan)
        curvature = 2 * np.diff(slope, axis=1) / (length[:, 1:] + length[:, :-1])
        padded = np.pad(curvature, ((0, 0), (1, 1)), constant_values=np.nan)
        one, two = padded[:, :-1], padded[:, 1:]
        mean = np.where(np.isnan(one), two, np.where(np.isnan(two), one, (one + two) / 2))
        return np.clip(np.nan_to_num(length**2 * mean / (2 * step)), -1, 1)
