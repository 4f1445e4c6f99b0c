"""Moments of h given a label y = g(h), by random lines that are integrated exactly along one axis.

A line fixes all coordinates but one. On it, {g <= e} is a union of intervals whose Gaussian
moments are known in closed form, so only the ends of the intervals, where g crosses e, have to be
found. The lines are drawn at random within strata, in independent replicas: products of moments of
different replicas are unbiased, which is what a lattice of points cannot offer (on a lattice a
noiseless label identifies the point). Labels are cut into cells finely where their law is rich,
exactly where it is singular.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from giantstep.channels.label_law import LabelMoments
from giantstep.channels.label_law.fibres import label_fibre_nodes, label_fibres
from giantstep.numerics.grids import Function
from giantstep.numerics.hermite import MultiIndex, hermite_values, multi_indices

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
            reordered_label(self.function, back),
            self.latent,
            tuple(self.kinks[axis] for axis in order),
            tuple(reordered_label(surface, back) for surface in self.surfaces),
            order,
        )


def reordered_label(function: Function, back: np.ndarray | slice) -> Function:
    """The function of the chosen coordinates, in their order."""
    return lambda points: function(points[..., back])


class Effort(NamedTuple):
    """Lines of each replica, nodes on each line, cells of the label, and replicas."""

    lines: int
    nodes: int
    cells: int
    replicas: int


def sliced_label_moments(problem: Slicing, degree: int, effort: Effort, seed: int) -> LabelMoments:
    """E[1{y in cell} He_j(h)] for |j| <= degree, on about so many cells of the label.

    >>> product = Slicing(lambda h: h[..., 0] * h[..., 1], 2, ((), ()))
    >>> found = sliced_label_moments(product, 2, Effort(200, 200, 200, replicas=2), seed=0)
    >>> cross = found.indices.index((1, 1))
    >>> one, two = found.moments[:, :, cross]
    >>> round(float(sum(one * two / found.mass)), 2)
    1.0
    """
    lines, nodes, cells, replicas = effort
    rng = np.random.default_rng(seed)
    problem = problem.sliced_along(_best_label_axis(problem, rng))
    grid = label_fibre_nodes(problem.kinks[-1], nodes)
    sample, weights = _stratified_label_lines(rng, min(lines, 400), problem.kinks[:-1])
    pilot = label_fibres(problem.function, problem.surfaces, sample, grid)
    edges = _label_edges(pilot.at, pilot.values, weights, cells)
    indices = multi_indices(problem.latent, degree)
    found = np.stack([_replica(problem, grid, edges, indices, lines, rng) for _ in range(replicas)])
    mass = found[:, :, 0].mean(axis=0)
    kept = mass > 1e-14
    method = f"{replicas} x {lines} random lines, {int(kept.sum())} cells"
    return LabelMoments(indices, mass[kept], found[:, kept], method)


def _best_label_axis(problem: Slicing, rng: np.random.Generator) -> int:
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


def _stratified_label_lines(
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


def _replica(
    problem: Slicing,
    grid: np.ndarray,
    edges: np.ndarray,
    indices: tuple[MultiIndex, ...],
    count: int,
    rng: np.random.Generator,
) -> Float[np.ndarray, "cells indices"]:
    lines, weights = _stratified_label_lines(rng, count, problem.kinks[:-1])
    degree = max(map(sum, indices))
    inner_degree = degree if problem.order[-1] < problem.latent else 0
    basis = hermite_values(lines, degree)
    total = np.zeros((len(edges) + 1, len(indices)))
    size = max(CHUNK // (4 * len(edges)), 1)
    for part in (slice(start, start + size) for start in range(0, len(lines), size)):
        fibres = label_fibres(problem.function, problem.surfaces, lines[part], grid)
        below = fibres.moments_below(edges, inner_degree)
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


#: A critical or constant value on this share of the lines is a singular point of the law of y.
SHARED = 0.02
MAX_SINGULAR = 8
GOLDEN = (math.sqrt(5) - 1) / 2
#: With this variance of steps the sum of p_b Var_b over cells b is smallest for a function that is
#: linear in Phi^-1(rank).
SPREAD = 3.0
#: Edges crowd geometrically towards singular points.
GRADES = 0.5 ** np.arange(2, 26)


def _label_edges(
    at: Float[np.ndarray, "lines nodes"],
    values: Float[np.ndarray, "lines nodes"],
    weights: Float[np.ndarray, " lines"],
    cells: int,
) -> Float[np.ndarray, " edges"]:
    """Edges of about ``cells`` cells of y = g, given g at positions along lines with weights.

    What a label tells depends on its rank only, not on the scale it is written in, so cells are
    chosen by rank: they are as likely as equal steps of a Gaussian of variance ``SPREAD`` are
    under a standard one, few and likely in the middle, many and rare in the tails. Atoms get a
    cell of their own; values at which g turns or breaks off on many lines get an edge, and smaller
    and smaller cells around it.
    """
    from scipy.special import ndtr, ndtri

    mass = (weights[:, None] * np.diff(ndtr(at), axis=1)).ravel()
    # Another place in the cells of each line: on lines that are alike, labels are not to coincide.
    place = (np.arange(len(values)) * GOLDEN % 1)[:, None]
    labels = (values[:, :-1] + place * np.diff(values, axis=1)).ravel()
    order = np.argsort(labels)
    labels, share = labels[order], np.cumsum(mass[order])
    share /= share[-1]
    ranks = ndtr(math.sqrt(SPREAD) * ndtri(np.arange(1, cells) / cells))
    edges = np.unique(np.interp(ranks, share, labels))
    singular, atoms = _singular_label_values(at, values, weights), _label_atoms(at, values, weights)
    if len(edges) < 2:
        return _label_edges_around(atoms if len(atoms) else edges)
    inside = singular[(singular > edges[0]) & (singular < edges[-1])]
    scale = np.quantile(edges, 0.75) - np.quantile(edges, 0.25)
    graded = (inside[:, None] + scale * np.concatenate([-GRADES, [0.0], GRADES])).ravel()
    edges = np.unique(np.concatenate([edges, graded]))
    for atom in atoms:
        edges = edges[np.abs(edges - atom) > 1e-8 * (1 + abs(atom))]
    return np.unique(np.concatenate([edges, _label_edges_around(atoms)]))


def _label_edges_around(atoms: np.ndarray) -> np.ndarray:
    gap = 1e-9 * (1 + np.abs(atoms))
    return np.unique(np.concatenate([atoms - gap, atoms + gap]))


def _label_atoms(at: np.ndarray, values: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Values that g takes on stretches of many lines."""
    line, cell = np.nonzero((np.diff(values, axis=1) == 0) & (np.diff(at, axis=1) > 1e-6))
    pairs = np.unique(np.stack([np.round(values[line, cell], 10), line], axis=1), axis=0)
    distinct, which = np.unique(pairs[:, 0], return_inverse=True)
    total = np.bincount(which, weights[pairs[:, 1].astype(int)], minlength=len(distinct))
    return distinct[total > SHARED * weights.sum()]


def _singular_label_values(at: np.ndarray, values: np.ndarray, weights: np.ndarray) -> np.ndarray:
    step, length = np.diff(values, axis=1), np.diff(at, axis=1)
    line, node = np.nonzero((step[:, 1:] * step[:, :-1] < 0) & (length[:, 1:] > 1e-6))
    left, here, right = values[line, node], values[line, node + 1], values[line, node + 2]
    even = np.abs(length[line, node + 1] / length[line, node] - 1) < 0.1
    with np.errstate(divide="ignore", invalid="ignore"):
        vertex = here - (right - left) ** 2 / (8 * (left - 2 * here + right))
    turning = np.where(even & np.isfinite(vertex), vertex, here)
    jump_line, jump = np.nonzero(length < 1e-6)
    sides = [values[jump_line, jump], values[jump_line, jump + 1]]
    found = np.concatenate([turning, *sides])
    weight = weights[np.concatenate([line, jump_line, jump_line])]
    unit = 1e-6 * (np.quantile(values, 0.9) - np.quantile(values, 0.1)) + 1e-300
    _, which = np.unique(np.round(found / unit), return_inverse=True)
    total = np.bincount(which, weights=weight)
    mean = np.bincount(which, weights=weight * found) / np.maximum(total, 1e-300)
    strongest = np.argsort(-total)[:MAX_SINGULAR]
    return mean[strongest][total[strongest] > SHARED * weights.sum()]
