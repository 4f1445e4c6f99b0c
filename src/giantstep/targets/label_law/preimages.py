"""Moments of h given y = g(h), for labels that move with one direction, to full precision.

Each branch of the label is cut at kinks and critical points into monotone pieces. Given y, the
moving direction is one of the preimages z_i of y on all branches, with probability proportional to
phi(z_i) / |g'(z_i)| times the probability of the branch. Averages over y are integrals over h, cut
where the number of preimages changes; a flat piece is an atom of y.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np
from jaxtyping import Float, Int

from giantstep.numerics.hermite import hermite_primitives, hermite_values
from giantstep.numerics.monotone import Function, Pieces
from giantstep.targets.label_law.branches import Branch, Branches
from giantstep.targets.label_law.moments import LabelMoments

MAX_PIECES = 80
#: Nodes in all, shared by the intervals between cuts (8 to 60 each).
NODES = 6000


def preimage_moments(branches: Branches, nodes: int = NODES) -> LabelMoments | None:
    """E[He_j(h) | y] at quadrature nodes of the law of y; None if the label oscillates too much.

    >>> from giantstep.targets.label_law.branches import single_branch
    >>> moments = preimage_moments(single_branch(lambda h: h**2, [], degree=2))
    >>> zeta = moments.moments[0, :, 2] / moments.mass
    >>> round(float(moments.mass @ zeta**2 / 2), 10)
    1.0
    """
    every = [branch.pieces for branch in branches.branches]
    if sum(map(len, every)) > MAX_PIECES:
        return None
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        cells = [_atoms(branches, every), _continuous(branches, every, nodes)]
    moments = np.concatenate(cells, axis=0)
    moments[:, 0] = np.maximum(moments[:, 0], 0.0)
    keep = moments[:, 0] > 0
    moments = moments[keep] / moments[keep, 0].sum()
    return LabelMoments(
        branches.indices, moments[:, 0], moments[None], "preimages", error=branches.error
    )


def _atoms(branches: Branches, every: Sequence[Pieces]) -> Float[np.ndarray, "atoms indices"]:
    """The moments on the values that are taken on whole intervals."""
    values, rows = [], []
    for branch, pieces in zip(branches.branches, every, strict=True):
        flat, powers = pieces.flat, branches.powers
        high, low = (
            hermite_primitives(ends, max(powers)) for ends in (pieces.high[flat], pieces.low[flat])
        )
        values.append(np.round(pieces.at_low[flat], 12))
        rows.append((high - low)[powers].T * branch.moments)
    distinct, which = np.unique(np.concatenate(values), return_inverse=True)
    moments = np.zeros((len(distinct), len(branches.indices)))
    np.add.at(moments, which, np.concatenate(rows))
    return moments


def _continuous(
    branches: Branches, every: Sequence[Pieces], count: int
) -> Float[np.ndarray, "nodes indices"]:
    """The moments at labels of positive density: nodes of all branches, weighted."""
    ends = [value[~pieces.flat] for pieces in every for value in (pieces.bottom, pieces.top)]
    special = _distinct(np.concatenate(ends))
    cuts = [_intervals(pieces, special) for pieces in every]
    total = sum(len(low) for low, _, _ in cuts)
    powers = branches.powers
    if not total:
        return np.zeros((0, len(powers)))
    unit, weight = np.polynomial.legendre.leggauss(int(np.clip(count // total, 8, 60)))
    angle = np.pi * (unit + 1) / 2
    found = []
    for number, (low, high, owner) in enumerate(cuts):
        half = (high - low)[:, None] / 2
        nodes = (low[:, None] + half * (1 - np.cos(angle))).ravel()
        lengths = (half * (np.pi / 2) * weight * np.sin(angle)).ravel()
        density = np.exp(-(nodes**2) / 2) / math.sqrt(2 * math.pi)
        own = np.repeat(owner, len(unit))
        labels = every[number].function(nodes)
        given = np.zeros((len(nodes), len(powers)))
        for other, (branch, pieces) in enumerate(zip(branches.branches, every, strict=True)):
            bottom, top = (_snapped(end, special) for end in (pieces.bottom, pieces.top))
            reached = (labels[:, None] > bottom) & (labels[:, None] < top) & ~pieces.flat
            if other == number:
                reached[np.arange(len(own)), own] = False
            node, piece = np.nonzero(reached)
            roots = pieces.solve(piece, labels[node])
            if other == number:
                # A node is a preimage of its own label, also where the slope vanishes.
                node = np.concatenate([node, np.arange(len(nodes))])
                roots = np.concatenate([roots, nodes])
            along = np.zeros((len(nodes), max(powers) + 1))
            np.add.at(
                along, node, (_likelihood(branch, roots) * hermite_values(roots, max(powers))).T
            )
            given += along[:, powers] * branch.moments
        mass = lengths * density * branches.branches[number].moments[0]
        told = np.where(np.isfinite(given[:, :1]) & (given[:, :1] > 0), given / given[:, :1], 0.0)
        found.append(np.nan_to_num(mass[:, None] * told))
    return np.concatenate(found)


def _intervals(
    pieces: Pieces, special: Float[np.ndarray, " values"]
) -> tuple[Float[np.ndarray, " n"], Float[np.ndarray, " n"], Int[np.ndarray, " n"]]:
    """The pieces that are not flat, cut where the label is special: low and high ends, piece."""
    bottom, top = _snapped(pieces.bottom, special), _snapped(pieces.top, special)
    inside = (special > bottom[:, None]) & (special < top[:, None]) & ~pieces.flat[:, None]
    owner, which = np.nonzero(inside)
    cuts = pieces.solve(owner, special[which])
    found = []
    for piece in np.flatnonzero(~pieces.flat):
        fixed = np.arange(math.ceil(pieces.low[piece]), pieces.high[piece])
        edges = np.unique([pieces.low[piece], *cuts[owner == piece], *fixed, pieces.high[piece]])
        edges = edges[np.diff(edges, prepend=-np.inf) > 1e-7]
        found += [(a, b, piece) for a, b in itertools.pairwise(edges)]
    low, high, pieces_of = np.array(found).reshape(-1, 3).T
    return low, high, pieces_of.astype(int)


def _distinct(values: np.ndarray) -> np.ndarray:
    """The sorted values, those that differ by rounding only counted once."""
    ordered = np.sort(values)
    return ordered[np.diff(ordered, prepend=-np.inf) > 1e-10 * (1 + np.abs(ordered))]


def _snapped(values: np.ndarray, special: np.ndarray) -> np.ndarray:
    """Each value replaced by the special value that it equals up to rounding."""
    if not len(special):
        return values
    return special[np.argmin(np.abs(values[:, None] - special), axis=1)]


def _likelihood(branch: Branch, z: np.ndarray) -> np.ndarray:
    """phi(z) / |g'(z)|, the derivative by differences of fourth order that stay off the kinks."""
    function: Function = branch.function
    step = np.full(z.shape, 1e-3)
    for kink in branch.kinks:
        step = np.minimum(step, np.abs(z - kink) / 2.5)
    step = np.maximum(step, 1e-13)
    slope = (
        8 * (function(z + step) - function(z - step))
        - (function(z + 2 * step) - function(z - 2 * step))
    ) / (12 * step)
    return np.exp(-(z**2) / 2) / np.abs(slope)
