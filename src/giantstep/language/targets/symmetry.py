"""Symmetries of a target, and committees: sums over the directions of one link."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeVar

import numpy as np
from jaxtyping import Float

from giantstep.errors import TargetError
from giantstep.language.expressions.evaluate import NUMPY, evaluate_expression, expression_on_line
from giantstep.language.expressions.language import FUNCTIONS
from giantstep.language.expressions.printing import expression_text
from giantstep.language.expressions.tree import (
    Call,
    Node,
    Sum,
    Variable,
    expression_variables,
    replaced_expression,
    sum_expression,
    walk_expression,
)
from giantstep.language.targets.integration import renamed_target
from giantstep.language.targets.target import Target
from giantstep.numerics.hermite import MultiIndex

#: Random points at which a symmetry must hold, and how exactly.
PROBES = 300
EXACT = 1e-9
#: Directions up to which all sets of signs are tried; beyond, single ones, pairs, and all at once.
ALL_SIGNS = 10
#: Directions up to which all orders with all signs are tried.
ALL_ORDERS = 4

Value = TypeVar("Value", float, np.ndarray)


class Effect(NamedTuple):
    """What a signed permutation Q of the directions does: g(Q h) = sign g(h) + constant."""

    sign: int
    constant: float

    @property
    def none(self) -> bool:
        """Whether the target stays exactly the same."""
        return self.sign == 1 and self.constant == 0.0


@functools.lru_cache(maxsize=64)
def _target_probes(target: Target) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    random = np.random.default_rng(6)
    h = random.normal(size=(PROBES, target.rank))
    z = random.normal(size=(PROBES, target.noises))
    return h, z, np.broadcast_to(target.numpy(h, z), PROBES)


def _symmetry_effect(target: Target, order: Sequence[int], signs: Sequence[float]) -> Effect | None:
    """How the label changes if h_i becomes ``signs[i] * h[order[i]]``; None if not by a rule.

    The noises inside the label stay as they are.

    >>> _symmetry_effect(Target("sign(h1*h2)"), (1, 0), (1.0, -1.0))
    Effect(sign=-1, constant=0.0)
    """
    h, z, before = _target_probes(target)
    after = target.numpy(h[:, list(order)] * np.asarray(signs), z)
    scale = EXACT * (1 + np.abs(before))
    for sign in (1, -1):
        gap = after - sign * before
        constant = float(np.median(gap))
        if np.all(np.abs(gap - constant) <= scale):
            return Effect(sign, 0.0 if abs(constant) <= EXACT else constant)
    return None


def flipped_target(target: Target, axes: Sequence[int]) -> Effect | None:
    """The effect of changing the signs of some directions."""
    signs = [-1.0 if axis in axes else 1.0 for axis in range(target.rank)]
    return _symmetry_effect(target, range(target.rank), signs)


def _exchanged(target: Target, one: int, two: int) -> Effect | None:
    """The effect of exchanging two directions."""
    order = list(range(target.rank))
    order[one], order[two] = two, one
    return _symmetry_effect(target, order, [1.0] * target.rank)


def is_odd_target(target: Target) -> bool:
    """Whether g(-h) = -g(h), for every noise inside the label.

    >>> [is_odd_target(Target(text)) for text in ("sin(h1)", "1 + h1", "h1 + h1*h2")]
    [True, False, False]
    """
    return flipped_target(target, range(target.rank)) == Effect(-1, 0.0)


def target_permutations(target: Target) -> list[Float[np.ndarray, "r r"]]:
    """All matrices Q that only change signs and order, for which g(Q h) = +-g(h) + constant.

    >>> len(target_permutations(Target("h1 + abs(h2)")))
    2
    """
    eye = np.eye(target.rank)
    return [eye[list(order)] * np.array(signs)[:, None] for order, signs in _symmetries(target)]


def _symmetries(target: Target) -> list[tuple[Sequence[int], Sequence[float]]]:
    """All orders and signs of the directions that have an effect."""
    orders = itertools.permutations(range(target.rank))
    signs = itertools.product((1.0, -1.0), repeat=target.rank)
    return [one for one in itertools.product(orders, signs) if _symmetry_effect(target, *one)]


def _is_symmetry(change: Effect | None, exactly: bool) -> bool:
    """Whether a change has an effect; ``exactly``: whether it leaves every label as it is."""
    return change is not None and (change.none or not exactly)


def _target_flips(target: Target, exactly: bool) -> list[tuple[int, ...]]:
    """Sets of directions whose change of sign counts."""
    rank = target.rank
    sizes = range(1, rank + 1) if rank <= ALL_SIGNS else (1, 2, rank)
    tried = (itertools.combinations(range(rank), size) for size in sizes)
    every = itertools.chain.from_iterable(tried)
    return [chosen for chosen in every if _is_symmetry(flipped_target(target, chosen), exactly)]


def _independent_flips(flips: Sequence[tuple[int, ...]]) -> Iterable[set[int]]:
    """Sets that generate the same changes of sign, none of them a product of others."""
    found: dict[int, set[int]] = {}
    for flip in flips:
        rest = set(flip)
        while rest and max(rest) in found:
            rest ^= found[max(rest)]
        if rest:
            found[max(rest)] = rest
    return found.values()


def _generators(target: Target) -> list[tuple[Sequence[int], Sequence[float]]]:
    """Orders and signs that generate symmetries up to a sign and a constant.

    All there are for few directions; for more, changes of sign, exchanges of two directions, and
    of two sets of directions that may be exchanged among themselves.
    """
    rank = target.rank
    axes, plus = list(range(rank)), [1.0] * rank
    if rank <= ALL_ORDERS:
        return _symmetries(target)
    found: list[tuple[Sequence[int], Sequence[float]]] = [
        (axes, [-1.0 if axis in chosen else 1.0 for axis in axes])
        for chosen in _independent_flips(_target_flips(target, exactly=False))
    ]
    classes = exchangeable_target_directions(target, exactly=False)
    blocks = [([one], [two]) for c in classes for one, two in itertools.pairwise(c)]
    for left, right in [*blocks, *itertools.combinations(classes, 2)]:
        if len(left) == len(right):
            order = list(axes)
            for one, two in zip(left, right, strict=True):
                order[one], order[two] = two, one
            if _symmetry_effect(target, order, plus):
                found.append((order, plus))
    return found


@functools.lru_cache(maxsize=32)
def _orbits(target: Target) -> tuple[np.ndarray, np.ndarray]:
    """The entries of a tensor of four slots that symmetries make equal, and with which sign.

    Entries with a plus and with a minus are nodes of a graph, symmetries its edges, followed one
    at a time.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    rank = target.rank
    slots = np.stack(np.unravel_index(np.arange(rank**4), (rank,) * 4))
    size = slots.shape[1]
    orbit = np.arange(2 * size)
    for order, signs in _generators(target):
        moved = np.ravel_multi_index(tuple(np.asarray(order)[slots]), (rank,) * 4)
        turned = np.prod(np.asarray(signs)[slots], axis=0) < 0
        ends = np.concatenate([moved + size * turned, moved + size * ~turned])
        links = coo_array((np.ones(2 * size), (orbit, orbit[ends])), shape=(2 * size, 2 * size))
        _, joined = connected_components(links, directed=False)
        orbit = joined[orbit]
    plus, minus = orbit[:size], orbit[size:]
    # Where an entry is its own negative it vanishes.
    return np.minimum(plus, minus), np.sign(minus - plus).astype(float)


def symmetrised_by_target(
    target: Target, tensor: Float[np.ndarray, "r r r r"]
) -> Float[np.ndarray, "r r r r"]:
    """The mean of a tensor over the symmetries of the target up to a sign and a constant.

    >>> noisy = np.arange(16.0).reshape(2, 2, 2, 2)
    >>> found = symmetrised_by_target(Target("h1*h2"), noisy)
    >>> float(found[0, 0, 0, 0]), float(found[1, 1, 1, 1]), float(found[0, 0, 0, 1])
    (7.5, 7.5, 0.0)
    """
    orbit, sign = _orbits(target)
    means = np.bincount(orbit, sign * tensor.ravel()) / np.maximum(np.bincount(orbit), 1)
    return (sign * means[orbit]).reshape(tensor.shape)


def exchangeable_target_directions(target: Target, exactly: bool = True) -> list[list[int]]:
    """The directions in sets within which exchanges have an effect; ``exactly``: change nothing.

    Exchanges generate every order, so that one direction of each set is asked.
    """
    classes: list[list[int]] = []
    for axis in range(target.rank):
        for members in classes:
            if _is_symmetry(_exchanged(target, members[0], axis), exactly):
                members.append(axis)
                break
        else:
            classes.append([axis])
    return classes


@functools.lru_cache(maxsize=128)
def target_invariant_basis(target: Target) -> Float[np.ndarray, "p r r"]:
    """Orthonormal symmetric matrices that span the overlaps reached from a multiple of I.

    A signed permutation Q of the directions is a symmetry if g(Q h) = +-g(h) + constant: the
    labels then tell the same about Q h as about h, and Q M Q^T = M all along.

    >>> [matrix.round(3).tolist() for matrix in target_invariant_basis(Target("sign(h1*h2)"))]
    [[[0.707, 0.0], [0.0, 0.707]]]
    """
    r = target.rank
    group = target_permutations(target) if r <= ALL_ORDERS else [np.eye(r)]
    units = []
    for i, j in itertools.combinations_with_replacement(range(r), 2):
        unit = np.zeros((r, r))
        unit[i, j] = unit[j, i] = 1.0
        units.append(sum(q @ unit @ q.T for q in group) / len(group))
    basis: list[np.ndarray] = []
    for matrix in units:
        rest = matrix - sum(((matrix * b).sum() * b for b in basis), np.zeros((r, r)))
        size = np.linalg.norm(rest)
        if size > EXACT:
            basis.append(rest / size)
    result = np.array(basis)
    result.setflags(write=False)
    return result


def target_keeps_fields_apart(target: Target, axes: Float[np.ndarray, "m r"]) -> bool:
    """Whether the overlap of the fields u = axes h stays diagonal, by symmetry.

    >>> target_keeps_fields_apart(Target("sign(h1*h2)"), np.eye(2))
    True
    """
    known = axes @ target_invariant_basis(target) @ axes.T
    return bool(np.all(np.abs(known * (1 - np.eye(len(axes)))) < EXACT))


@dataclass(frozen=True)
class Invariance:
    """Sets of directions whose signs may change together, and sets that may be exchanged."""

    flips: tuple[tuple[int, ...], ...]
    exchanges: tuple[tuple[int, ...], ...]

    def averaged(self, coefficients: Mapping[MultiIndex, Value]) -> dict[MultiIndex, Value]:
        """Hermite coefficients E[f(y) He_j(h)] made as symmetric as they must be.

        What an odd change of sign forbids is left out; what exchanges make equal is averaged.
        """
        allowed = {
            j: value
            for j, value in coefficients.items()
            if not any(sum(j[axis] for axis in flip) % 2 for flip in self.flips)
        }
        orbits: dict[MultiIndex, list[MultiIndex]] = {}
        for j in allowed:
            orbits.setdefault(self._key(j), []).append(j)
        means = {
            key: sum((allowed[j] for j in orbit[1:]), allowed[orbit[0]]) / len(orbit)
            for key, orbit in orbits.items()
        }
        return {j: means[self._key(j)] for j in allowed}

    def _key(self, j: MultiIndex) -> MultiIndex:
        key = list(j)
        for axes in self.exchanges:
            for axis, power in zip(axes, sorted(j[axis] for axis in axes), strict=True):
                key[axis] = power
        return tuple(key)


@functools.lru_cache(maxsize=128)
def target_invariance(target: Target) -> Invariance:
    """The changes of sign and the exchanges that leave every label as it is.

    >>> target_invariance(Target("h1*h2 + h3**2"))
    Invariance(flips=((2,), (0, 1), (0, 1, 2)), exchanges=((0, 1),))
    """
    classes = exchangeable_target_directions(target)
    exchanges = tuple(tuple(members) for members in classes if len(members) > 1)
    return Invariance(tuple(_target_flips(target, exactly=True)), exchanges)


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
        return _is_symmetry(flipped_target(self.link, [0]), exactly=True)

    def with_noise(self, variance: float) -> Committee:
        """The same labels with more additive noise."""
        if self.vote is None:
            return replace(self, noise=self.noise + variance)
        return replace(self, vote_noise=self.vote_noise + variance)


@functools.lru_cache(maxsize=256)
def target_as_committee(target: Target) -> Committee | None:
    """The committee that a target of two or more directions is; None if it is not one.

    >>> found = target_as_committee(Target("(tanh(h1) + tanh(h2) + tanh(h3))/3 + 0.5*z1"))
    >>> found.link, found.rank, found.noise
    (Target('tanh(h1)/3'), 3, 0.25)
    >>> target_as_committee(Target("sign(sign(h1) + sign(h2) + sign(h3))")).vote
    (-1.0, 0.0, 1.0)
    >>> target_as_committee(Target("tanh(h1) + 2*tanh(h2)")) is None
    True
    """
    if target.rank < 2:
        return None
    summed = _summed_target_committee(target.tree, target.rank)
    return summed if summed is not None else _voted_target_committee(target.tree, target.rank)


def _summed_target_committee(tree: Node, rank: int) -> Committee | None:
    """The committee whose label is the sum itself."""
    terms = tree.terms if isinstance(tree, Sum) else (tree,)
    shift, noise = 0.0, 0.0
    units: dict[str, list[Node]] = {}
    for term in terms:
        names = sorted(expression_variables(term))
        if not names:
            shift += float(evaluate_expression(term, NUMPY, {}))
        elif len(names) > 1:
            return None
        elif names[0].startswith("z"):
            slope = _target_noise_slope(term, names[0])
            if slope is None:
                return None
            noise += slope**2
        else:
            units.setdefault(names[0], []).append(term)
    if len(units) != rank:
        return None
    links = [
        renamed_target(sum_expression(parts), {name: "h1"}) for name, parts in sorted(units.items())
    ]
    probes = np.random.default_rng(4).normal(size=PROBES) * 2
    values = [expression_on_line(link, "h1", probes) for link in links]
    scale = EXACT * (1 + np.abs(values[0]))
    if not all(np.all(np.abs(other - values[0]) <= scale) for other in values[1:]):
        return None
    try:
        link = Target(expression_text(links[0]))
    except TargetError:
        return None
    return Committee(link, rank, shift, noise)


def _voted_target_committee(tree: Node, rank: int) -> Committee | None:
    """The committee whose label is decided by the sign of the sum."""
    votes = (
        x for x in walk_expression(tree) if isinstance(x, Call) and FUNCTIONS[x.function].finite
    )
    calls = [
        call for call in votes if sum(n.startswith("h") for n in expression_variables(call)) == rank
    ]
    if len(calls) != 1:
        return None
    call = calls[0]
    inside = _summed_target_committee(call.arguments[0], rank)
    # The rest of the label must be the vote, times a number, plus numbers and Gaussian noise.
    rest = replaced_expression(tree, {call: _VOTE})
    if inside is None or expression_variables(rest) & expression_variables(call):
        return None
    outside = _summed_target_committee(rest, 1)
    if outside is None:
        return None
    low, tie, high = (
        float(outside.link.numpy(np.array([[value]]))[0]) + outside.shift
        for value in map(FUNCTIONS[call.function].numpy, (-1.0, 0.0, 1.0))
    )
    vote = (low, tie, high)
    return Committee(inside.link, rank, inside.shift, inside.noise, vote, outside.noise)


def _target_noise_slope(term: Node, name: str) -> float | None:
    """The factor of a noise that enters linearly; None if it does not."""
    probes = np.append(1.0, np.random.default_rng(5).normal(size=PROBES))
    values = expression_on_line(term, name, probes)
    slope = float(values[0])
    return slope if np.allclose(values, slope * probes, atol=EXACT) else None
