"""Energy of a target by Hermite degree in some directions, with any dependence on the others."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from giantstep.numerics.grids import GaussianGrid
from giantstep.numerics.hermite import factorial, hermite_values, multi_indices
from giantstep.numerics.tensors import is_permutation
from giantstep.targets.expansion import BATCHES, SAMPLES
from giantstep.targets.expression import Target
from giantstep.targets.integration import Block, block_of, integrable, integrate


@dataclass(frozen=True)
class Frame:
    """An orthonormal frame (the bytes of its rows), whose first rows span U: hashable."""

    rows: bytes
    learned: int

    def matrix(self, rank: int) -> Float[np.ndarray, "r r"]:
        """The rows as an array."""
        return np.frombuffer(self.rows).reshape(rank, rank)


@dataclass(frozen=True)
class Captured:
    """Energies, one for each degree in the directions outside of U, with error and method."""

    values: tuple[float, ...]
    error: float
    method: str


@functools.lru_cache(maxsize=256)
def captured_energy(target: Target, frame: Frame, degree: int) -> Captured:
    """E_u[sum_{|b|=k} E[g He_b(v) | u]^2 / b!] for k = 0..degree, where h = (u, v) in the frame.

    By quadrature, or by pairs of samples that share u.
    """
    block = block_of(target)
    by = _by_quadrature if integrable(block) else _by_sampling
    return by(block, frame.matrix(target.rank), frame.learned, degree)


def _by_quadrature(block: Block, frame: np.ndarray, m: int, degree: int) -> Captured:
    rank, noises = block.latent, len(block.names) - block.latent
    full = np.eye(rank + noises)
    full[:rank, :rank] = frame

    def energies(grid: GaussianGrid, values: np.ndarray) -> np.ndarray:
        conditional = grid.contract(values, [None] * m + [degree] * (rank - m) + [0] * noises)
        total = np.zeros(degree + 1)
        for j in multi_indices(rank - m, degree):
            place: tuple[Any, ...] = (..., *j, *[0] * noises)
            total[sum(j)] += grid.average(conditional[place] ** 2) / factorial(j)
        return total

    if is_permutation(full):
        names = tuple(block.names[axis] for axis in np.argmax(full, axis=1))
        values, error, method = integrate(Block(block.factors, names), energies)
    else:
        values, error, method = integrate(block, energies, full)
    return Captured(tuple(values.tolist()), error, method)


def _by_sampling(block: Block, frame: np.ndarray, m: int, degree: int) -> Captured:
    rng = np.random.default_rng(0)
    rank, axes = block.latent, len(block.names)
    batches = []
    for _ in range(BATCHES):
        one, two = rng.standard_normal((2, SAMPLES // BATCHES, axes))
        two[:, :m] = one[:, :m]
        left, right = (
            np.concatenate([side[:, :rank] @ frame, side[:, rank:]], axis=1) for side in (one, two)
        )
        product = block(left) * block(right)
        he_one, he_two = (hermite_values(side[:, m:rank], degree) for side in (one, two))
        row = np.zeros(degree + 1)
        for j in multi_indices(rank - m, degree):
            term = product
            for axis in np.flatnonzero(j):
                term = term * he_one[j[axis], :, axis] * he_two[j[axis], :, axis]
            row[sum(j)] += np.mean(term) / factorial(j)
        batches.append(row)
    spread = np.std(np.cumsum(batches, axis=1), axis=0, ddof=1) / math.sqrt(BATCHES)
    method = f"Monte Carlo, {SAMPLES} samples"
    return Captured(tuple(np.mean(batches, axis=0).tolist()), float(np.max(spread)), method)
