"""Climbing a staircase of subspaces: which directions become visible once others are known."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import Float

from giantstep.numerics.tensors import block, complement, tidy_basis

#: Sampled directions this close to simple ones are taken to be those, whatever their error.
SAMPLED_ACCURACY = 3e-3
#: Sampled directions known worse than this are not compared with simple ones.
SAMPLED_BLUR = 0.1

Tensors = Sequence[Float[np.ndarray, "replicas family ..."]]
Difficulty = Literal["trivial", "easy", "hard"]


def difficulty_of(leap: int | None) -> Difficulty:
    """What a leap of the grand staircase means at n of order d; None stands for never.

    >>> [difficulty_of(leap) for leap in (1, 2, 3, None)]
    ['trivial', 'easy', 'hard', 'hard']
    """
    if leap == 1:
        return "trivial"
    return "easy" if leap == 2 else "hard"


@dataclass(frozen=True, eq=False)
class Visible:
    """Directions (orthonormal rows) that are visible, with strengths where they are known.

    ``sampled`` says whether sampling decided that it is these directions and no others, and
    ``error`` how far off they may be (the sine of an angle).
    """

    directions: Float[np.ndarray, "m r"]
    strengths: tuple[float, ...] = ()
    sampled: bool = False
    error: float = 0.0


@dataclass(frozen=True, eq=False)
class Stair:
    """Directions that become visible together, at a leap; the rest as in :class:`Visible`."""

    leap: int
    directions: Float[np.ndarray, "m r"]
    strengths: tuple[float, ...] = ()
    sampled: bool = False
    error: float = 0.0

    @property
    def difficulty(self) -> Difficulty:
        """The class of a stair of the grand staircase."""
        return difficulty_of(self.leap)


#: Given what is learned and a leap: what is newly visible.
Search = Callable[[np.ndarray, int], Visible]


def climb(search: Search, rank: int, leaps: int) -> tuple[tuple[Stair, ...], bool]:
    """From nothing learned, take the smallest leap that shows new directions, again and again.

    Also returns whether sampling decided that there is nothing beyond the last stair.
    """
    learned = np.zeros((0, rank))
    stairs: list[Stair] = []
    sampled = False
    while len(learned) < rank:
        sampled = False
        for leap in range(1, leaps + 1):
            found = search(learned, leap)
            sampled = sampled or found.sampled
            if len(found.directions):
                break
        else:
            return tuple(stairs), sampled
        found.directions.setflags(write=False)
        stairs.append(Stair(leap, found.directions, found.strengths, sampled, found.error))
        learned = np.vstack([learned, found.directions])
    return tuple(stairs), False


def unfolded(
    tensors: Tensors,
    learned: Float[np.ndarray, "m r"],
    leap: int,
    scale: Callable[[int, int], float],
    usable: Callable[[int], bool] = lambda order: True,
) -> Float[np.ndarray, "replicas unlearned columns"]:
    """The blocks C_k[unlearned^leap, learned^(k-leap)] as matrices over their first slot.

    They are scaled by ``scale(k, leap)`` and put side by side over k and over the family.
    """
    rest = complement(learned)
    replicas = len(tensors[0])
    matrices = [np.zeros((replicas, len(rest), 0))]
    for order in range(leap, len(tensors)):
        if usable(order) and (len(learned) or order == leap):
            part = block(tensors[order], rest, learned, leap, order) * scale(order, leap)
            rows = np.moveaxis(part, 2, 1)
            matrices.append(rows.reshape(replicas, len(rest), math.prod(rows.shape[2:])))
    return np.concatenate(matrices, axis=2)


def exact_directions(
    matrix: Float[np.ndarray, "rows columns"],
    basis: Float[np.ndarray, "rows r"],
    threshold: float,
    noise: float = 0.0,
) -> Visible:
    """The column span by singular values above a threshold; ``basis`` are the rows' directions.

    ``noise`` is the standard error of each entry if they are sampled.
    """
    left, values, _ = np.linalg.svd(matrix, full_matrices=False)
    kept = values > threshold
    rows = left[:, kept].T @ basis
    strengths = tuple(float(v) for v in values[kept])
    if not noise:
        return Visible(tidy_basis(rows, len(rows)), strengths)
    error = (
        noise * (math.sqrt(len(matrix)) + math.sqrt(matrix.shape[1])) / min(strengths, default=1)
    )
    return Visible(simplified(rows, error), strengths, True, error if strengths else 0.0)


def sampled_directions(
    matrices: Float[np.ndarray, "replicas rows columns"],
    basis: Float[np.ndarray, "rows r"],
    threshold: float,
    deviations: float,
) -> Visible:
    """The column span of a matrix known through independent noisy replicas.

    Products of different replicas have no bias, so eigenvalues of their mean are centred at zero
    where there is no signal. Kept: those above the threshold and above ``deviations`` times the
    noise, which the spread of the replicas tells. The error is a jackknife over replicas.
    """
    replicas = len(matrices)
    values, vectors = np.linalg.eigh(_cross_gram(matrices))
    variance = matrices.var(axis=0, ddof=1)
    pairs = replicas * (replicas - 1) / 2
    noise = math.sqrt(float(np.max(np.sum(variance**2, axis=1), initial=0.0)) / pairs)
    kept = values > max(threshold, deviations * noise)
    count = int(kept.sum())
    if not count:
        return Visible(np.zeros((0, basis.shape[1])), (), sampled=True)
    whole = vectors[:, kept] @ vectors[:, kept].T
    moved = []
    for out in range(replicas):
        _, others = np.linalg.eigh(_cross_gram(np.delete(matrices, out, axis=0)))
        top = others[:, -count:]
        moved.append(np.linalg.norm(top @ top.T - whole, 2))
    error = math.sqrt((replicas - 1) / replicas * float(np.sum(np.square(moved))))
    rows = simplified(vectors[:, kept].T @ basis, error)
    return Visible(rows, tuple(float(v) for v in values[kept][::-1]), True, error)


def _cross_gram(
    matrices: Float[np.ndarray, "replicas rows columns"],
) -> Float[np.ndarray, "rows rows"]:
    """The mean of M_s M_t^T over pairs of different replicas."""
    replicas = len(matrices)
    total = matrices.sum(axis=0)
    own = np.einsum("sij,skj->ik", matrices, matrices)
    gram = (total @ total.T - own) / (replicas * (replicas - 1))
    return (gram + gram.T) / 2


def simplified(rows: Float[np.ndarray, "m r"], error: float) -> Float[np.ndarray, "m r"]:
    """Sampled directions, snapped to ratios of small whole numbers that their error allows."""
    close = max(SAMPLED_ACCURACY, 4 * error) if error < SAMPLED_BLUR else SAMPLED_ACCURACY
    return tidy_basis(rows, len(rows), close)
