"""What a network without feature learning fits from d^2 samples: quadratic polynomials of x."""

from __future__ import annotations

import numpy as np

from giantstep.learners.depth.chunked_ridge import by_chunks, fit_ridge
from giantstep.learners.depth.krylov_ridge import krylov_ridge
from giantstep.learners.depth.outcome import Answer, Trained
from giantstep.learners.depth.tree_samples import TreeData
from giantstep.learners.depth.turning_step import MOST_COLUMNS
from giantstep.settings.three_layer import ThreeLayer


def train_lazy(settings: ThreeLayer, dim: int, data: TreeData, rng: np.random.Generator) -> Trained:
    """Ridge regression on x_i, x_i x_j and (x_i^2 - 1)/sqrt(2), orthonormal for normal inputs."""
    train, test = data.train, data.test
    columns = dim + dim * (dim + 1) // 2
    solve = _dense if columns <= MOST_COLUMNS else _by_products
    output = solve(train.inputs, train.labels, test.inputs, rng)
    return Trained((Answer(output, output),), (), data.leaves)


def _dense(
    inputs: np.ndarray, labels: np.ndarray, fresh: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    dim = inputs.shape[1]
    first, second = np.triu_indices(dim)
    on_diagonal = first == second

    def monomials(x: np.ndarray) -> np.ndarray:
        products = x[:, first] * x[:, second]
        products[:, on_diagonal] = (products[:, on_diagonal] - 1) / np.sqrt(2)
        return np.concatenate([x, products], axis=1)

    columns = dim + len(first)
    fit = fit_ridge(lambda part: monomials(inputs[part]), labels, columns)
    answers = by_chunks(
        lambda part: (monomials(fresh[part]) - fit.centre) @ fit.coefficients, len(fresh), columns
    )
    return answers + fit.mean


def _by_products(
    inputs: np.ndarray, labels: np.ndarray, fresh: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    """The same without monomials: x.v + (x^T V x - tr V)/sqrt(2), penalised by |v|^2 + |V|^2."""
    dim, mean = inputs.shape[1], float(labels.mean())

    def at(x: np.ndarray, v: np.ndarray) -> np.ndarray:
        square = v[dim:].reshape(dim, dim)
        return x @ v[:dim] + (np.sum((x @ square) * x, axis=1) - np.trace(square)) / np.sqrt(2)

    def backward(r: np.ndarray) -> np.ndarray:
        square = (inputs.T @ (inputs * r[:, None]) - r.sum() * np.eye(dim)) / np.sqrt(2)
        return np.concatenate([inputs.T @ r, square.ravel()])

    found = krylov_ridge(lambda v: at(inputs, v), backward, labels - mean, dim + dim**2, rng)
    return at(fresh, found) + mean
