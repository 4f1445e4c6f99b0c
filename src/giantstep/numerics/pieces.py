"""A function of one variable in pieces: monotone ones and their preimages, interpolated panels."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

from giantstep.numerics.quadrature import CUTOFF
from giantstep.numerics.solve import bracketed_roots, narrowed_minima

Function = Callable[[np.ndarray], np.ndarray]

#: Spacing of the scan for turning points; a wave shorter than four spacings can be missed.
SCAN = 0.003
#: How close to the ends of a piece, where it may jump, the function is evaluated.
NUDGE = 1e-12
#: Values that differ by less than this, relatively, are the same label.
LEVEL = 1e-12


@dataclass(frozen=True, eq=False)
class Pieces:
    """Intervals on which a function is monotone or flat, with its one-sided values at the ends."""

    function: Function
    low: Float[np.ndarray, " k"]
    high: Float[np.ndarray, " k"]
    at_low: Float[np.ndarray, " k"]
    at_high: Float[np.ndarray, " k"]
    flat: Bool[np.ndarray, " k"]

    def __len__(self) -> int:
        return len(self.low)

    @property
    def bottom(self) -> Float[np.ndarray, " k"]:
        """The smallest value on each piece."""
        return np.minimum(self.at_low, self.at_high)

    @property
    def top(self) -> Float[np.ndarray, " k"]:
        """The largest value on each piece."""
        return np.maximum(self.at_low, self.at_high)

    def solve(
        self, piece: Int[np.ndarray, " n"], y: Float[np.ndarray, " n"]
    ) -> Float[np.ndarray, " n"]:
        """The point of each given piece at which the function has the given value."""
        low, high = self.low[piece] + NUDGE, self.high[piece] - NUDGE
        y = np.clip(y, self.bottom[piece], self.top[piece])
        return bracketed_roots(lambda z, y: self.function(z) - y, low, high, y).value

    def roots(self, y: Float[np.ndarray, " n"]) -> Float[np.ndarray, "n k"]:
        """The solution of function(z) = y on every piece; NaN where there is none, or many.

        >>> square = monotone_pieces(lambda z: z**2, [])
        >>> square.roots(np.array([4.0])).round(9).tolist()
        [[-2.0, 2.0]]
        """
        found = np.full((len(y), len(self)), np.nan)
        slack = LEVEL * (1 + np.abs([self.bottom, self.top]))
        inside = (y[:, None] >= self.bottom - slack[0]) & (y[:, None] <= self.top + slack[1])
        label, piece = np.nonzero(inside & ~self.flat)
        if len(label):
            found[label, piece] = self.solve(piece, y[label])
        return found


def monotone_pieces(
    function: Function, kinks: Sequence[float], derivative: Function | None = None
) -> Pieces:
    """Cut [-CUTOFF, CUTOFF] at the kinks and at the turning points of the function between them.

    Where the derivative is given, its sign tells rise from fall even where the function saturates,
    and only what is level from kink to kink is flat.

    >>> monotone_pieces(np.cos, []).low.round(4).tolist()
    [-9.0, -6.2832, -3.1416, 0.0, 3.1416, 6.2832]
    """
    corners = [-CUTOFF, *sorted(k for k in kinks if -CUTOFF < k < CUTOFF), CUTOFF]
    edges: list[float] = []
    flat: list[bool] = []
    for left, right in itertools.pairwise(corners):
        count = max(math.ceil((right - left) / SCAN), 64)
        # Points crowd towards the kinks: an extremum may lie close to one.
        grid = left + (right - left) * (1 - np.cos(np.linspace(0, np.pi, count))) / 2
        grid[0] += NUDGE
        grid[-1] -= NUDGE
        if derivative is None:
            direction = _slopes_between_neighbours(function(grid))
            turns = _monotone_piece_ends(direction)
            inner = grid[turns]
            turning = direction[turns] * direction[turns - 1] < 0
            at = turns[turning]
            turned = functools.partial(_turned, function, -direction[at - 1])
            inner[turning] = narrowed_minima(turned, grid[at - 1], grid[at + 1])
        else:
            middles = (grid[1:] + grid[:-1]) / 2
            slopes = np.zeros(len(middles)) if _is_constant(function(grid)) else derivative(middles)
            direction, last = _slope_signs(slopes)
            turns = _monotone_piece_ends(direction)
            found = bracketed_roots(derivative, middles[last[turns - 1]], middles[turns])
            inner = found.value
        edges += [left, *inner]
        flat += [bool(direction[t] == 0) for t in [0, *turns]]
    low, high = np.array(edges), np.array([*edges[1:], CUTOFF])
    at_low, at_high = function(low + NUDGE), function(high - NUDGE)
    return Pieces(function, low, high, at_low, at_high, np.array(flat))


def _turned(function: Function, sides: np.ndarray, z: np.ndarray) -> np.ndarray:
    return sides * function(z)


def _monotone_piece_ends(direction: np.ndarray) -> np.ndarray:
    """Where a direction differs from the one before."""
    return np.flatnonzero(direction[1:] != direction[:-1]) + 1


def _is_constant(values: np.ndarray) -> bool:
    return bool(np.ptp(values) <= LEVEL * (1 + np.abs(values).max()))


def _slope_signs(slopes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """+1 or -1, or 0 if all slopes are zero, and where that sign was last seen.

    A slope of zero has the sign of the one before; the first ones, of the first that is not zero.
    """
    signs = np.sign(slopes)
    seen = np.maximum.accumulate(np.where(signs != 0, np.arange(len(signs)), -1))
    last = np.where(seen < 0, np.argmax(signs != 0), seen)
    return signs[last], last


def _slopes_between_neighbours(values: np.ndarray) -> np.ndarray:
    """+1, -1 or 0 between neighbours: rising, falling, or part of a flat stretch."""
    change = np.diff(values)
    rounding = 1e-14 * (np.abs(values[1:]) + np.abs(values[:-1]))
    return _signs_without_short_rests(np.sign(change), np.abs(change) <= rounding)


def _signs_without_short_rests(signs: np.ndarray, level: np.ndarray) -> np.ndarray:
    """Equal neighbours on the two sides of an extremum are no flat stretch: four in a row are."""
    run = np.convolve(level, np.ones(4), mode="full") == 4
    flat = np.any(np.lib.stride_tricks.sliding_window_view(run, 4)[: len(signs)], axis=1)
    direction = np.where(flat, 0.0, signs)
    for at in np.flatnonzero((direction == 0) & ~flat):
        direction[at] = direction[at - 1] if at else 1.0
    return direction


#: Chebyshev nodes per panel: a function whose poles lie a panel's length away comes out to 1e-10.
ORDER = 14


class Piecewise(NamedTuple):
    """Values at the Chebyshev nodes of each panel."""

    edges: Float[np.ndarray, " edges"]
    values: Float[np.ndarray, "panels nodes"]

    @classmethod
    def of(cls, function: Callable[[np.ndarray], np.ndarray], edges: np.ndarray) -> Piecewise:
        """Tabulate the function between the first and the last edge."""
        edges = np.unique(edges)
        half = np.diff(edges)[:, None] / 2
        return cls(edges, function(edges[:-1, None] + half * (1 + _nodes())))

    def __call__(self, at: Float[np.ndarray, " ..."]) -> Float[np.ndarray, " ..."]:
        """The interpolated function, by the barycentric formula.

        >>> wave = Piecewise.of(np.sin, np.linspace(-3, 3, 4))
        >>> bool(abs(wave(np.array([1.2345])) - np.sin(1.2345)) < 1e-10)
        True
        """
        panel = np.clip(np.searchsorted(self.edges, at) - 1, 0, len(self.values) - 1)
        low, high = self.edges[panel], self.edges[panel + 1]
        gaps = (2 * (at - low) / (high - low) - 1)[..., None] - _nodes()
        # A point on a node takes its value: the quotient below is then 1 to rounding.
        gaps = np.where(np.abs(gaps) < 1e-15, 1e-15, gaps)
        shares = (-1.0) ** np.arange(ORDER) * np.sin(_chebyshev_angles()) / gaps
        return np.sum(shares * self.values[panel], axis=-1) / np.sum(shares, axis=-1)


def _chebyshev_angles() -> np.ndarray:
    return np.pi * (np.arange(ORDER) + 0.5) / ORDER


def _nodes() -> np.ndarray:
    return -np.cos(_chebyshev_angles())
