"""The subspace that a target really uses, which may be smaller than the space it is written in."""

from __future__ import annotations

import functools
import math

import numpy as np
from jaxtyping import Float

from giantstep.numerics.hermite import factorial
from giantstep.numerics.tensors import (
    complement,
    dense_degree,
    symmetric_tensors,
    tidy_basis,
)
from giantstep.targets.expansion import expansion
from giantstep.targets.expression import Target
from giantstep.targets.hermite_series import HermiteSeries, hermite_series
from giantstep.targets.integration import Block, block_of

#: Points at which the target is evaluated to see on which directions it depends.
POINTS = 4000
#: Mean change, in units of the target's spread, that counts as no change.
NO_CHANGE = 2e-4


def used_subspace(target: Target) -> Float[np.ndarray, "m r"]:
    """The smallest subspace such that g depends on h through its part in it only.

    Orthonormal rows. Polynomials by linear algebra on their gradients, of every degree. For other
    targets the directions seen in the Hermite tensors, gradients at random points, or both are
    enough if drawing the coordinates outside of their span afresh changes nothing; if not, axes
    along which the target changes are added. A dependence on a set of probability below 1e-3 can
    be missed.

    >>> used_subspace(Target("h1 + h1*h2 + h1*h3")).round(4).tolist()
    [[1.0, 0.0, 0.0], [0.0, 0.7071, 0.7071]]
    """
    return _used(target).copy()


@functools.lru_cache(maxsize=128)
def _used(target: Target) -> np.ndarray:
    series = hermite_series(target)
    if series is not None:
        return _span(_series_gradient(series, target.rank), 1e-9)
    block = block_of(target)
    seen, gradients = _seen_in_tensors(target), _gradients(block)
    for rows in (seen, gradients, np.vstack([seen, gradients])):
        found = _span(rows.T, 1e-6)
        if _suffices(block, found):
            return found
    return _span(np.vstack([found, _used_axes(block, found)]).T, 1e-6)


def _seen_in_tensors(target: Target) -> np.ndarray:
    """The span of the first slots of all Hermite tensors."""
    found = expansion(target)
    degree = dense_degree(target.rank, found.degree)
    coefficients = {j: np.array(c) for j, c in found.coefficients.items()}
    tensors = symmetric_tensors(coefficients, degree)[1:]
    columns = [
        tensor.reshape(target.rank, -1) / math.sqrt(math.factorial(order))
        for order, tensor in enumerate(tensors, start=1)
    ]
    left, values, _ = np.linalg.svd(np.concatenate(columns, axis=1), full_matrices=False)
    threshold = max(1e-6 * math.sqrt(found.variance), 20 * found.error)
    return left[:, values > threshold].T


def _series_gradient(series: HermiteSeries, rank: int) -> np.ndarray:
    """Matrix of d g / d h_a in the orthonormal Hermite basis: rows a, columns multi-indices."""
    columns: dict[tuple[int, ...], int] = {}
    entries = []
    for index, a in series.terms.items():
        for axis in range(rank):
            if index[axis]:
                below = (*index[:axis], index[axis] - 1, *index[axis + 1 :])
                column = columns.setdefault(below, len(columns))
                value = index[axis] * float(a) * math.sqrt(factorial(below))
                entries.append((axis, column, value))
    matrix = np.zeros((rank, max(len(columns), 1)))
    for axis, column, value in entries:
        matrix[axis, column] += value
    return matrix


def _span(columns: np.ndarray, tolerance: float) -> np.ndarray:
    left, values, _ = np.linalg.svd(columns, full_matrices=False)
    kept = values > tolerance * np.max(values, initial=np.finfo(float).tiny)
    return tidy_basis(left[:, kept].T, int(kept.sum()))


def _suffices(block: Block, rows: np.ndarray) -> bool:
    """Whether new coordinates outside of the subspace leave the target as it is."""
    rng = np.random.default_rng(0)
    points = rng.standard_normal((POINTS, len(block.names)))
    fresh = points.copy()
    rest = complement(rows)
    moved = rng.standard_normal((POINTS, len(rest))) @ rest
    fresh[:, : block.latent] = points[:, : block.latent] @ rows.T @ rows + moved
    before, after = block(points), block(fresh)
    spread = np.std(before) or 1.0
    return bool(np.mean(np.minimum(np.abs(after - before) / spread, 1.0)) < NO_CHANGE)


def _gradients(block: Block) -> np.ndarray:
    """Gradients at random points, by central differences, where two step sizes agree."""
    rng = np.random.default_rng(1)
    points = rng.standard_normal((400, len(block.names)))
    fine, coarse = (_difference(block, points, step) for step in (1e-4, 2e-4))
    norm = np.linalg.norm(fine, axis=1)
    good = np.linalg.norm(fine - coarse, axis=1) < 1e-6 * norm
    return fine[good] / norm[good, None]


def _difference(block: Block, points: np.ndarray, step: float) -> np.ndarray:
    columns = []
    for axis in range(block.latent):
        shift = np.zeros(points.shape[1])
        shift[axis] = step
        columns.append((block(points + shift) - block(points - shift)) / (2 * step))
    return np.stack(columns, axis=1)


def _used_axes(block: Block, found: np.ndarray) -> np.ndarray:
    """Those directions of the complement along which the target changes."""
    rest = complement(found)
    return rest[[not _suffices(block, complement(row[None])) for row in rest]]
