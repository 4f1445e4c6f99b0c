"""First steps of the first layer: the span of a tree's leaves from second moments of the labels."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from giantstep.learners.depth.chunked_ridge import chunks

#: Units |w.x| whose steps are taken. More of them change nothing.
UNITS = 400
#: Permutations of the labels that show where the spectrum of pure noise ends, and the quantile of
#: a normal law that is added to the mean of their ends.
PERMUTATIONS, BEYOND = 20, 3.0


def moment_matrix(
    inputs: Float[np.ndarray, "n d"], labels: Float[np.ndarray, " n"]
) -> Float[np.ndarray, "d d"]:
    """M = (1/n) sum_i (y_i - mean) x_i x_i^T."""
    samples, dim = inputs.shape
    weights, total = labels - labels.mean(), np.zeros((dim, dim))
    for part in chunks(samples, dim):
        total += (inputs[part] * weights[part, None]).T @ inputs[part]
    return total / samples


def top_eigenvectors(matrix: Float[np.ndarray, "d d"], count: int) -> Float[np.ndarray, "k d"]:
    """Orthonormal rows: the eigenvectors of largest absolute eigenvalue."""
    values, vectors = np.linalg.eigh(matrix)
    return vectors[:, np.argsort(-np.abs(values))[:count]].T


def count_leaves(
    inputs: Float[np.ndarray, "n d"],
    labels: Float[np.ndarray, " n"],
    rng: np.random.Generator,
) -> int:
    """How many eigenvalues of the moment matrix lie beyond the edge of noise; at least one.

    Where the labels are shuffled, the matrix has the bulk without the spikes.
    """
    values = np.linalg.eigvalsh(moment_matrix(inputs, labels))
    ends = np.array(
        [
            np.linalg.eigvalsh(moment_matrix(inputs, rng.permutation(labels)))[[0, -1]]
            for _ in range(PERMUTATIONS)
        ]
    )
    low, high = ends.mean(axis=0) + np.array([-BEYOND, BEYOND]) * ends.std(axis=0, ddof=1)
    return max(int(np.sum((values < low) | (values > high))), 1)


def moment_steps(
    inputs: Float[np.ndarray, "n d"],
    labels: Float[np.ndarray, " n"],
    steps: int,
    count: int,
    rng: np.random.Generator,
) -> Float[np.ndarray, "k d"]:
    """Directions of units |w.x| after full-batch steps w <- unit(mean (y - ybar) sign(w.x) x).

    A unit |w.x| is a pair relu(w.x) + relu(-w.x): the odd part of a single relu adds noise alone.
    A step is as long as it takes for the start to be forgotten. Few steps are better than many,
    which like a power iteration would collapse the span to its strongest directions.
    """
    samples, dim = inputs.shape
    centred = labels - labels.mean()
    weights = rng.standard_normal((UNITS, dim))
    for _ in range(steps):
        moved = np.zeros_like(weights)
        for part in chunks(samples, UNITS):
            x = inputs[part]
            moved += (np.sign(x @ weights.T) * centred[part, None]).T @ x
        weights = moved / np.linalg.norm(moved, axis=1, keepdims=True)
    return top_eigenvectors(weights.T @ weights, count)
