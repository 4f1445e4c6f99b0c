"""Ridge regressions too large to hold: features made by chunks, or products with them alone."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from giantstep.numerics.ridge.path import (
    GCV,
    Labels,
    NormalEquations,
    RidgePath,
    relative_rounding,
    ridge_or_gcv,
)

#: Entries of the features that are held at once: 32 MiB.
ENTRIES = 1 << 22
#: Steps of Lanczos from the labels and from each probe of the trace, and the number of probes.
KRYLOV_STEPS, PROBES = 80, 4
#: Ridges that are tried, as multiples of the largest eigenvalue: so many steps resolve no smaller.
RESOLVED = np.logspace(-6, 1, 36)
#: The ridge of a fit that has no other, in units of the mean eigenvalue on its Krylov space.
SMALL_RIDGE = 1e-4

Product = Callable[[np.ndarray], np.ndarray]


class CentredFit(NamedTuple):
    """Coefficients, and the means that were taken off: f = (phi - centre) . a + mean."""

    coefficients: Float[np.ndarray, " p"]
    centre: Float[np.ndarray, " p"]
    mean: float

    def predict(self, features: Float[np.ndarray, "n p"]) -> Float[np.ndarray, " n"]:
        """What the fit answers at new features."""
        return (features - self.centre) @ self.coefficients + self.mean


def chunks(samples: int, columns: int) -> Iterator[slice]:
    """Ranges of samples, such that the features of each fit into a little memory."""
    rows = max(ENTRIES // columns, 1)
    for begin in range(0, samples, rows):
        yield slice(begin, min(begin + rows, samples))


def by_chunks(
    function: Callable[[slice], np.ndarray], samples: int, columns: int
) -> Float[np.ndarray, "n ..."]:
    """The function of all samples, a chunk at a time; it makes ``columns`` numbers for each."""
    return np.concatenate([function(part) for part in chunks(samples, columns)])


def ridge_sums(chunks: Iterable[tuple[np.ndarray, np.ndarray]]) -> tuple[NormalEquations, float]:
    """The sums over chunks of features and labels, in float64, and the rounding of the features.

    Memory is O(p^2) however many samples there are.
    """
    sums, precision = None, 0.0
    for features, labels in chunks:
        precision = max(precision, relative_rounding(features))
        here = NormalEquations.of(features.astype(np.float64), labels.astype(np.float64))
        sums = here if sums is None else sums.and_also(here)
    if sums is None:
        raise ValueError("no chunk of samples was given")
    return sums, precision


def ridge_by_chunks(
    features: Callable[[slice], np.ndarray], labels: Labels, columns: int, *, intercept: bool = True
) -> CentredFit:
    """The ridge regression on ``features`` of all samples; only their Gram matrix is held."""
    if len(labels) < columns:
        # The Gram matrix of the samples is the smaller one, and then all features are few too.
        whole = by_chunks(features, len(labels), columns)
        path = RidgePath.fit(whole, labels, intercept=intercept)
    else:
        made = ((features(part), labels[part]) for part in chunks(len(labels), columns))
        sums, precision = ridge_sums(made)
        path = RidgePath.solve(sums, intercept=intercept, precision=precision)
    coefficients = path.coefficients(ridge_or_gcv(path, GCV))[0]
    centre = np.zeros(columns) if path.feature_mean is None else path.feature_mean
    return CentredFit(coefficients, centre, path.label_mean)


class Krylov(NamedTuple):
    """Orthonormal columns Q with Q^T A Q = U diag(values) U^T, and the first row of U."""

    basis: Float[np.ndarray, "p k"]
    values: Float[np.ndarray, " k"]
    vectors: Float[np.ndarray, "k k"]


def lanczos(
    product: Product,
    start: Float[np.ndarray, " p"],
    steps: int,
    is_enough: Callable[[np.ndarray, float], bool] | None = None,
) -> Krylov:
    """The Krylov space of a symmetric matrix from a start, reorthogonalised at every step.

    ``is_enough`` is shown the tridiagonal matrix T of each step and the length of A V - V T, and
    may end the iteration.
    """
    basis = np.zeros((len(start), min(steps, len(start))))
    diagonal: list[float] = []
    beside: list[float] = []
    vector = start / np.linalg.norm(start)
    for step in range(basis.shape[1]):
        basis[:, step] = vector
        new = product(vector)
        diagonal.append(float(vector @ new))
        for _ in range(2):
            new = new - basis[:, : step + 1] @ (basis[:, : step + 1].T @ new)
        length = float(np.linalg.norm(new))
        matrix = np.diag(diagonal) + np.diag(beside, 1) + np.diag(beside, -1)
        if length < 1e-10 * abs(diagonal[0]) or (is_enough and is_enough(matrix, length)):
            break
        beside.append(length)
        vector = new / length
    values, vectors = np.linalg.eigh(matrix)
    return Krylov(basis[:, : len(diagonal)], np.maximum(values, 0.0), vectors)


def krylov_ridge(
    forward: Product, backward: Product, labels: Labels, columns: int, rng: np.random.Generator
) -> Float[np.ndarray, " p"]:
    """Coefficients of least |y - J a|^2 + ridge |a|^2, J given by v -> J v and r -> J^T r.

    One Krylov space gives the fits of all ridges; the degrees of freedom tr A(A + ridge)^{-1},
    A = J^T J, are means over random vectors of signs, by the same method.
    """
    samples, moment = len(labels), backward(labels)

    def product(v: np.ndarray) -> np.ndarray:
        return backward(forward(v))

    fits = lanczos(product, moment, KRYLOV_STEPS)
    ridges = RESOLVED * fits.values[-1]
    size = float(np.linalg.norm(moment))
    # In the basis of Ritz vectors the fit is moment/(value + ridge), the moment |J^T y| U_1.
    scores = size * fits.vectors[0]
    shifted = fits.values[:, None] + ridges
    answers = scores[:, None] / shifted
    explained = np.sum(answers * (2 * scores[:, None] - fits.values[:, None] * answers), axis=0)
    freedom = np.zeros(len(ridges))
    for _ in range(PROBES):
        probe = lanczos(product, rng.choice([-1.0, 1.0], columns), KRYLOV_STEPS)
        shares = probe.vectors[0] ** 2 * columns
        freedom += shares @ (probe.values[:, None] / (probe.values[:, None] + ridges)) / PROBES
    left = np.maximum(float(labels @ labels) - explained, 0.0)
    slack = 1 - np.minimum(freedom / samples, 1 - 1e-9)
    best = int(np.argmin(left / slack**2))
    return fits.basis @ (fits.vectors @ answers[:, best])


def ridge_on_krylov_space(
    product: Product, right: Float[np.ndarray, " k"], steps: int, tolerance: float = 0.0
) -> Float[np.ndarray, " k"]:
    """The solution c of (A + small ridge) c = right, from at most ``steps`` products with A.

    Fewer are made if what is left of ``right`` falls to the share ``tolerance`` of it.

    >>> A = np.diag([1.0, 2.0, 4.0])
    >>> found = ridge_on_krylov_space(lambda v: A @ v, np.ones(3), 3)
    >>> bool(np.allclose(found, [1, 0.5, 0.25], rtol=1e-3))
    True
    """
    size = float(np.linalg.norm(right))
    if size == 0:
        return np.zeros_like(right)

    def solution(matrix: np.ndarray) -> np.ndarray:
        ridge = SMALL_RIDGE * np.trace(matrix) / len(matrix)
        return np.linalg.solve(matrix + ridge * np.eye(len(matrix)), np.eye(len(matrix))[0])

    def is_enough(matrix: np.ndarray, length: float) -> bool:
        # A V = V T + rest e_m^T: what is left is as long as the last coefficient times the rest.
        return bool(abs(solution(matrix)[-1]) * length <= tolerance)

    space = lanczos(product, right, steps, is_enough)
    matrix = (space.vectors * space.values) @ space.vectors.T
    return size * (space.basis @ solution(matrix))
