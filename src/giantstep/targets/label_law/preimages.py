"""Moments of h given y = g(h), for a deterministic function of one variable, to full precision.

The line is cut at kinks and critical points into monotone pieces. Given y, h is one of the
preimages z_i, with probability proportional to phi(z_i) / |g'(z_i)|. Averages over y are integrals
over h, cut where the number of preimages changes; a flat piece is an atom of y.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from giantstep.numerics.hermite import hermite_primitives, hermite_values
from giantstep.numerics.quadrature import CUTOFF
from giantstep.targets.label_law.moments import LabelMoments

Function = Callable[[np.ndarray], np.ndarray]

#: Points of the scan for critical points; a wave shorter than four spacings can be missed.
SCAN = 6000
MAX_PIECES = 80
#: Nodes in all, shared by the intervals between cuts (8 to 60 each).
NODES = 6000
BISECTIONS = 54
#: How close to a kink the function is evaluated.
NUDGE = 1e-12


@dataclass(frozen=True, eq=False)
class _Pieces:
    """Monotone pieces, in order: ends, one-sided values at the ends, and whether each is flat."""

    low: np.ndarray
    high: np.ndarray
    at_low: np.ndarray
    at_high: np.ndarray
    flat: np.ndarray


def preimage_moments(
    function: Function, kinks: Sequence[float], degree: int, nodes: int = NODES
) -> LabelMoments | None:
    """E[He_k(h) | y] at quadrature nodes of the law of y; None if the function oscillates too much.

    >>> moments = preimage_moments(lambda h: h**2, [], degree=2)
    >>> zeta = moments.moments[0, :, 2] / moments.mass
    >>> round(float(moments.mass @ zeta**2 / 2), 10)
    1.0
    """
    pieces = _monotone_pieces(function, kinks)
    if len(pieces.low) > MAX_PIECES:
        return None
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        cells = [_atoms(pieces, degree), _continuous(function, kinks, pieces, degree, nodes)]
    moments = np.concatenate(cells, axis=0)
    moments[:, 0] = np.maximum(moments[:, 0], 0.0)
    keep = moments[:, 0] > 0
    moments = moments[keep] / moments[keep, 0].sum()
    indices = tuple((k,) for k in range(degree + 1))
    return LabelMoments(indices, moments[:, 0], moments[None], "preimages")


def _monotone_pieces(function: Function, kinks: Sequence[float]) -> _Pieces:
    corners = [-CUTOFF, *sorted(k for k in kinks if -CUTOFF < k < CUTOFF), CUTOFF]
    edges: list[float] = []
    flat: list[bool] = []
    for left, right in itertools.pairwise(corners):
        count = max(math.ceil(SCAN * (right - left) / (2 * CUTOFF)), 64)
        # Points crowd towards the kinks: an extremum may lie close to one.
        grid = left + (right - left) * (1 - np.cos(np.linspace(0, np.pi, count))) / 2
        grid[0] += NUDGE
        grid[-1] -= NUDGE
        values = function(grid)
        direction = _directions(values)
        turns = np.flatnonzero(direction[1:] != direction[:-1]) + 1
        inner = [
            _extremum(function, grid[t - 1], grid[t + 1], direction[t - 1])
            if direction[t] * direction[t - 1] < 0
            else float(grid[t])
            for t in turns
        ]
        edges += [left, *inner]
        flat += [bool(direction[t] == 0) for t in [0, *turns]]
    low, high = np.array(edges), np.array([*edges[1:], CUTOFF])
    at_low, at_high = function(low + NUDGE), function(high - NUDGE)
    return _Pieces(low, high, at_low, at_high, np.array(flat))


def _directions(values: np.ndarray) -> np.ndarray:
    """+1, -1 or 0 between neighbours: rising, falling, or part of a flat stretch."""
    change = np.diff(values)
    rounding = 1e-14 * (np.abs(values[1:]) + np.abs(values[:-1]))
    level = np.abs(change) <= rounding
    # Equal neighbours on the two sides of an extremum are no flat stretch: ask for four in a row.
    run = np.convolve(level, np.ones(4), mode="full") == 4
    flat = np.any(np.lib.stride_tricks.sliding_window_view(run, 4)[: len(change)], axis=1)
    direction = np.where(flat, 0.0, np.sign(change))
    for at in np.flatnonzero((direction == 0) & ~flat):
        direction[at] = direction[at - 1] if at else 1.0
    return direction


def _extremum(function: Function, low: float, high: float, rising: float) -> float:
    """The turning point between low and high, by golden section."""
    ratio = (math.sqrt(5) - 1) / 2
    for _ in range(44):
        one, two = high - ratio * (high - low), low + ratio * (high - low)
        left, right = function(np.array([one, two])) * rising
        if left > right:
            high = two
        else:
            low = one
    return (low + high) / 2


def _atoms(pieces: _Pieces, degree: int) -> Float[np.ndarray, "atoms k"]:
    values = np.round(pieces.at_low[pieces.flat], 12)
    mass = hermite_primitives(pieces.high[pieces.flat], degree) - hermite_primitives(
        pieces.low[pieces.flat], degree
    )
    distinct, which = np.unique(values, return_inverse=True)
    moments = np.zeros((len(distinct), degree + 1))
    np.add.at(moments, which, mass.T)
    return moments


def _continuous(
    function: Function, kinks: Sequence[float], pieces: _Pieces, degree: int, count: int
) -> Float[np.ndarray, "nodes k"]:
    rising = np.flatnonzero(~pieces.flat)
    bottom = np.minimum(pieces.at_low, pieces.at_high)
    top = np.maximum(pieces.at_low, pieces.at_high)
    special = _distinct(np.concatenate([bottom[rising], top[rising]]))
    bottom, top = _snapped(bottom, special), _snapped(top, special)
    intervals = []
    for piece in rising:
        inside = special[(special > bottom[piece]) & (special < top[piece])]
        cuts = _preimages(function, pieces, np.full(len(inside), piece), inside)
        fixed = np.arange(math.ceil(pieces.low[piece]), pieces.high[piece])
        edges = np.unique([pieces.low[piece], *cuts, *fixed, pieces.high[piece]])
        edges = edges[np.diff(edges, prepend=-np.inf) > 1e-7]
        intervals += [(a, b, piece) for a, b in itertools.pairwise(edges)]
    if not intervals:
        return np.zeros((0, degree + 1))
    low, high, owner = (np.array(column) for column in zip(*intervals, strict=True))
    unit, weight = np.polynomial.legendre.leggauss(int(np.clip(count // len(low), 8, 60)))
    angle = np.pi * (unit + 1) / 2
    half = (high - low)[:, None] / 2
    nodes = (low[:, None] + half * (1 - np.cos(angle))).ravel()
    lengths = (half * (np.pi / 2) * weight * np.sin(angle)).ravel()
    mass = lengths * np.exp(-(nodes**2) / 2) / math.sqrt(2 * math.pi)
    own = np.repeat(owner, len(unit))

    labels = function(nodes)
    likely = _likelihood(function, kinks, nodes)
    total = likely * hermite_values(nodes, degree)
    for other in rising:
        hit = np.flatnonzero((own != other) & (labels > bottom[other]) & (labels < top[other]))
        roots = _preimages(function, pieces, np.full(len(hit), other), labels[hit])
        total[:, hit] += _likelihood(function, kinks, roots) * hermite_values(roots, degree)
    zeta = np.where(np.isfinite(total[0]) & (total[0] > 0), total / total[0], 0.0)
    return np.nan_to_num(mass * zeta).T


def _distinct(values: np.ndarray) -> np.ndarray:
    """The sorted values, those that differ by rounding only counted once."""
    ordered = np.sort(values)
    return ordered[np.diff(ordered, prepend=-np.inf) > 1e-10 * (1 + np.abs(ordered))]


def _snapped(values: np.ndarray, special: np.ndarray) -> np.ndarray:
    """Each value replaced by the special value that it equals up to rounding."""
    if not len(special):
        return values
    return special[np.argmin(np.abs(values[:, None] - special), axis=1)]


def _preimages(
    function: Function, pieces: _Pieces, piece: np.ndarray, labels: np.ndarray
) -> np.ndarray:
    """The point of each piece at which the function has the label, by bisection."""
    low, high = pieces.low[piece], pieces.high[piece]
    rising = pieces.at_high[piece] > pieces.at_low[piece]
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        below = (function(middle) < labels) == rising
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return (low + high) / 2


def _likelihood(function: Function, kinks: Sequence[float], z: np.ndarray) -> np.ndarray:
    """phi(z) / |g'(z)|, the derivative by differences of fourth order that stay off the kinks."""
    step = np.full(z.shape, 1e-3)
    for kink in kinks:
        step = np.minimum(step, np.abs(z - kink) / 2.5)
    step = np.maximum(step, 1e-13)
    slope = (
        8 * (function(z + step) - function(z - step))
        - (function(z + 2 * step) - function(z - 2 * step))
    ) / (12 * step)
    return np.exp(-(z**2) / 2) / np.abs(slope)
