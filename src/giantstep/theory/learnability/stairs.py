"""Climbing a staircase of subspaces: which directions become visible once others are known."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from giantstep.numerics.tensors import block, complement, tidy_basis

#: Sampled directions this close to simple ones are taken to be those.
SAMPLED_ACCURACY = 3e-3

Tensors = Sequence[Float[np.ndarray, "replicas family ..."]]


@dataclass(frozen=True, eq=False)
class Stair:
    """Directions (orthonormal rows) that become visible together, at a leap, with strengths."""

    leap: int
    directions: Float[np.ndarray, "m r"]
    strengths: tuple[float, ...]


#: Given what is learned and a leap: new directions (orthonormal rows) and their strengths.
Search = Callable[[np.ndarray, int], tuple[np.ndarray, tuple[float, ...]]]


def climb(search: Search, rank: int, leaps: int) -> tuple[Stair, ...]:
    """From nothing learned, take the smallest leap that shows new directions, again and again."""
    learned = np.zeros((0, rank))
    stairs: list[Stair] = []
    while len(learned) < rank:
        for leap in range(1, leaps + 1):
            directions, strengths = search(learned, leap)
            if len(directions):
                break
        else:
            break
        directions.setflags(write=False)
        stairs.append(Stair(leap, directions, strengths))
        learned = np.vstack([learned, directions])
    return tuple(stairs)


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
    matrix: Float[np.ndarray, "unlearned columns"],
    learned: Float[np.ndarray, "m r"],
    threshold: float,
) -> tuple[Float[np.ndarray, "n r"], tuple[float, ...]]:
    """The column span by singular values above a threshold, in the original coordinates."""
    left, values, _ = np.linalg.svd(matrix, full_matrices=False)
    kept = values > threshold
    rows = left[:, kept].T @ complement(learned)
    return tidy_basis(rows, len(rows)), tuple(float(v) for v in values[kept])


def sampled_directions(
    matrices: Float[np.ndarray, "replicas unlearned columns"],
    learned: Float[np.ndarray, "m r"],
    threshold: float,
    deviations: float,
) -> tuple[Float[np.ndarray, "n r"], tuple[float, ...]]:
    """The column span of a matrix known through independent noisy replicas.

    Products of different replicas have no bias, so eigenvalues of their mean are centred at zero
    where there is no signal. Kept: those above the threshold and above ``deviations`` times the
    noise, which the spread of the replicas tells.
    """
    replicas = len(matrices)
    total = matrices.sum(axis=0)
    own = sum(matrix @ matrix.T for matrix in matrices)
    gram = (total @ total.T - own) / (replicas * (replicas - 1))
    values, vectors = np.linalg.eigh((gram + gram.T) / 2)
    variance = matrices.var(axis=0, ddof=1)
    pairs = replicas * (replicas - 1) / 2
    noise = math.sqrt(float(np.max(np.sum(variance**2, axis=1), initial=0.0)) / pairs)
    kept = values > max(threshold, deviations * noise)
    rows = vectors[:, kept].T @ complement(learned)
    return tidy_basis(rows, len(rows)), tuple(float(v) for v in values[kept][::-1])
