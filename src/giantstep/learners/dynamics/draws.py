"""The random numbers of online SGD: one stream for each run and role, whatever the chunks."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from giantstep.learners.dynamics.plan import Plan


class Draws:
    """Rows at the start, then samples and what lies outside their frame, step after step."""

    def __init__(self, plan: Plan, seeds: list[int]) -> None:
        self._plan = plan
        self._start, self._normals, self._factors = (
            [np.random.default_rng([seed, role]) for seed in seeds] for role in range(3)
        )

    def rows(self) -> Float[np.ndarray, "runs p s"]:
        """First rows of unit norm: with the cosines that were asked for, else uniform."""
        return np.stack([self._rows(rng) for rng in self._start])

    def normals(self, count: int) -> Float[np.ndarray, "runs count batch n"]:
        """Standard normals of the next samples."""
        drawn = np.empty((len(self._normals), count, self._plan.batch, self._plan.drawn))
        for rng, own in zip(self._normals, drawn, strict=True):
            rng.standard_normal(out=own)
        return drawn

    def factors(self, count: int) -> Float[np.ndarray, "runs count k k"]:
        """Bartlett factors of the next batches: what they show outside the frame."""
        size = self._plan.bartlett
        if size == 0:
            return np.zeros((len(self._factors), count, 0, 0))
        freedom = self._plan.dim - self._plan.columns
        return np.stack([_bartlett(rng, count, size, freedom) for rng in self._factors])

    def _rows(self, rng: np.random.Generator) -> Float[np.ndarray, "p s"]:
        plan = self._plan
        twins = plan.settings.readout == "symmetric-sign"
        distinct = plan.width // 2 if twins else plan.width
        known = rng.standard_normal((distinct, plan.rank))
        if plan.rule.outside:
            rest = np.zeros((distinct, plan.width))
            rest[:, :distinct] = _bartlett(rng, 1, distinct, plan.dim - plan.rank)[0]
        else:
            rest = rng.standard_normal((distinct, plan.dim - plan.rank))
        if plan.start is not None:
            known = plan.start[:distinct]
            room = np.sqrt(np.maximum(1 - np.sum(known**2, axis=1), 0.0))
            rest = rest * (room / np.linalg.norm(rest, axis=1))[:, None]
        rows = np.concatenate([known, rest], axis=1)
        rows = rows / np.linalg.norm(rows, axis=1, keepdims=True)
        return np.concatenate([rows, rows]) if twins else rows


def _bartlett(
    rng: np.random.Generator, count: int, size: int, freedom: int
) -> Float[np.ndarray, "count k k"]:
    """Lower triangular T: T T^T has the law of G G^T, G of that many rows and columns N(0, 1).

    One number after the other, so that a chunk's length does not matter.
    """
    if size == 1:
        return np.sqrt(rng.chisquare(freedom, (count, size, size)))
    factors = np.zeros((count, size, size))
    below = np.tril_indices(size, -1)
    freedoms = freedom - np.arange(size)
    for factor in factors:
        factor[np.diag_indices(size)] = np.sqrt(rng.chisquare(freedoms))
        factor[below] = rng.standard_normal(len(below[0]))
    return factors
