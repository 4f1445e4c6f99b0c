"""Averages over labels and fields at an overlap (q-, q+) of a committee."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from giantstep.channels.committees.fields import Fields
from giantstep.channels.committees.likelihood import partitions
from giantstep.channels.committees.sums import sums_of
from giantstep.numerics.low_discrepancy import normal_points
from giantstep.numerics.quadrature import gauss_hermite
from giantstep.targets.committee import Committee

#: Densities below this are dropped: it is above the error that the cut of frequencies leaves.
_RARE = 3e-7
#: Gauss rules for two and three units: nodes along the mean, across it, and on angles.
_TWO = (28, 32)
_THREE = (18, 10, 6)
#: Sobol points for more units; a quarter of them is a first look.
_FEW_UNITS, _SOBOL = 5, (1024, 512)
#: Nodes of a first look, along the mean and across it.
_ROUGH = 4


@dataclass(frozen=True, eq=False)
class Rule:
    """Standard normal fields, split into their part along (1, .., 1)/sqrt(r) and the others."""

    mean: Float[np.ndarray, "n 1"]
    others: Float[np.ndarray, "n r"]
    weights: Float[np.ndarray, " n"]

    def fields(self, q_minus: float, q_plus: float) -> Float[np.ndarray, "n r"]:
        """omega ~ N(0, M), M with the eigenvalues q+ and q-."""
        along = self.mean / np.sqrt(self.others.shape[1])
        return np.sqrt(q_minus) * self.others + np.sqrt(q_plus) * along


@functools.lru_cache(maxsize=32)
def rule(rank: int, share: int = 1, seed: int = 0) -> Rule:
    """The points of averages over the fields of r units; only one of ``share`` for a first look.

    Averages are symmetric in the units, so one of r! equal sectors will do: for two units the sign
    of the difference drops out, for three the plane of differences has six sectors.
    """
    if rank == 2:
        along, across = (max(8, count // share) for count in _TWO)
        x, wx = gauss_hermite(along)
        y, wy = gauss_hermite(2 * (across // 2))
        half = y > 0
        mean, difference = (a.ravel() for a in np.meshgrid(x, y[half], indexing="ij"))
        others = difference[:, None] * np.array([1.0, -1.0]) / np.sqrt(2)
        return Rule(mean[:, None], others, np.outer(wx, 2 * wy[half]).ravel())
    if rank == 3:
        return _three(*(max(4, round(count / np.sqrt(share))) for count in _THREE))
    count = _SOBOL[0 if rank <= _FEW_UNITS else 1] // share
    return _sobol(rank, count, seed)


def _three(along: int, radial: int, angular: int) -> Rule:
    """Gauss-Hermite along the mean, Gauss-Laguerre in the squared radius, even angles."""
    x, wx = gauss_hermite(along)
    squares, wr = np.polynomial.laguerre.laggauss(radial)
    angles = (np.arange(angular) + 0.5) * np.pi / (3 * angular)
    mean, radius, angle = (
        a.ravel() for a in np.meshgrid(x, np.sqrt(2 * squares), angles, indexing="ij")
    )
    first = np.array([1.0, -1.0, 0.0]) / np.sqrt(2)
    second = np.array([1.0, 1.0, -2.0]) / np.sqrt(6)
    others = radius[:, None] * (
        np.cos(angle)[:, None] * first[None, :] + np.sin(angle)[:, None] * second[None, :]
    )
    weights = wx[:, None, None] * wr[None, :, None] / angular * np.ones(angular)
    return Rule(mean[:, None], others, weights.ravel())


def _sobol(rank: int, count: int, seed: int) -> Rule:
    """Sobol points with their first axis on the mean, and the second moments of the others exact.

    Where q- is small averages are linear in those second moments: the branch then leaves exactly at
    the threshold of specialisation.
    """
    points = normal_points(count, rank, np.random.default_rng(seed))
    frame = np.linalg.qr(np.column_stack([np.ones(rank), np.eye(rank)[:, 1:]]))[0][:, 1:]
    others = points[:, 1:] - points[:, 1:].mean(axis=0)
    values, vectors = np.linalg.eigh(others.T @ others / count)
    white = others @ (vectors / np.sqrt(values)) @ vectors.T
    return Rule(points[:, :1], white @ frame.T, np.full(count, 1 / count))


class Averages(NamedTuple):
    """E+ and E-, the eigenvalues of E[g_out g_out^T]; Psi = E[log Z]; E[E[y | omega]^2]."""

    plus: float
    minus: float
    log_partition: float
    explained: float


def averages(committee: Committee, q_minus: float, q_plus: float, points: Rule) -> Averages:
    """The averages that state evolution and the free entropy are made of."""
    sums, rank = sums_of(committee), committee.rank
    fields = Fields(sums, 1 - q_minus, 1 - q_plus)
    omega = points.fields(q_minus, q_plus)
    total = np.zeros(4)
    for part, found in partitions(fields, omega):
        safe = np.maximum(found.value, _RARE)
        mass = points.weights[part, None] * sums.weights
        seen = mass * (found.value > _RARE)
        total += [
            np.sum(seen * (found.gradient**2).sum(axis=1) / safe),
            np.sum(seen * found.gradient.sum(axis=1) ** 2 / safe),
            np.sum(seen * found.value * np.log(safe)),
            points.weights[part] @ (found.value @ (sums.weights * sums.labels)) ** 2,
        ]
    every, along, log_partition, explained = (float(value) for value in total)
    return Averages(along / rank, (every - along / rank) / (rank - 1), log_partition, explained)
