"""Matrices of moments: averages over samples, and square roots of what may be singular."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float


def mean_product(
    left: Float[np.ndarray, "a n"],
    right: Float[np.ndarray, "b n"],
    weights: Float[np.ndarray, " n"] | float = 1.0,
) -> Float[np.ndarray, "a b"]:
    """E[left right^T] over n samples whose weights have mean 1.

    >>> mean_product(np.array([[1.0, 3.0]]), np.array([[2.0, 2.0]])).tolist()
    [[4.0]]
    """
    return (left * weights) @ right.T / left.shape[1]


def square_root(matrix: Float[np.ndarray, "n n"]) -> Float[np.ndarray, "n n"]:
    """A factor L with L L^T = matrix, for a covariance that may be singular.

    >>> root = square_root(np.ones((2, 2)))
    >>> bool(np.allclose(root @ root.T, 1.0))
    True
    """
    values, vectors = np.linalg.eigh(matrix)
    return vectors * np.sqrt(np.clip(values, 0.0, None))


def whitened(
    columns: Float[np.ndarray, "a n"], weights: Float[np.ndarray, " n"]
) -> Float[np.ndarray, "a n"]:
    """Each column made orthonormal to those before it, over samples whose weights have mean 1.

    >>> columns = whitened(np.array([[2.0, 2.0], [1.0, 3.0]]), np.ones(2))
    >>> bool(np.allclose(columns, [[1.0, 1.0], [-1.0, 1.0]]))
    True
    """
    factor = np.linalg.cholesky(mean_product(columns, columns, weights))
    return np.linalg.solve(factor, columns)
