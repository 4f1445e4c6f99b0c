"""A network of three layers trained layer by layer; every scenario on the same first layer."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from giantstep.language.activations.activation import activation
from giantstep.learners.three_layer.layers import (
    MOST_COLUMNS,
    HiddenLayer,
    fit_readout,
    train_random_layer,
    train_unit,
    trained_leaf_span,
    turn_trained_layer,
)
from giantstep.learners.three_layer.samples import NetworkAnswer, Trained, TreeData
from giantstep.numerics.ridge.large import by_chunks, chunks, krylov_ridge, ridge_by_chunks
from giantstep.settings.three_layer import ThreeLayer

#: Gauss-Newton steps of the first layer, below a readout and again below the second layer.
TURNS = 3


def train_layerwise(
    settings: ThreeLayer, dim: int, data: TreeData, rng: np.random.Generator
) -> Trained:
    """Train the first layer, then fit on it whatever the scenario and those before it ask for."""
    (train, test), leaves = data[:2], data.leaves
    x, y, networks = train.inputs, train.labels, settings.networks
    width, second_width = settings.widths(dim)
    count = _trained_count(settings, dim, data, rng)
    spans = []
    if settings.oracle:
        directions = np.eye(dim)[:count]
    else:
        directions = train_moment_units(x, y, settings.number_of_steps(dim), count, rng)
    spans.append(trained_leaf_span(directions, leaves))
    layer = HiddenLayer.draw(activation(settings.activation), directions, width, rng)
    for _ in range(0 if settings.oracle else TURNS):
        readout = fit_readout(layer, x, y)
        slopes = layer.slopes(x, readout.coefficients)
        layer = turn_trained_layer(layer, x, slopes, y - layer.fitted(x, readout), rng)
    spans.append(trained_leaf_span(layer.directions, leaves))
    output = layer.fitted(test.inputs, fit_readout(layer, x, y))
    answers = [NetworkAnswer(output, output)]
    output = train_random_layer(layer, x, y, test.inputs, second_width, rng)
    answers.append(NetworkAnswer(output, output))
    if "second-layer" in networks:
        unit = train_unit(layer, x, y)
        u = unit.inner(layer, test.inputs)
        answers.append(NetworkAnswer(unit.link.value(u), u))
        if "joint" in networks:
            for _ in range(0 if settings.oracle else TURNS):
                u = unit.inner(layer, x)
                slopes = unit.link.slope(u)[:, None] * layer.slopes(x, unit.weights)
                residuals = y - unit.link.value(u)
                layer = turn_trained_layer(layer, x, slopes, residuals, rng)
                unit = train_unit(layer, x, y)
            u = unit.inner(layer, test.inputs)
            answers.append(NetworkAnswer(unit.link.value(u), u))
            spans.append(trained_leaf_span(layer.directions, leaves))
    return Trained(tuple(answers), tuple(spans), count)


def _trained_count(settings: ThreeLayer, dim: int, data: TreeData, rng: np.random.Generator) -> int:
    """How many directions the first layer keeps: given, counted, or those of the target."""
    if settings.leaves is None:
        return data.leaves
    if settings.leaves == "auto":
        return count_leaves_in_samples(data.train.inputs, data.train.labels, rng)
    count: int = settings.leaves.count(dim, "leaves")
    return count


def train_lazy(settings: ThreeLayer, dim: int, data: TreeData, rng: np.random.Generator) -> Trained:
    """Ridge regression on x_i, x_i x_j and (x_i^2 - 1)/sqrt(2), orthonormal for normal inputs."""
    train, test = data.train, data.test
    columns = dim + dim * (dim + 1) // 2
    solve = _train_dense_quadratic if columns <= MOST_COLUMNS else _train_by_products
    output = solve(train.inputs, train.labels, test.inputs, rng)
    return Trained((NetworkAnswer(output, output),), (), data.leaves)


def _train_dense_quadratic(
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
    fit = ridge_by_chunks(lambda part: monomials(inputs[part]), labels, columns)
    return by_chunks(lambda part: fit.predict(monomials(fresh[part])), len(fresh), columns)


def _train_by_products(
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


#: Units |w.x| whose steps are taken. More of them change nothing.
UNITS = 400
#: Permutations of the labels that show where the spectrum of pure noise ends, and the quantile of
#: a normal law that is added to the mean of their ends.
PERMUTATIONS, BEYOND = 20, 3.0


def sample_moments(
    inputs: Float[np.ndarray, "n d"], labels: Float[np.ndarray, " n"]
) -> Float[np.ndarray, "d d"]:
    """M = (1/n) sum_i (y_i - mean) x_i x_i^T."""
    samples, dim = inputs.shape
    weights, total = labels - labels.mean(), np.zeros((dim, dim))
    for part in chunks(samples, dim):
        total += (inputs[part] * weights[part, None]).T @ inputs[part]
    return total / samples


def sample_eigenvectors(matrix: Float[np.ndarray, "d d"], count: int) -> Float[np.ndarray, "k d"]:
    """Orthonormal rows: the eigenvectors of largest absolute eigenvalue."""
    values, vectors = np.linalg.eigh(matrix)
    return vectors[:, np.argsort(-np.abs(values))[:count]].T


def count_leaves_in_samples(
    inputs: Float[np.ndarray, "n d"],
    labels: Float[np.ndarray, " n"],
    rng: np.random.Generator,
) -> int:
    """How many eigenvalues of the moment matrix lie beyond the edge of noise; at least one.

    Where the labels are shuffled, the matrix has the bulk without the spikes.
    """
    values = np.linalg.eigvalsh(sample_moments(inputs, labels))
    ends = np.array(
        [
            np.linalg.eigvalsh(sample_moments(inputs, rng.permutation(labels)))[[0, -1]]
            for _ in range(PERMUTATIONS)
        ]
    )
    low, high = ends.mean(axis=0) + np.array([-BEYOND, BEYOND]) * ends.std(axis=0, ddof=1)
    return max(int(np.sum((values < low) | (values > high))), 1)


def train_moment_units(
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
    return sample_eigenvectors(weights.T @ weights, count)
