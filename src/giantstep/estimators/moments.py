r"""Where to look for a direction: moments of whitened inputs weighted by functions of the label.

A first moment :math:`E[w(y)\,x]` shows a direction along which the mean of the label moves, a
second moment :math:`E[w(y)\,xx^T]` one along which its spread does. The weights w are the label
itself, indicators of its quantile slices, and products with what is known already, so that a
direction that only shows once another one is known (a staircase) is seen too.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.linalg import eigh
from sklearn.covariance import ledoit_wolf_shrinkage

from giantstep.numerics.ridge.scaled import Roots

#: Quantile slices of the label.
SLICES = 8
#: Random ridge functions of known indices that multiply the label.
STAIRS = 6
#: Most iterations of the power method that learns the label transform of the second moment, and
#: the squared sine of the turn below which it has ended.
POWER_STEPS, STILL = 6, 1e-4


class Candidate(NamedTuple):
    """A direction in whitened coordinates, and how far its moment stands out from chance."""

    direction: Float[np.ndarray, " d"]
    ratio: float


class Whitening(NamedTuple):
    """The symmetric inverse root of the shrunk covariance, and the root itself."""

    inverse_root: Float[np.ndarray, "d d"]
    root: Float[np.ndarray, "d d"]

    @classmethod
    def of(cls, inputs: Float[np.ndarray, "n d"]) -> Whitening:
        """Ledoit and Wolf's shrinkage keeps directions with little data from exploding."""
        rows, columns = inputs.shape
        covariance = inputs.T @ inputs / rows
        # One column has nothing to be shrunk towards; one row says nothing but its length.
        shrinkage = float(columns > 1)
        if columns > 1 and rows > 1:
            shrinkage = ledoit_wolf_shrinkage(inputs, assume_centered=True)
        return cls.from_covariance(covariance, shrinkage)

    @classmethod
    def from_covariance(cls, covariance: Float[np.ndarray, "d d"], shrinkage: float) -> Whitening:
        """The roots of this covariance, drawn by a share towards its mean eigenvalue."""
        columns = len(covariance)
        mean = np.trace(covariance) / columns
        covariance = (1 - shrinkage) * covariance + shrinkage * mean * np.eye(columns)
        values, vectors = eigh(covariance, check_finite=False)
        values = np.maximum(values, 1e-10 * max(values[-1], 1e-300))
        return cls((vectors / np.sqrt(values)) @ vectors.T, (vectors * np.sqrt(values)) @ vectors.T)


def residual_weights(
    residuals: Float[np.ndarray, " n"],
    indices: Float[np.ndarray, "n r"],
    generator: np.random.Generator,
    *,
    roots: Roots = 1.0,
) -> Float[np.ndarray, "n l"]:
    """Orthonormal functions of the residual, each multiplied by the weights of the rows."""
    edges = np.quantile(residuals, np.arange(1, SLICES) / SLICES)
    mixing = generator.standard_normal((indices.shape[1], STAIRS))
    shifts = generator.standard_normal(STAIRS if indices.shape[1] else 0)
    weights = residual_functions(residuals, indices, edges, mixing, shifts)
    weights *= np.broadcast_to(roots, residuals.shape)[:, None] ** 2
    weights -= weights.mean(axis=0)
    left, values, _ = np.linalg.svd(weights, full_matrices=False)
    return left[:, values > 1e-8 * max(values[0], 1e-300)]


def residual_functions(
    residuals: Float[np.ndarray, " n"],
    indices: Float[np.ndarray, "n r"],
    edges: Float[np.ndarray, " s"],
    mixing: Float[np.ndarray, "r k"],
    shifts: Float[np.ndarray, " k"],
) -> Float[np.ndarray, "n l"]:
    """The residual, indicators of its slices, and its products with functions of the indices."""
    cells = np.searchsorted(edges, residuals, side="right")
    found = [residuals[:, None], (cells[:, None] == np.arange(SLICES)).astype(float)]
    if indices.shape[1]:
        found.append(residuals[:, None] * indices)
        found.append(residuals[:, None] * np.tanh(indices @ mixing + shifts))
    return np.concatenate(found, axis=1)


def first_moment_candidates(
    white: Float[np.ndarray, "n d"], weights: Float[np.ndarray, "n l"], count: int
) -> tuple[Float[np.ndarray, "d k"], Float[np.ndarray, " k"]]:
    """Top left singular vectors of E[x w^T], and the singular values."""
    left, values, _ = np.linalg.svd(white.T @ weights, full_matrices=False)
    return left[:, :count], values[:count]


def second_moment_candidates(
    white: Float[np.ndarray, "n d"], weights: Float[np.ndarray, "n l"], count: int
) -> tuple[Float[np.ndarray, "d k"], Float[np.ndarray, " k"]]:
    """Top eigenvectors of sum_l c_l E[w_l xx^T] by |value|, its coefficients c learned by power."""
    # Single precision: sampling errors of moments are far larger.
    rows, columns = white.astype(np.float32), weights.T.astype(np.float32)
    matrices = np.stack([(rows * column[:, None]).T @ rows for column in columns]).astype(float)
    tall = matrices.reshape(-1, white.shape[1])
    squares = tall.T @ tall
    starts = eigh(squares, check_finite=False)[1][:, -2:]
    best: tuple[np.ndarray, np.ndarray] | None = None
    for start in starts.T[::-1]:
        vector = start
        for _ in range(POWER_STEPS):
            coefficients = (tall @ vector).reshape(len(matrices), -1) @ vector
            size = np.linalg.norm(coefficients)
            if size == 0:
                break
            values, vectors = eigh(
                np.tensordot(coefficients / size, matrices, axes=1), check_finite=False
            )
            order = np.argsort(-np.abs(values))
            before, vector = vector, vectors[:, order[0]]
            if 1 - (before @ vector) ** 2 < STILL:
                break
        if size > 0:
            found = vectors[:, order[:count]], np.abs(values[order[:count]])
            if best is None or found[1][0] > best[1][0]:
                best = found
    if best is None:
        return starts[:, ::-1][:, :count], np.zeros(min(count, starts.shape[1]))
    return best


#: Where directions are looked for, order by order.
ORDERS = (first_moment_candidates, second_moment_candidates)


def candidate_directions(
    white: Float[np.ndarray, "n d"],
    weights: Float[np.ndarray, "n l"],
    generator: np.random.Generator,
    *,
    threshold: float,
    permutations: int = 2,
    chance: tuple[float, ...] | None = None,
) -> tuple[list[Candidate], tuple[float, ...]]:
    """Directions whose moments exceed ``threshold`` times those of permuted rows, and the latter.

    Moments of permuted rows hardly depend on the number of rows, since weights have unit length:
    those of other rows will do as ``chance``.
    """
    found: list[Candidate] = []
    if not weights.shape[1]:
        return found, ()
    if chance is None:
        shuffled = [generator.permutation(weights) for _ in range(permutations)]
        chance = tuple(
            float(np.mean([moments(white, rows, 1)[1][0] for rows in shuffled]))
            for moments in ORDERS
        )
    for moments, level in zip(ORDERS, chance, strict=True):
        vectors, values = moments(white, weights, 2)
        for vector, value in zip(vectors.T, values, strict=True):
            ratio = float(value / max(level, 1e-300))
            if ratio > threshold:
                found.append(Candidate(vector, ratio))
    return found, chance
