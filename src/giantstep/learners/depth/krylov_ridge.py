"""Ridge regression by products with the design alone, with a ridge chosen by GCV."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

#: Steps of Lanczos from the labels and from each probe of the trace, and the number of probes.
STEPS, PROBES = 80, 4
#: Ridges that are tried, as multiples of the largest eigenvalue: so many steps resolve no smaller.
TRIED = np.logspace(-6, 1, 36)

Product = Callable[[np.ndarray], np.ndarray]


class Krylov(NamedTuple):
    """Orthonormal columns Q with Q^T A Q = U diag(values) U^T, and the first row of U."""

    basis: Float[np.ndarray, "p k"]
    values: Float[np.ndarray, " k"]
    vectors: Float[np.ndarray, "k k"]


def lanczos(product: Product, start: Float[np.ndarray, " p"], steps: int) -> Krylov:
    """The Krylov space of a symmetric matrix from a start, reorthogonalised at every step."""
    basis = np.zeros((len(start), min(steps, len(start))))
    diagonal, beside = [], []
    vector = start / np.linalg.norm(start)
    for step in range(basis.shape[1]):
        basis[:, step] = vector
        new = product(vector)
        diagonal.append(float(vector @ new))
        for _ in range(2):
            new = new - basis[:, : step + 1] @ (basis[:, : step + 1].T @ new)
        length = float(np.linalg.norm(new))
        if length < 1e-10 * abs(diagonal[0]):
            break
        beside.append(length)
        vector = new / length
    size = len(diagonal)
    matrix = np.diag(diagonal) + np.diag(beside[: size - 1], 1) + np.diag(beside[: size - 1], -1)
    values, vectors = np.linalg.eigh(matrix)
    return Krylov(basis[:, :size], np.maximum(values, 0.0), vectors)


def krylov_ridge(
    forward: Product,
    backward: Product,
    labels: Float[np.ndarray, " n"],
    columns: int,
    rng: np.random.Generator,
) -> Float[np.ndarray, " p"]:
    """Coefficients of least |y - J a|^2 + ridge |a|^2, J given by v -> J v and r -> J^T r.

    One Krylov space gives the fits of all ridges; the degrees of freedom tr A(A + ridge)^{-1},
    A = J^T J, are means over random vectors of signs, by the same method.
    """
    samples, moment = len(labels), backward(labels)

    def product(v: np.ndarray) -> np.ndarray:
        return backward(forward(v))

    fits = lanczos(product, moment, STEPS)
    ridges = TRIED * fits.values[-1]
    size = float(np.linalg.norm(moment))
    # In the basis of Ritz vectors the fit is moment/(value + ridge), the moment |J^T y| U_1.
    scores = size * fits.vectors[0]
    shifted = fits.values[:, None] + ridges
    answers = scores[:, None] / shifted
    explained = np.sum(answers * (2 * scores[:, None] - fits.values[:, None] * answers), axis=0)
    freedom = np.zeros(len(ridges))
    for _ in range(PROBES):
        probe = lanczos(product, rng.choice([-1.0, 1.0], columns), STEPS)
        shares = probe.vectors[0] ** 2 * columns
        freedom += shares @ (probe.values[:, None] / (probe.values[:, None] + ridges)) / PROBES
    left = np.maximum(float(labels @ labels) - explained, 0.0)
    slack = 1 - np.minimum(freedom / samples, 1 - 1e-9)
    best = int(np.argmin(left / slack**2))
    return fits.basis @ (fits.vectors @ answers[:, best])
