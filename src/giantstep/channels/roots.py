"""Preimages of a function of one variable that is piecewise monotone."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float

Function = Callable[[np.ndarray], np.ndarray]

#: A standard Gaussian leaves this range with probability 1e-20.
REACH = 9.5
#: Spacing of the scan for turning points: two that are closer can be missed.
SCAN = 0.002
_BISECTIONS = 60


def bisected(
    function: Function, low: Float[np.ndarray, " n"], high: Float[np.ndarray, " n"]
) -> Float[np.ndarray, " n"]:
    """Where the function changes sign between ``low`` and ``high``, all brackets at once."""
    low, high = np.array(low, dtype=float), np.array(high, dtype=float)
    if not len(low):
        return low
    left = function(low) > 0
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        same = (function(middle) > 0) == left
        low, high = np.where(same, middle, low), np.where(same, high, middle)
    return (low + high) / 2


@dataclass(frozen=True, eq=False)
class Pieces:
    """Intervals on which a function is monotone or flat, with its one-sided values at the ends."""

    function: Function
    derivative: Function
    low: Float[np.ndarray, " k"]
    high: Float[np.ndarray, " k"]
    at_low: Float[np.ndarray, " k"]
    at_high: Float[np.ndarray, " k"]

    @property
    def flat(self) -> Bool[np.ndarray, " k"]:
        """Which pieces the function is constant on."""
        scale = 1e-12 * (1 + np.abs(self.at_low))
        middle = self.function((self.low + self.high) / 2)
        return (np.abs(self.at_high - self.at_low) <= scale) & (
            np.abs(middle - self.at_low) <= scale
        )

    def roots(self, y: Float[np.ndarray, " n"]) -> Float[np.ndarray, "n k"]:
        """The solution of function(z) = y on every piece; NaN where there is none, or many."""
        found = np.full((len(y), len(self.low)), np.nan)
        for k in np.flatnonzero(~self.flat):
            ends = np.sort([self.at_low[k], self.at_high[k]])
            slack = 1e-12 * (1 + np.abs(ends))
            inside = (y >= ends[0] - slack[0]) & (y <= ends[1] + slack[1])
            rising = self.at_high[k] > self.at_low[k]
            wanted = np.clip(y[inside], *ends)

            def above(z: np.ndarray, wanted: np.ndarray = wanted, up: bool = rising) -> np.ndarray:
                return (self.function(z) - wanted) * (1.0 if up else -1.0)

            low, high = np.full(len(wanted), self.low[k]), np.full(len(wanted), self.high[k])
            for _ in range(_BISECTIONS):
                middle = (low + high) / 2
                beyond = above(middle) > 0
                low, high = np.where(beyond, low, middle), np.where(beyond, middle, high)
            found[inside, k] = (low + high) / 2
        return found

    def slopes(self, z: Float[np.ndarray, "n k"]) -> Float[np.ndarray, "n k"]:
        """|derivative| at the roots, kept away from 0 where two of them merge."""
        return np.maximum(np.abs(self.derivative(z.ravel()).reshape(z.shape)), 1e-12)


def monotone_pieces(function: Function, derivative: Function, kinks: Sequence[float]) -> Pieces:
    """Cut [-REACH, REACH] at the kinks and at the turning points of the function between them."""
    corners = [-REACH, *[k for k in kinks if -REACH < k < REACH], REACH]
    edges = [np.array([-REACH])]
    for low, high in itertools.pairwise(corners):
        # Strictly inside: at the corner itself the function may take its value from the other side.
        grid = np.linspace(low, high, int(np.ceil((high - low) / SCAN)) + 2)[1:-1]
        signs = np.sign(derivative(grid))
        turn = signs[1:] * signs[:-1] < 0
        at_rest = grid[1:-1][(signs[1:-1] == 0) & (signs[2:] * signs[:-2] < 0)]
        turning = bisected(derivative, grid[:-1][turn], grid[1:][turn])
        edges.append(np.sort(np.concatenate([turning, at_rest, [high]])))
    cuts = np.concatenate(edges)
    inset = np.minimum(1e-13 * (1 + np.abs(cuts)), 1e-3)
    at_low, at_high = function(cuts[:-1] + inset[:-1]), function(cuts[1:] - inset[1:])
    return Pieces(function, derivative, cuts[:-1], cuts[1:], at_low, at_high)
