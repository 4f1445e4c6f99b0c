"""Committees: targets that are a sum over directions of one link, or a vote on such a sum."""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np

from giantstep.errors import TargetError
from giantstep.targets.evaluate import NUMPY, evaluate
from giantstep.targets.expression import Target
from giantstep.targets.printing import to_text
from giantstep.targets.separation import renamed
from giantstep.targets.tree import Call, Node, Sum, Variable, replaced, variables, walk

#: Points at which two links must agree, and how exactly.
_PROBES = 200
_EXACT = 1e-9
#: What stands for the vote while the rest of the label is looked at.
_VOTE = Variable("h0")
#: What message passing covers beyond three directions, in words.
COVERED = (
    "a committee: one link summed over the directions with equal weights, as in "
    "tanh(h1) + tanh(h2) + tanh(h3) + tanh(h4), or a vote such as sign(sign(h1) + ... + sign(h5))"
)


@dataclass(frozen=True)
class Committee:
    """y = shift + sum_i g(h_i) + noise; or a vote on that sum.

    The ``link`` g is a target of one direction, its factor included. ``noise`` is the variance of
    the Gaussian noise z1, z2, .. inside the sum. ``vote`` holds the labels for a negative sum, for
    a tie and for a positive one; ``vote_noise`` is the variance of what is added to the vote.
    """

    link: Target
    rank: int
    shift: float
    noise: float
    vote: tuple[float, float, float] | None = None
    vote_noise: float = 0.0

    @property
    def is_even(self) -> bool:
        """Whether g(-h) = g(h), so that labels never tell the sign of a direction."""
        points = np.linspace(0.05, 6.0, _PROBES)[:, None]
        up, down = self.link.numpy(points), self.link.numpy(-points)
        return bool(np.all(np.abs(up - down) <= _EXACT * (1 + np.abs(up))))

    def with_noise(self, variance: float) -> Committee:
        """The same labels with more additive noise."""
        if self.vote is None:
            return Committee(self.link, self.rank, self.shift, self.noise + variance)
        more = self.vote_noise + variance
        return Committee(self.link, self.rank, self.shift, self.noise, self.vote, more)


@functools.lru_cache(maxsize=256)
def committee_of(target: Target) -> Committee | None:
    """The committee that a target of two or more directions is; None if it is not one.

    >>> found = committee_of(Target("(tanh(h1) + tanh(h2) + tanh(h3))/3 + 0.5*z1"))
    >>> found.link, found.rank, found.noise
    (Target('tanh(h1)/3'), 3, 0.25)
    >>> committee_of(Target("sign(sign(h1) + sign(h2) + sign(h3))")).vote
    (-1.0, 0.0, 1.0)
    >>> committee_of(Target("tanh(h1) + 2*tanh(h2)")) is None
    True
    """
    if target.rank < 2:
        return None
    summed = _summed(target.tree, target.rank)
    return summed if summed is not None else _voted(target.tree, target.rank)


def _summed(tree: Node, rank: int) -> Committee | None:
    """The committee whose label is the sum itself."""
    terms = tree.terms if isinstance(tree, Sum) else (tree,)
    shift, noise = 0.0, 0.0
    units: dict[str, list[Node]] = {}
    for term in terms:
        names = sorted(variables(term))
        if not names:
            shift += float(evaluate(term, NUMPY, {}))
        elif len(names) > 1:
            return None
        elif names[0].startswith("z"):
            slope = _slope(term, names[0])
            if slope is None:
                return None
            noise += slope**2
        else:
            units.setdefault(names[0], []).append(term)
    if len(units) != rank:
        return None
    links = [_first_unit(parts, name) for name, parts in sorted(units.items())]
    probes = np.random.default_rng(4).normal(size=_PROBES) * 2
    values = [_at(link, probes) for link in links]
    scale = _EXACT * (1 + np.abs(values[0]))
    if not all(np.all(np.abs(other - values[0]) <= scale) for other in values[1:]):
        return None
    try:
        link = Target(to_text(links[0]))
    except TargetError:
        return None
    return Committee(link, rank, shift, noise)


def _voted(tree: Node, rank: int) -> Committee | None:
    """The committee whose label is decided by the sign of the sum."""
    names = [node for node in walk(tree) if isinstance(node, Call) and node.function in _OUTCOMES]
    calls = [call for call in names if sum(n.startswith("h") for n in variables(call)) == rank]
    if len(calls) != 1:
        return None
    call = calls[0]
    inside = _summed(call.arguments[0], rank)
    # The rest of the label must be the vote, times a number, plus numbers and Gaussian noise.
    rest = replaced(tree, {call: _VOTE})
    if inside is None or variables(rest) & variables(call):
        return None
    outside = _summed(rest, 1)
    if outside is None:
        return None
    low, tie, high = (
        float(outside.link.numpy(np.array([[value]]))[0]) + outside.shift
        for value in _OUTCOMES[call.function]
    )
    vote = (low, tie, high)
    return Committee(inside.link, rank, inside.shift, inside.noise, vote, outside.noise)


#: Functions that vote, with what they give below zero, at zero and above.
_OUTCOMES = {"sign": (-1.0, 0.0, 1.0), "step": (0.0, 0.0, 1.0)}


def _first_unit(parts: list[Node], name: str) -> Node:
    """The terms of one direction as a function of h1."""
    node = parts[0] if len(parts) == 1 else Sum(tuple(parts))
    return renamed(node, {name: "h1"})


def _at(node: Node, points: np.ndarray) -> np.ndarray:
    with np.errstate(all="ignore"):
        return np.broadcast_to(evaluate(node, NUMPY, {"h1": points}), points.shape)


def _slope(term: Node, name: str) -> float | None:
    """The factor of a noise that enters linearly; None if it does not."""
    unit = renamed(term, {name: "h1"})
    probes = np.random.default_rng(5).normal(size=_PROBES)
    slope = float(_at(unit, np.array([1.0]))[0])
    return slope if np.allclose(_at(unit, probes), slope * probes, atol=_EXACT) else None
