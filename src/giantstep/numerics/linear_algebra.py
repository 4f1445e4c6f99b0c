"""Moments, roots of covariances, symmetric tensors, and bases of subspaces."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from jaxtyping import Float

from giantstep.numerics.hermite import MultiIndex

#: Directions, one on each row.
Rows = Float[np.ndarray, "_ r"]


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


def matrix_square_root(matrix: Float[np.ndarray, "... n n"]) -> Float[np.ndarray, "... n n"]:
    """A factor L with L L^T = matrix, for covariances that may be singular.

    >>> root = matrix_square_root(np.ones((2, 2)))
    >>> bool(np.allclose(root @ root.T, 1.0))
    True
    """
    values, vectors = np.linalg.eigh(matrix)
    return vectors * np.sqrt(np.clip(values, 0.0, None))[..., None, :]


def symmetric_root(matrix: Float[np.ndarray, "n n"]) -> Float[np.ndarray, "n n"]:
    """The symmetric root of a covariance; what rounding makes negative is zero.

    >>> symmetric_root(np.array([[2.0, 2.0], [2.0, 2.0]])).round(12).tolist()
    [[1.0, 1.0], [1.0, 1.0]]
    """
    values, vectors = np.linalg.eigh((matrix + matrix.T) / 2)
    return (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T


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


#: Entries of the largest dense tensor that is built.
MAX_ENTRIES = 3_000_000
#: Entries of basis vectors are rounded to whole numbers where they are this close.
WHOLE = 1e-10


def dense_tensor_degree(rank: int, degree: int, functions: int = 1) -> int:
    """The highest degree <= ``degree`` whose dense tensors are of reasonable size."""
    while degree > 1 and functions * rank**degree > MAX_ENTRIES:
        degree -= 1
    return degree


def symmetric_tensors(
    coefficients: Mapping[MultiIndex, Float[np.ndarray, "*family"]], degree: int
) -> tuple[Float[np.ndarray, " ..."], ...]:
    """Dense tensors C_0..C_degree from multi-index coefficients, each an array over a family.

    C_k[..., i_1, ..., i_k] is the coefficient of the multi-index that counts the slots.

    >>> symmetric_tensors({(0, 0): np.array(3.0), (1, 1): np.array(1.0)}, 2)[2].tolist()
    [[0.0, 1.0], [1.0, 0.0]]
    """
    rank = len(next(iter(coefficients)))
    places = np.array([(degree + 1) ** axis for axis in range(rank)])
    column = {
        int(np.dot(index, places)): value
        for index, value in coefficients.items()
        if sum(index) <= degree
    }
    family = np.shape(next(iter(coefficients.values())))
    zero = np.zeros(family)
    tensors = []
    for k in range(degree + 1):
        codes = sum((places[slot] for slot in np.indices((rank,) * k)), np.zeros((rank,) * k, int))
        distinct, which = np.unique(codes, return_inverse=True)
        values = np.stack([column.get(int(code), zero) for code in distinct], axis=-1)
        tensors.append(values[..., which.reshape(codes.shape)])
    return tuple(tensors)


def tensor_block(
    tensor: Float[np.ndarray, " ..."], first: Rows, rest: Rows, leap: int, order: int
) -> Float[np.ndarray, " ..."]:
    """C[first^leap, rest^(order-leap)] of a tensor with ``order`` slots after its family axes."""
    axis = tensor.ndim - order
    for slot in range(order):
        # The contracted axis goes to the end; after all slots they are in order again.
        tensor = np.tensordot(tensor, first if slot < leap else rest, axes=(axis, 1))
    return tensor


def complement(rows: Rows) -> Rows:
    """An orthonormal basis of what is orthogonal to the rows, along the axes if possible.

    >>> complement(np.array([[0.0, 1.0, 0.0]])).tolist()
    [[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]
    """
    rank = rows.shape[1]
    return tidy_basis(np.eye(rank) - rows.T @ rows, rank - len(rows))


def tidy_basis(rows: Rows, dimension: int, noise: float = 0.0) -> Rows:
    """An orthonormal basis of the row span that does not depend on how the rows are mixed.

    Echelon form with the heaviest columns as pivots, then Gram-Schmidt: coordinate axes come out
    as such. The first large entry of each row is positive. Rows known up to ``noise`` become
    ratios of small whole numbers (halves in echelon form) if they are that close.

    >>> tidy_basis(np.array([[0.0, 1.0, 1.0], [0.0, 1.0, -1.0]]), 2).tolist()
    [[0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    """
    if dimension == 0:
        return np.zeros((0, rows.shape[1]))
    span = np.linalg.svd(rows, full_matrices=False)[2][:dimension]
    left = span.T @ span
    pivots = []
    for _ in range(dimension):
        pivots.append(int(np.argmax(np.round(np.diag(left), 6))))
        unit = left[pivots[-1]] / np.linalg.norm(left[pivots[-1]])
        left = left - np.outer(unit, unit)
    echelon = np.linalg.solve(span[:, sorted(pivots)], span)
    simple = np.round(2 * echelon) / 2
    near = np.max(np.abs(echelon - simple), axis=1, keepdims=True) < noise
    echelon = np.where(near, simple, echelon)
    triangular = np.linalg.qr(echelon.T)[0].T
    whole = np.round(triangular)
    basis = np.where(np.abs(triangular - whole) < WHOLE, whole, triangular)
    large = np.abs(basis) > 0.3 * np.max(np.abs(basis), axis=1, keepdims=True)
    heads = basis[np.arange(dimension), np.argmax(large, axis=1)]
    return basis * np.sign(heads)[:, None] + 0.0


def is_permutation_matrix(frame: Float[np.ndarray, "r r"]) -> bool:
    """Whether the rows are the coordinate axes in some order."""
    return bool(np.array_equal(frame, np.eye(len(frame))[np.argmax(frame, axis=1)]))
