"""Symmetries of a target: changes of sign and exchanges of its directions that it knows about."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

import numpy as np
from jaxtyping import Float

from giantstep.numerics.hermite import MultiIndex
from giantstep.targets.expression import Target

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
def _probes(target: Target) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    random = np.random.default_rng(6)
    h = random.normal(size=(PROBES, target.rank))
    z = random.normal(size=(PROBES, target.noises))
    return h, z, np.broadcast_to(target.numpy(h, z), PROBES)


def effect(target: Target, order: Sequence[int], signs: Sequence[float]) -> Effect | None:
    """How the label changes if h_i becomes ``signs[i] * h[order[i]]``; None if not by a rule.

    The noises inside the label stay as they are.

    >>> effect(Target("sign(h1*h2)"), (1, 0), (1.0, -1.0))
    Effect(sign=-1, constant=0.0)
    """
    h, z, before = _probes(target)
    after = target.numpy(h[:, list(order)] * np.asarray(signs), z)
    scale = EXACT * (1 + np.abs(before))
    for sign in (1, -1):
        gap = after - sign * before
        constant = float(np.median(gap))
        if np.all(np.abs(gap - constant) <= scale):
            return Effect(sign, 0.0 if abs(constant) <= EXACT else constant)
    return None


def flipped(target: Target, axes: Sequence[int]) -> Effect | None:
    """The effect of changing the signs of some directions."""
    signs = [-1.0 if axis in axes else 1.0 for axis in range(target.rank)]
    return effect(target, range(target.rank), signs)


def exchanged(target: Target, one: int, two: int) -> Effect | None:
    """The effect of exchanging two directions."""
    order = list(range(target.rank))
    order[one], order[two] = two, one
    return effect(target, order, [1.0] * target.rank)


def is_odd(target: Target) -> bool:
    """Whether g(-h) = -g(h), for every noise inside the label.

    >>> is_odd(Target("sin(h1)")), is_odd(Target("1 + h1")), is_odd(Target("h1 + h1*h2"))
    (True, False, False)
    """
    return flipped(target, range(target.rank)) == Effect(-1, 0.0)


def signed_permutations(target: Target) -> list[Float[np.ndarray, "r r"]]:
    """All matrices Q that only change signs and order, for which g(Q h) = +-g(h) + constant.

    >>> len(signed_permutations(Target("h1 + abs(h2)")))
    2
    """
    rank = target.rank
    return [
        np.eye(rank)[list(order)] * np.array(signs)[:, None]
        for order in itertools.permutations(range(rank))
        for signs in itertools.product((1.0, -1.0), repeat=rank)
        if effect(target, order, signs) is not None
    ]


@functools.lru_cache(maxsize=128)
def invariant_basis(target: Target) -> Float[np.ndarray, "p r r"]:
    """Orthonormal symmetric matrices that span the overlaps reached from a multiple of I.

    A signed permutation Q of the directions is a symmetry if g(Q h) = +-g(h) + constant: the
    labels then tell the same about Q h as about h, and Q M Q^T = M all along.

    >>> [matrix.round(3).tolist() for matrix in invariant_basis(Target("sign(h1*h2)"))]
    [[[0.707, 0.0], [0.0, 0.707]]]
    """
    r = target.rank
    group = signed_permutations(target) if r <= ALL_ORDERS else [np.eye(r)]
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


def keeps_fields_apart(target: Target, axes: Float[np.ndarray, "m r"]) -> bool:
    """Whether the overlap of the fields u = axes h stays diagonal, by symmetry.

    >>> keeps_fields_apart(Target("sign(h1*h2)"), np.eye(2))
    True
    """
    known = axes @ invariant_basis(target) @ axes.T
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
def invariance(target: Target) -> Invariance:
    """The changes of sign and the exchanges that leave every label as it is.

    >>> invariance(Target("h1*h2 + h3**2"))
    Invariance(flips=((2,), (0, 1), (0, 1, 2)), exchanges=((0, 1),))
    """
    axes = range(target.rank)
    sizes = range(1, target.rank + 1) if target.rank <= ALL_SIGNS else (1, 2, target.rank)
    flips = [
        chosen
        for size in sizes
        for chosen in itertools.combinations(axes, size)
        if (found := flipped(target, chosen)) and found.none
    ]
    classes: list[list[int]] = []
    for axis in axes:
        for members in classes:
            if (found := exchanged(target, members[0], axis)) and found.none:
                members.append(axis)
                break
        else:
            classes.append([axis])
    return Invariance(tuple(flips), tuple(tuple(c) for c in classes if len(c) > 1))
