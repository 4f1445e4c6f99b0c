"""A function along lines: nodes at its kinks and turning points, and where it crosses levels."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from giantstep.numerics.grids import Function, is_above_surface, line_crossings
from giantstep.numerics.hermite import hermite_primitives
from giantstep.numerics.quadrature import CUTOFF
from giantstep.numerics.solve import bisected

#: Half the distance between the two nodes at either side of a kink.
NUDGE = 1e-11
#: Nodes that are closer than this stand at the two sides of a kink.
TOGETHER = 1e-6
#: Relative curvature within a cell up to which a crossing is where a parabola puts it, and from
#: which on it is bisected; between the two it is improved by evaluating the function there.
STRAIGHT, CURVED = 0.03, 1.2
BISECTIONS = 24


@dataclass(frozen=True, eq=False)
class Fibres:
    """Values of a function at nodes along lines; ``lines`` are the coordinates that are fixed."""

    function: Function
    lines: Float[np.ndarray, "lines outer"]
    at: Float[np.ndarray, "lines nodes"]
    values: Float[np.ndarray, "lines nodes"]

    def moments_below(
        self, edges: Float[np.ndarray, " edges"], degree: int
    ) -> Float[np.ndarray, "k lines edges_and_infinity"]:
        """E[He_k(h) 1{g <= e}] on each line, for every edge e and for e = infinity.

        The set {g <= e} ends where g rises through e and starts where it falls through e.
        """
        lines, count = len(self.values), len(edges)
        rank = np.searchsorted(edges, self.values)
        first = np.minimum(rank[:, :-1], rank[:, 1:])
        crossed = np.abs(np.diff(rank, axis=1))
        line, cell = np.nonzero(crossed)
        times = crossed[line, cell]
        which = np.repeat(np.arange(len(line)), times)
        within = np.arange(len(which)) - np.repeat(np.cumsum(times) - times, times)
        edge = first[line, cell][which] + within
        line, cell = line[which], cell[which]

        rises = np.sign(np.diff(self.values, axis=1)[line, cell])
        ends = rises * hermite_primitives(self._crossings(line, cell, edges[edge]), degree)
        below = np.zeros((degree + 1, lines, count + 1))
        for k in range(degree + 1):
            sums = np.bincount(line * count + edge, weights=ends[k], minlength=lines * count)
            below[k, :, :count] = sums.reshape(lines, count)
        below[0, :, :count] += self.values[:, -1:] <= edges
        below[0, :, count] = 1.0
        return below

    def _crossings(
        self, line: np.ndarray, cell: np.ndarray, level: np.ndarray
    ) -> Float[np.ndarray, " crossings"]:
        """Where, within the given cells of the given lines, the function has the given levels."""
        start, length = self.at[line, cell], np.diff(self.at, axis=1)[line, cell]
        low, step = self.values[line, cell], np.diff(self.values, axis=1)[line, cell]
        bend = self._bends()[line, cell]
        share = (level - low) / step
        # On the parabola through neighbouring nodes, share = position - bend position (1-position).
        inside = np.clip(bend, -1, 1)
        root = np.sqrt(np.maximum((1 - inside) ** 2 + 4 * inside * share, 0))
        # Never outside of its cell: the function may jump right there.
        position = np.clip(2 * share / np.maximum(1 - inside + root, 1e-300), 0, 1)

        def value(chosen: np.ndarray, position: np.ndarray) -> np.ndarray:
            points = np.column_stack(
                [self.lines[line[chosen]], start[chosen] + position * length[chosen]]
            )
            return self.function(points)

        some = np.flatnonzero((np.abs(bend) > STRAIGHT) & (np.abs(bend) < CURVED))
        for _ in range(2):
            reached = (value(some, position[some]) - low[some]) / step[some]
            slope = np.maximum(1 - bend[some] * (1 - 2 * position[some]), 0.1)
            position[some] = np.clip(position[some] + (share[some] - reached) / slope, 0, 1)
        curved = np.flatnonzero(np.abs(bend) >= CURVED)

        def is_beyond(position: np.ndarray) -> np.ndarray:
            return (value(curved, position) - level[curved]) * step[curved] > 0

        left, right = bisected(is_beyond, np.zeros(len(curved)), np.ones(len(curved)), BISECTIONS)
        position[curved] = (left + right) / 2
        return start + position * length

    def _bends(self) -> Float[np.ndarray, "lines cells"]:
        """Relative curvature within each cell: length^2 g'' / (2 dg).

        Cells at the two sides of a kink have the curvature of their own side only.
        """
        length, step = np.diff(self.at, axis=1), np.diff(self.values, axis=1)
        smooth = length > TOGETHER
        with np.errstate(divide="ignore", invalid="ignore"):
            slope = np.where(smooth, step / length, np.nan)
            curvature = 2 * np.diff(slope, axis=1) / (length[:, 1:] + length[:, :-1])
            padded = np.pad(curvature, ((0, 0), (1, 1)), constant_values=np.nan)
            one, two = padded[:, :-1], padded[:, 1:]
            mean = np.where(np.isnan(one), two, np.where(np.isnan(two), one, (one + two) / 2))
            return np.nan_to_num(length**2 * mean / (2 * step), posinf=0, neginf=0)


def label_fibre_nodes(kinks: Sequence[float], count: int) -> Float[np.ndarray, " nodes"]:
    """Evenly spaced nodes, with a pair of nodes at the two sides of every kink."""
    corners = [-CUTOFF, *(k for k in kinks if -CUTOFF < k < CUTOFF), CUTOFF]
    parts = []
    for left, right in itertools.pairwise(corners):
        share = max(int(np.ceil(count * (right - left) / (2 * CUTOFF))), 3)
        parts.append(np.linspace(left + NUDGE, right - NUDGE, share + 1))
    return np.concatenate(parts)


def label_fibres(
    function: Function,
    surfaces: Sequence[Function],
    lines: Float[np.ndarray, "lines outer"],
    grid: Float[np.ndarray, " nodes"],
) -> Fibres:
    """The function on the lines: nodes of the grid, pairs at kink surfaces, turning points."""
    at = np.broadcast_to(grid, (len(lines), len(grid)))
    if surfaces:
        labels = [functools.partial(is_above_surface, surface) for surface in surfaces]
        cuts = np.minimum(line_crossings(labels, lines, surfaces), CUTOFF)
        at = np.sort(np.concatenate([at, cuts - NUDGE, cuts + NUDGE], axis=1), axis=1)
    points = np.empty((*at.shape, lines.shape[1] + 1))
    points[..., :-1] = lines[:, None, :]
    points[..., -1] = at
    values = np.broadcast_to(function(points), at.shape)
    return _label_turning_points(Fibres(function, lines, at, values))


def _label_turning_points(fibres: Fibres) -> Fibres:
    """Nodes next to a smooth extremum are moved onto it: levels beyond them would be missed."""
    at, values = fibres.at.copy(), fibres.values.copy()
    for _ in range(2):
        step, length = np.diff(values, axis=1), np.diff(at, axis=1)
        apart = (length[:, 1:] > TOGETHER) & (length[:, :-1] > TOGETHER)
        line, node = np.nonzero((step[:, 1:] * step[:, :-1] < 0) & apart)
        left, right = length[line, node], length[line, node + 1]
        slopes = step[line, node] / left, step[line, node + 1] / right
        # The vertex of the parabola through the three nodes, between the middles of the cells.
        moved = (slopes[0] * right + slopes[1] * left) / (slopes[0] - slopes[1]) / 2
        place = at[line, node + 1] + np.clip(moved, -0.9 * left, 0.9 * right)
        value = fibres.function(np.column_stack([fibres.lines[line], place]))
        better = (value - values[line, node + 1]) * step[line, node] > 0
        at[line[better], node[better] + 1] = place[better]
        values[line[better], node[better] + 1] = value[better]
    return Fibres(fibres.function, fibres.lines, at, values)
