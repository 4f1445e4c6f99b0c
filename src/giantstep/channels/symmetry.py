"""Symmetries of a target that state evolution keeps: overlaps need only a few numbers."""

from __future__ import annotations

import functools
import itertools

import numpy as np
from jaxtyping import Float

from giantstep.targets import Target

_PROBES = 300


@functools.lru_cache(maxsize=128)
def invariant_basis(target: Target) -> Float[np.ndarray, "p r r"]:
    """Orthonormal symmetric matrices that span the overlaps reached from a multiple of I.

    A signed permutation Q of the directions is a symmetry if g(Q h) = +-g(h) + constant: the
    labels then tell the same about Q h as about h, and Q M Q^T = M all along.

    >>> [matrix.round(3).tolist() for matrix in invariant_basis(Target("sign(h1*h2)"))]
    [[[0.707, 0.0], [0.0, 0.707]]]
    """
    r = target.rank
    group = signed_symmetries(target) if r <= 4 else [np.eye(r)]
    units = []
    for i, j in itertools.combinations_with_replacement(range(r), 2):
        unit = np.zeros((r, r))
        unit[i, j] = unit[j, i] = 1.0
        units.append(sum(q @ unit @ q.T for q in group) / len(group))
    basis: list[np.ndarray] = []
    for matrix in units:
        rest = matrix - sum(((matrix * b).sum() * b for b in basis), np.zeros((r, r)))
        size = np.linalg.norm(rest)
        if size > 1e-9:
            basis.append(rest / size)
    result = np.array(basis)
    result.setflags(write=False)
    return result


def signed_symmetries(target: Target) -> list[np.ndarray]:
    """The signed permutations Q with g(Q h) = +-g(h) + constant; see :func:`invariant_basis`."""
    r = target.rank
    random = np.random.default_rng(6)
    h, z = random.normal(size=(_PROBES, r)), random.normal(size=(_PROBES, target.noises))
    plain = target.numpy(h, z)
    scale = 1e-9 * (1 + np.abs(plain))
    found = []
    for order in itertools.permutations(range(r)):
        for signs in itertools.product((1.0, -1.0), repeat=r):
            q = np.eye(r)[list(order)] * np.array(signs)[:, None]
            moved = target.numpy(h @ q.T, z)
            for sign in (1.0, -1.0):
                gap = moved - sign * plain
                if np.all(np.abs(gap - np.median(gap)) <= scale):
                    found.append(q)
                    break
    return found


def keeps_fields_apart(target: Target, axes: Float[np.ndarray, "m r"]) -> bool:
    """Whether the overlap of the fields u = axes h stays diagonal, by symmetry."""
    known = axes @ invariant_basis(target) @ axes.T
    return bool(
        np.all(np.abs(known - np.einsum("kii->ki", known)[:, :, None] * np.eye(len(axes))) < 1e-9)
    )
