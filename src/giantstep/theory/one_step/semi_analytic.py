"""The risk of a given first layer, averaged over the samples of the readout fit only."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from giantstep.language.activations.activation import Activation
from giantstep.language.problem import Problem
from giantstep.numerics.quadrature import CUTOFF
from giantstep.numerics.solve import iterate
from giantstep.theory.spiked_random_features.conditional_features import (
    LIMIT,
    REACH,
    Table,
    conditional_feature_moments,
)
from giantstep.theory.spiked_random_features.conditional_labels import (
    LabelMoments,
    Latents,
    conditional_label_moments,
)
from giantstep.theory.spiked_random_features.finite_size import Grid

#: Functions of the learned projection that stand for those of all neurons.
MEAN_RANK, SLOPE_RANK, NOISE_RANK = 12, 4, 4
#: Singular values below this fraction of the largest are left out.
NEGLIGIBLE = 1e-7
#: Neurons whose moments are computed at once.
CHUNK = 64


class SemiAnalyticRisk(NamedTuple):
    """Excess test risk and train error (noisy labels), and whether the equations were solved."""

    test: float
    train: float
    converged: bool


class _Expansion(NamedTuple):
    """p functions on the grid as a few functions with p coefficients each."""

    coefficients: np.ndarray
    functions: np.ndarray


class _Layer(NamedTuple):
    """Spikes, bulk variances, projections on the target's other directions, and Gram matrix."""

    spikes: np.ndarray
    bulks: np.ndarray
    across: np.ndarray
    gram: np.ndarray


def semi_analytic_risk(
    problem: Problem,
    sigma: Activation,
    weights: Float[np.ndarray, "p d"],
    learned: Float[np.ndarray, " d"],
    directions: Float[np.ndarray, "r d"],
    *,
    samples: float,
    ridge: float,
) -> SemiAnalyticRisk:
    r"""Test and train error of the readout fit on top of an actual first layer.

    Given :math:`\kappa = \langle v, x\rangle` the features are Gaussian with mean
    :math:`m_j(\kappa)` and covariance :math:`\Sigma(\kappa) = \mathrm{diag}(\bar u)\,
    W_qW_q^T\,\mathrm{diag}(\bar u) + \mathrm{diag}(e^2)`, where W_q are the rows across v and
    the target's directions. With :math:`Q = (nE[\Sigma/(1+V)] + \lambda)^{-1}` and
    :math:`V = \mathrm{tr}\,\Sigma Q`, spikes M (the means, and the slopes along the target's
    directions) enter through :math:`K = M^TQM`:

    .. math::
        \mu = (1+KL)^{-1}KR,\quad \theta_0 = QM(R - L\mu),\quad
        L = nE\Big[\frac{ff^T}{1+V}\Big],\quad R = nE\Big[\frac{fg}{1+V}\Big],

    and the fluctuations solve :math:`q = \theta_0^T\Sigma\theta_0
    + n E'\,\mathrm{tr}[Q\Sigma Q\Sigma']\,(\mathrm{res}'+q')/(1+V')^2`.
    No isotropy is assumed: activations with :math:`\mu_2\ne0`, and any readout, are covered.

    Symbols: W^1 ``weights``, v ``learned`` (a unit vector), W_* ``directions`` (orthonormal
    rows), n ``samples``; ``ridge`` as everywhere: the features are divided by sqrt(p).

    Assumes: n and p large; rows that share one direction v at most.
    Status: heuristic (deterministic equivalent), verified by simulation.
    References: Cui et al. 2024, arXiv:2402.04980; Dandi et al. 2024, arXiv:2410.18938.

    >>> rng = np.random.default_rng(0)
    >>> rows = rng.standard_normal((60, 60))
    >>> rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    >>> from giantstep.language.activations.activation import activation
    >>> axes = np.eye(60)
    >>> risk = semi_analytic_risk(
    ...     Problem.of("h1"), activation("identity"), rows + axes[0], axes[0], axes[:1],
    ...     samples=1e6, ridge=1e-6)
    >>> risk.test < 1e-4
    True
    """
    grid = Grid.of("limit", LIMIT, (), 2.0)
    learned = learned / np.linalg.norm(learned)
    labels, layer = _decomposed(problem, weights, learned, directions, grid)
    mean, slope, noise = _expansions(sigma, layer, grid)
    penalty = ridge * len(weights)
    shapes, basis = _covariance_basis(slope, noise, layer.gram)
    inverse, gain, converged = _resolvent(basis, shapes, grid.weights, samples, penalty)

    spikes = np.hstack(
        [mean.coefficients, *(slope.coefficients * a[:, None] for a in layer.across.T)]
    )
    fitted, residual = _fitted_spikes(spikes, inverse, mean, slope, labels, samples, grid, gain)
    power = residual + problem.noise
    pulled = inverse @ (spikes @ fitted)
    own = np.array([pulled @ matrix @ pulled for matrix in basis])
    products = [inverse @ matrix for matrix in basis]
    exchange = np.array([[np.sum(a * b.T) for b in products] for a in products])
    squared = samples * grid.weights * gain**2
    drive = exchange @ (shapes * squared)
    response = np.linalg.solve(np.eye(len(basis)) - drive @ shapes.T, own + drive @ power)
    loss = power + response @ shapes
    return SemiAnalyticRisk(
        test=float(grid.weights @ loss) - problem.noise,
        train=float(grid.weights @ (loss * gain**2)),
        converged=converged,
    )


def _decomposed(
    problem: Problem,
    weights: np.ndarray,
    learned: np.ndarray,
    directions: np.ndarray,
    grid: Grid,
) -> tuple[LabelMoments, _Layer]:
    """Labels given kappa, and the rows' parts along v, along the target, and across both."""
    seen = directions @ learned
    alignment = float(np.linalg.norm(seen))
    unit = seen / alignment if alignment > 1e-12 else np.eye(len(directions))[0]
    latents = Latents.of(problem.target, unit)
    labels = conditional_label_moments(latents, alignment, grid.kappa, grid.radius, grid.dim)
    frame = latents.basis()[0] @ directions
    frame = frame - np.outer(frame @ learned, learned)
    lengths = np.linalg.norm(frame, axis=1)
    frame = (frame / np.maximum(lengths, 1e-300)[:, None])[len(frame) - len(labels.slope) :]
    spikes = weights @ learned
    bulk = weights - np.outer(spikes, learned)
    across = bulk @ frame.T
    rest = bulk - across @ frame
    return labels, _Layer(spikes, np.sum(bulk**2, axis=1), across, rest @ rest.T)


def _expansions(
    sigma: Activation, layer: _Layer, grid: Grid
) -> tuple[_Expansion, _Expansion, _Expansion]:
    """Means, slopes (per unit of the row) and noise variances of all neurons, compressed."""
    wide, narrow = (math.sqrt(float(f(layer.bulks))) for f in (np.max, np.min))
    reach = float(np.max(np.abs(layer.spikes))) * CUTOFF + REACH * wide
    table = Table.of(sigma.numpy, sigma.kinks, reach=reach, narrow=narrow, wide=wide)
    columns = []
    for start in range(0, len(layer.spikes), CHUNK):
        part = slice(start, start + CHUNK)
        scale = np.sqrt(layer.bulks[part])[:, None] * np.ones_like(grid.kappa)[None, :]
        shift = layer.spikes[part, None] * grid.kappa[None, :]
        mean, slope, _, power = conditional_feature_moments(table, shift, scale, grid.dim)
        columns.append((mean, slope / scale, power - mean**2 - slope**2))
    mean, slope, noise = (np.concatenate(parts) for parts in zip(*columns, strict=True))
    return (
        _compressed(mean, grid.weights, MEAN_RANK),
        _compressed(slope, grid.weights, SLOPE_RANK),
        _compressed(noise, grid.weights, NOISE_RANK),
    )


def _compressed(values: np.ndarray, weights: np.ndarray, rank: int) -> _Expansion:
    """The best few functions, in the mean square under the weights."""
    half = np.sqrt(weights)
    left, singular, right = np.linalg.svd(values * half, full_matrices=False)
    kept = min(rank, max(1, int(np.sum(singular > NEGLIGIBLE * singular[0]))))
    functions = right[:kept] / np.maximum(half, 1e-300)
    return _Expansion(left[:, :kept] * singular[:kept], functions)


def _covariance_basis(
    slope: _Expansion, noise: _Expansion, gram: np.ndarray
) -> tuple[np.ndarray, list[np.ndarray]]:
    """Functions h_i and matrices B_i with Sigma(kappa) = sum_i h_i(kappa) B_i."""
    shapes, basis = [], []
    for i, j in zip(*np.triu_indices(len(slope.functions)), strict=True):
        outer = np.outer(slope.coefficients[:, i], slope.coefficients[:, j])
        shapes.append(slope.functions[i] * slope.functions[j])
        basis.append(gram * (outer if i == j else outer + outer.T))
    for coefficients, function in zip(noise.coefficients.T, noise.functions, strict=True):
        shapes.append(function)
        basis.append(np.diag(coefficients))
    return np.array(shapes), basis


def _resolvent(
    basis: list[np.ndarray], shapes: np.ndarray, weights: np.ndarray, samples: float, penalty: float
) -> tuple[np.ndarray, np.ndarray, bool]:
    """Q, 1/(1+V) on the grid, and whether they converged."""
    stacked = np.stack(basis)

    def inverse_at(traces: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        gain = 1 / (1 + traces @ shapes)
        mean = np.tensordot(shapes @ (samples * weights * gain), stacked, axes=1)
        return np.linalg.inv(mean + penalty * np.eye(len(mean))), gain

    def image(traces: np.ndarray) -> np.ndarray:
        inverse, _ = inverse_at(traces)
        return np.tensordot(stacked, inverse, axes=([1, 2], [0, 1]))

    start = np.zeros(len(basis))
    found = iterate(image, start, tolerance=1e-9, max_iterations=500, memory=5)
    return *inverse_at(found.value), found.converged


def _fitted_spikes(
    spikes: np.ndarray,
    inverse: np.ndarray,
    mean: _Expansion,
    slope: _Expansion,
    labels: LabelMoments,
    samples: float,
    grid: Grid,
    gain: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """R - L mu, and the squared error (without noise) that the mean readout leaves."""
    average = samples * grid.weights * gain
    families = [(mean.functions, labels.mean), *((slope.functions, g) for g in labels.slope)]
    sizes = [len(functions) for functions, _ in families]
    coupling, source = np.zeros((sum(sizes), sum(sizes))), np.zeros(sum(sizes))
    places, end = [], 0
    for functions, label in families:
        place = slice(end, end + len(functions))
        coupling[place, place] = (functions * average) @ functions.T
        source[place] = (functions * average) @ label
        places.append(place)
        end = place.stop
    gram = spikes.T @ inverse @ spikes
    overlap = np.linalg.solve(np.eye(len(gram)) + gram @ coupling, gram @ source)
    residual = labels.power.copy()
    for (functions, label), place in zip(families, places, strict=True):
        fit = overlap[place] @ functions
        residual += fit**2 - 2 * label * fit
    return source - coupling @ overlap, residual
