"""The operator M -> E[G M G] on symmetric matrices, as a matrix in an orthonormal basis."""

from __future__ import annotations

import itertools
import math

import numpy as np
from jaxtyping import Float


def symmetric_basis(size: int) -> Float[np.ndarray, "n m m"]:
    """An orthonormal basis of the symmetric matrices (Frobenius product).

    >>> symmetric_basis(2).shape
    (3, 2, 2)
    """
    matrices = []
    for i, j in itertools.combinations_with_replacement(range(size), 2):
        matrix = np.zeros((size, size))
        matrix[i, j] = matrix[j, i] = 1.0 if i == j else math.sqrt(0.5)
        matrices.append(matrix)
    return np.array(matrices)


def sandwich_spectrum(
    product: Float[np.ndarray, "m m m m"],
) -> tuple[Float[np.ndarray, " n"], Float[np.ndarray, "n m m"]]:
    """Eigenvalues (ascending) and eigen-matrices of M -> E[G M G], given E[G_ij G_kl].

    >>> values, _ = sandwich_spectrum(np.ones((1, 1, 1, 1)) * 3.0)
    >>> values.tolist()
    [3.0]
    """
    basis = symmetric_basis(len(product))
    operator = np.einsum("uil,ijkl,vjk->uv", basis, product, basis)
    values, vectors = np.linalg.eigh((operator + operator.T) / 2)
    return values, np.einsum("un,uij->nij", vectors, basis)
