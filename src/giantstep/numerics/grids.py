"""Quadrature on R^D for functions with kinks on surfaces of any shape, one axis inside the other.

Every axis is cut into Gauss-Legendre panels. The panels of an axis may depend on where one is on
the axes before it: their edges lie where the line crosses a kink or a jump. Kinks at fixed
positions are the special case in which all lines are alike, the plain tensor product.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Inexact, Int, Shaped

from giantstep.numerics.hermite import hermite_values
from giantstep.numerics.quadrature import gauss_hermite, legendre_panels, split_gaussian
from giantstep.numerics.solve import bisected

Function = Callable[[np.ndarray], np.ndarray]
Axis = tuple[np.ndarray, np.ndarray]

#: Integrals stop here: He_8(h)^2 times the density is 1e-13 of its maximum at 10 deviations.
CUTOFF = 10.0
#: Lines are searched for crossings at this spacing; kinks closer together can be missed.
SCAN_SPACING = 0.05
BISECTIONS = 50


@dataclass(frozen=True, eq=False)
class GaussianGrid:
    """Nodes and weights for E[f(h)], h ~ N(0, I_D).

    ``axes[a]`` holds the nodes and weights of axis a, shape (n_1, ..., n_a), where leading sizes
    are 1 if the nodes do not depend on the axes before.
    """

    axes: tuple[Axis, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of nodes on each axis."""
        return tuple(nodes.shape[-1] for nodes, _ in self.axes)

    def points(self) -> Float[np.ndarray, "... D"]:
        """The nodes, shape (*shape, D)."""
        points = np.empty((*self.shape, len(self.axes)))
        for axis, (nodes, _) in enumerate(self.axes):
            points[..., axis] = nodes.reshape(*nodes.shape, *[1] * (len(self.axes) - axis - 1))
        return points

    def masses(self) -> Float[np.ndarray, " ..."]:
        """The weight of each node, of the shape of the grid."""
        masses = np.ones(())
        for _, weights in self.axes:
            masses = masses[..., None] * weights
        return masses

    def contract(
        self, values: Inexact[np.ndarray, " ..."], degrees: Sequence[int | None]
    ) -> Inexact[np.ndarray, " ..."]:
        """E[f(h) He_{j_1}(h_1) He_{j_2}(h_2) ...] for all j_i <= degrees[i].

        The first axes may have degree None: they are left pointwise, and the result is a function
        on their nodes.
        """
        result = values
        for axis in reversed(range(len(self.axes))):
            degree = degrees[axis]
            if degree is None:
                break
            nodes, weights = self.axes[axis]
            functional = np.moveaxis(hermite_values(nodes, degree) * weights, 0, -2)
            shape = result.shape
            rows = result.reshape(*shape[: axis + 1], -1)
            result = (functional @ rows).reshape(*shape[:axis], -1, *shape[axis + 1 :])
        return result

    def average(self, values: Float[np.ndarray, " ..."]) -> float:
        """E of a function of the first axes, given on their nodes."""
        for axis in reversed(range(values.ndim)):
            values = (values * self.axes[axis][1]).sum(axis=-1)
        return float(values)


def hermite_grid(dim: int, order: int) -> GaussianGrid:
    """Gauss-Hermite on every axis: for smooth functions."""
    return _product_grid([gauss_hermite(order)] * dim)


def aligned_grid(kinks: Sequence[Sequence[float]], panel_length: float, order: int) -> GaussianGrid:
    """Gauss-Legendre panels on every axis, split at that axis's kinks.

    >>> grid = aligned_grid([(0.0,), (0.0,)], panel_length=3.0, order=16)
    >>> h = grid.points()
    >>> round(grid.average(np.abs(h[..., 0] * h[..., 1])), 12) == round(2 / np.pi, 12)
    True
    """
    return _product_grid(
        [split_gaussian(at, order, cutoff=CUTOFF, panel_length=panel_length) for at in kinks]
    )


def _product_grid(axes: Sequence[Axis]) -> GaussianGrid:
    return GaussianGrid(
        tuple(
            (nodes.reshape(*[1] * axis, -1), weights.reshape(*[1] * axis, -1))
            for axis, (nodes, weights) in enumerate(axes)
        )
    )


def grid_split_at_surfaces(
    surfaces: Sequence[Sequence[Function]], panel_length: float, order: int
) -> GaussianGrid:
    """Panels whose edges lie on surfaces: ``surfaces[a]`` are functions u of the axes 0..a.

    Each line along axis a is cut where it crosses u = 0. With two axes, the first is also cut
    where the number of crossings changes: there the inner integral behaves like a square root.

    >>> disc = lambda h: h[..., 0] ** 2 + h[..., 1] ** 2 - 1
    >>> grid = grid_split_at_surfaces([[], [disc]], panel_length=1.5, order=24)
    >>> inside = disc(grid.points()) < 0
    >>> bool(abs(grid.average(1.0 * inside) - (1 - np.exp(-0.5))) < 1e-9)
    True
    """
    axes: list[Axis] = []
    lines = np.zeros((1, 0))
    shape: tuple[int, ...] = ()
    planar = len(surfaces) == 2
    for axis, here in enumerate(surfaces):
        labels = [functools.partial(is_above_surface, surface) for surface in here]
        if planar and axis == 0:
            labels.append(functools.partial(_grid_crossing_count, surfaces[1]))
        cuts = line_crossings(labels, lines)
        nodes, weights = _grid_panels(cuts, panel_length, order, square_roots=planar)
        axes.append((nodes.reshape(*shape, -1), weights.reshape(*shape, -1)))
        shape = (*shape, nodes.shape[1])
        lines = np.concatenate(
            [np.repeat(lines, nodes.shape[1], axis=0), nodes.reshape(-1, 1)], axis=1
        )
    return GaussianGrid(tuple(axes))


def is_above_surface(surface: Function, points: np.ndarray) -> np.ndarray:
    """On which side of the surface the points are."""
    return surface(points) > 0


def _grid_crossing_count(surfaces: Sequence[Function], points: np.ndarray) -> np.ndarray:
    lines = points.reshape(-1, points.shape[-1])
    count = np.zeros(len(lines), dtype=int)
    for surface in surfaces:
        rows, _, _ = _brackets(functools.partial(is_above_surface, surface), surface, lines)
        count += np.bincount(rows, minlength=len(lines))
    return count.reshape(points.shape[:-1])


def _grid_panels(cuts: np.ndarray, panel_length: float, order: int, square_roots: bool) -> Axis:
    """Gauss-Legendre nodes between all edges, with Gaussian weights."""
    count = math.ceil(2 * CUTOFF / panel_length)
    fixed = np.broadcast_to(np.linspace(-CUTOFF, CUTOFF, count + 1), (len(cuts), count + 1))
    edges = np.sort(np.concatenate([fixed, cuts], axis=1), axis=1)
    nodes, lengths = legendre_panels(edges, order, square_roots)
    weights = lengths * np.exp(-(nodes**2) / 2) / math.sqrt(2 * math.pi)
    return nodes, weights / weights.sum(axis=1, keepdims=True)


def line_crossings(
    labels: Sequence[Callable[[np.ndarray], Shaped[np.ndarray, " ..."]]],
    lines: Float[np.ndarray, "lines outer"],
    surfaces: Sequence[Function] | None = None,
    spacing: float = SCAN_SPACING,
) -> Float[np.ndarray, "lines crossings"]:
    """Where the labels change along each line (first coordinates given, last one free).

    Rows are sorted and filled up with the cutoff to the largest number of crossings. Lines are
    scanned at a ``spacing``. With ``surfaces``, pairs of crossings closer than it are found at the
    extrema of u.
    """
    rows, places = [np.zeros(0, dtype=int)], [np.zeros(0)]
    for number, label in enumerate(labels):
        surface = surfaces[number] if surfaces else None
        row, low, high = _brackets(label, surface, lines, spacing)
        rows.append(row)
        places.append(_bisected(label, lines[row], low, high))
    return padded_rows(np.concatenate(rows), np.concatenate(places), len(lines), CUTOFF)


def _bisected(label: Function, lines: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Where the label changes between two places of each line."""
    start = _grid_values(label, lines, low)
    low, high = bisected(lambda at: _grid_values(label, lines, at) != start, low, high, BISECTIONS)
    return (low + high) / 2


def _brackets(
    label: Function, surface: Function | None, lines: np.ndarray, spacing: float = SCAN_SPACING
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Intervals of the lines in which the label changes once: line number, low and high end."""
    scan = np.linspace(-CUTOFF, CUTOFF, 2 * round(CUTOFF / spacing) + 1)
    scanned = _grid_values(label, lines[:, None, :], scan)
    row, cell = np.nonzero(scanned[:, 1:] != scanned[:, :-1])
    low, high = scan[cell], scan[cell + 1]
    if surface is not None:
        dip, left, middle, right = _line_extrema(surface, lines, scan)
        row = np.concatenate([row, dip, dip])
        low, high = np.concatenate([low, left, middle]), np.concatenate([high, middle, right])
    return row, low, high


def _line_extrema(surface: Function, lines: np.ndarray, scan: np.ndarray) -> tuple[np.ndarray, ...]:
    """Extrema of u between scan points at which u has the other sign: lines and brackets."""
    u = _grid_values(surface, lines[:, None, :], scan)
    left, here, right = np.abs(u[:, :-2]), np.abs(u[:, 1:-1]), np.abs(u[:, 2:])
    row, cell = np.nonzero((here < left) & (here < right) & (u[:, :-2] * u[:, 2:] > 0))
    left, here, right = left[row, cell], here[row, cell], right[row, cell]
    step = (scan[1] - scan[0]) / 2
    vertex = scan[cell + 1] + step * (left - right) / (left - 2 * here + right)
    turned = _grid_values(surface, lines[row], vertex) * u[row, cell + 1] < 0
    row, cell, vertex = row[turned], cell[turned], vertex[turned]
    return row, scan[cell], vertex, scan[cell + 2]


def thinned(places: Iterable[float], gap: float) -> Float[np.ndarray, " kept"]:
    """The places in rising order without those that follow another one closely.

    >>> thinned([3.0, 1.0, 1.1, 1.3], 0.25).tolist()
    [1.0, 1.3, 3.0]
    """
    kept = [-np.inf]
    for place in sorted(places):
        if place - kept[-1] >= gap:
            kept.append(place)
    return np.array(kept[1:])


def padded_rows(
    row: Int[np.ndarray, " n"], place: Float[np.ndarray, " n"], lines: int, filling: float
) -> Float[np.ndarray, "lines most"]:
    """The places of each row in rising order, filled up to as many as the row with the most has.

    >>> padded_rows(np.array([1, 0, 1]), np.array([3.0, 2.0, 1.0]), 2, 9.0).tolist()
    [[2.0, 9.0], [1.0, 3.0]]
    """
    order = np.argsort(row, kind="stable")
    row, place = row[order], place[order]
    counts = np.bincount(row, minlength=lines)
    rank = np.arange(len(row)) - np.repeat(np.cumsum(counts) - counts, counts)
    crossings = np.full((lines, counts.max(initial=0)), filling)
    crossings[row, rank] = place
    return np.sort(crossings, axis=1)


def _grid_values(function: Function, lines: np.ndarray, inner: np.ndarray) -> np.ndarray:
    """The function at the lines' first coordinates and the inner positions, broadcast together."""
    shape = np.broadcast_shapes(lines.shape[:-1], inner.shape)
    points = np.empty((*shape, lines.shape[-1] + 1))
    points[..., :-1] = lines
    points[..., -1] = inner
    return np.broadcast_to(function(points), shape)


def rotated_function(function: Function, frame: Float[np.ndarray, "m D"]) -> Function:
    """The function of coordinates c along orthonormal rows: f(c @ frame)."""
    return lambda points: function(points @ frame)
