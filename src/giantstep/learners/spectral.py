"""Spectral methods: top eigenvectors of matrices weighted by the labels."""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

import numpy as np
from jaxtyping import Float, Shaped

from giantstep.answer import Run
from giantstep.channels.channel import Channel, channel_of_problem
from giantstep.channels.preprocessing import (
    EMPTY,
    Labels,
    channel_basis,
    channel_outlier_groups,
    given_channel_weights,
    optimal_channel_weights,
)
from giantstep.errors import SettingsError
from giantstep.language.problem import Problem
from giantstep.learners.amp.data import REMEDY, Data, amp_run_sizes, draw_amp_data
from giantstep.learners.seeds import once_per_seed
from giantstep.numerics.cost import DRAW, EIGEN, ENTRY, Cost
from giantstep.settings.spectral import Spectral

#: Up to this dimension the matrix is formed and solved densely.
DENSE = 1500
#: How far beyond the radius of the bulk, relatively, an outlier of the linearised method must be.
_BEYOND = 1.1
#: Labels at which the weights of two blocks are compared.
_COMPARED = 64
#: Products that an iterative eigensolver takes as a rule.
_PRODUCTS = 100


def _simulation_with_notes(problem: Problem, settings: Spectral, found: Run) -> Run:
    channel = channel_of_problem(problem)
    own = {**found.settings, **channel.settings}
    return dataclasses.replace(found, settings=own, notes=channel.notes)


@functools.partial(once_per_seed, after=_simulation_with_notes)
def simulate(problem: Problem, settings: Spectral, rng: np.random.Generator) -> dict[str, Any]:
    """The squared cosines of the spectral estimates and their eigenvalues, once for each seed."""
    samples, dim, _ = amp_run_sizes(settings)
    if settings.phases:
        raise SettingsError("phases is a prediction: there is nothing to simulate")
    channel = channel_of_problem(problem)
    data = draw_amp_data(problem, dim, samples, channel.added, rng)
    found = _simulated_estimate(channel, settings, data, rng)
    return {n: v[0] if channel.rank == 1 and np.ndim(v) else v for n, v in found.items()}


def _simulated_estimate(
    channel: Channel, settings: Spectral, data: Data, rng: np.random.Generator
) -> dict[str, Any]:
    basis = channel_basis(channel, settings)
    if basis is None:
        value, span = estimate_by_linearised_messages(channel, data, rng)
        cosines = np.zeros(channel.rank)
        found = np.linalg.svd(span.T @ data.truth, compute_uv=False) ** 2 / len(span)
        cosines[: len(found)] = found
        return {"overlap_squared": cosines, "eigenvalue": value}
    values, vectors = estimated_block_directions(channel, settings, data, basis, rng)
    truth = data.truth @ basis.T
    overlap = np.einsum("dk,dk->k", vectors, truth) ** 2 / len(vectors)
    if settings.preprocessing == "optimal":
        # Blocks with one matrix have their outliers in common: only the span of these is known.
        for group in _equal_blocks(channel, data, basis):
            cosines = np.linalg.svd(vectors[:, group].T @ truth[:, group], compute_uv=False)
            overlap[group] = cosines**2 / len(vectors)
    return {"overlap_squared": overlap, "eigenvalue": values}


def _equal_blocks(channel: Channel, data: Data, basis: Float[np.ndarray, "r r"]) -> list[list[int]]:
    """Blocks of the basis in groups: those of a group have one weight for every label."""
    curvatures = Labels(channel, data.labels[:_COMPARED]).moments()[1]
    squares = np.einsum("ki,nij,kj->kn", basis, curvatures, basis)
    groups: list[list[int]] = []
    for block, row in enumerate(squares):
        same = [g for g in groups if np.allclose(row, squares[g[0]], rtol=1e-4, atol=1e-5)]
        if same:
            same[0].append(block)
        else:
            groups.append([block])
    return groups


def estimated_block_directions(
    channel: Channel,
    settings: Spectral,
    data: Data,
    basis: Float[np.ndarray, "r r"],
    rng: np.random.Generator,
) -> tuple[Float[np.ndarray, " r"], Float[np.ndarray, "d r"]]:
    """Top eigenvalue and unit eigenvector of (1/n) sum_i T_k(y_i) x_i x_i^T, for every block k.

    A given T makes one matrix for all blocks, whose k-th eigenvector estimates the block with the
    k-th largest E[T h^2].
    """
    x, y = data.inputs, data.labels
    squares = np.einsum("ki,nij,kj->nk", basis, Labels(channel, y).moments()[1], basis)
    if settings.preprocessing == "optimal":
        values, vectors = np.empty(channel.rank), np.empty((x.shape[1], channel.rank))
        for group in _equal_blocks(channel, data, basis):
            weights = optimal_channel_weights(squares[:, group[0]], settings.clip)
            values[group], vectors[:, group] = _top_sample_eigenvectors(x, weights, len(group), rng)
        return values, vectors
    weights = given_channel_weights(settings.preprocessing, y)
    values, vectors = _top_sample_eigenvectors(x, weights, channel.rank, rng)
    order = np.argsort(np.argsort(-(weights @ squares), kind="stable"), kind="stable")
    return values[order], vectors[:, order]


def _top_sample_eigenvectors(
    x: Shaped[np.ndarray, "n d"],
    weights: Float[np.ndarray, " n"],
    count: int,
    rng: np.random.Generator,
) -> tuple[Float[np.ndarray, " k"], Float[np.ndarray, "d k"]]:
    """The largest eigenvalues of (1/n) X^T diag(weights) X and their unit eigenvectors."""
    from scipy.linalg import eigh
    from scipy.sparse.linalg import LinearOperator, eigsh

    n, dim = x.shape
    if dim <= DENSE or dim <= 2 * count:
        matrix = (x * weights[:, None].astype(x.dtype)).T @ x / n
        values, vectors = eigh(matrix, subset_by_index=(dim - count, dim - 1))
    else:
        scaled = (weights / n).astype(x.dtype)
        operator = LinearOperator(
            (dim, dim), matvec=lambda v: x.T @ (scaled * (x @ v.ravel())), dtype=x.dtype
        )
        values, vectors = eigsh(operator, k=count, which="LA", v0=rng.normal(size=dim))
    order = np.argsort(-values)
    return values[order].astype(float), vectors[:, order].astype(float)


def estimate_by_linearised_messages(
    channel: Channel, data: Data, rng: np.random.Generator
) -> tuple[float, Float[np.ndarray, "d k"]]:
    """Top eigenvalue of L = (X X^T/d - diag) G(y), and an orthonormal basis of what it estimates.

    An outlier's eigenvector v estimates the directions by the r columns of X^T G v. Symmetric
    targets have several outliers of one size, and their eigenvectors are then any basis of what
    belongs to them together: the estimate is the span of them all, cut to the r directions that
    hold most of it. It does not depend on that basis. Where the first group leaves directions
    empty the next one is asked; what no outlier shows is left out.
    """
    from scipy.sparse.linalg import LinearOperator, eigs

    x, rank = data.inputs, channel.rank
    n, dim = x.shape
    curvatures = Labels(channel, data.labels).moments()[1]
    own = np.einsum("nd,nd->n", x, x) / dim

    def apply(v: np.ndarray) -> np.ndarray:
        u = np.einsum("nij,nj->ni", curvatures, v.reshape(n, rank))
        return (x @ (x.T @ u) / dim - own[:, None] * u).ravel()

    operator = LinearOperator((n * rank, n * rank), matvec=apply, dtype=float)
    start = rng.normal(size=n * rank)
    largest, span = -np.inf, np.zeros((dim, 0))
    for count in channel_outlier_groups(_sandwich(curvatures, n / dim), _BEYOND) or [1]:
        values, vectors = eigs(operator, k=min(count, n * rank - 2), which="LR", v0=start)
        largest = max(largest, float(values.real.max()))
        vectors = vectors[:, values.real >= min(largest, np.sqrt(max(largest, 1.0)))]
        # A pair that fluctuations made complex spans the same two directions by its two parts.
        parts = np.concatenate([vectors.real, vectors.imag], axis=1)
        basis = _strongest_of_run(parts, count).T.reshape(-1, n, rank)
        columns = [x.T @ np.einsum("nij,nj->ni", curvatures, v) for v in basis]
        together = _strongest_of_run(np.stack(columns, axis=-1).reshape(dim * rank, -1), count)
        together = together.reshape(dim, -1)
        new = _strongest_of_run(together - span @ (span.T @ together), rank - span.shape[1])
        span = np.concatenate([span, new], axis=1)
        if span.shape[1] == rank:
            break
    return largest, span


def _sandwich(
    curvatures: Float[np.ndarray, "n r r"], samples_ratio: float
) -> Float[np.ndarray, " k"]:
    """The eigenvalues of M -> alpha E[G M G]: where those of L are to be expected."""
    n, rank, _ = curvatures.shape
    table = np.einsum("nij,nkl->ikjl", curvatures, curvatures, optimize=True) / n
    return samples_ratio * np.linalg.eigvalsh(table.reshape(rank**2, rank**2))


def _strongest_of_run(columns: Float[np.ndarray, "m k"], most: int) -> Float[np.ndarray, "m j"]:
    """An orthonormal basis of columns of order one, of the ``most`` directions that hold most."""
    left, sizes, _ = np.linalg.svd(columns, full_matrices=False)
    return left[:, : min(most, int(np.sum(sizes > EMPTY)))]


def cost(problem: Problem, settings: Spectral) -> Cost:
    """A weighted covariance and its eigenvectors, formed or applied."""
    n, dim, sizes = amp_run_sizes(settings)
    rank = problem.target.rank
    dense = n * float(dim) ** 2 + EIGEN * float(dim) ** 3
    solve = rank * (dense if dim <= DENSE else _PRODUCTS * 2 * ENTRY * n * dim)
    held = 8 * (2.0 * n * dim + (2.0 * dim**2 if dim <= DENSE else 0.0))
    return Cost(held, n * dim * DRAW + solve, sizes, REMEDY)
