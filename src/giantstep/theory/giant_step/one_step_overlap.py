"""How far one giant step turns the neurons towards the target's directions, for any leap."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import combinations_with_replacement

import numpy as np
from jaxtyping import Float

from giantstep.errors import NoTheory
from giantstep.language.activations.activation import Activation
from giantstep.language.problem import Problem
from giantstep.language.targets import Target
from giantstep.language.targets.expansion import target_block_expansion
from giantstep.language.targets.hermite import target_moments, target_tensors
from giantstep.language.targets.integration import TargetBlock, is_target_integrable, target_block
from giantstep.numerics.linear_algebra import dense_tensor_degree
from giantstep.numerics.quadrature import Rule, gauss_hermite, split_gaussian, tensor_rule
from giantstep.theory.giant_step.start_law import expected_readout_ratio

#: Length of the panels for the average over the start, by the number of directions: cosines are
#: rational functions of it, with poles that come close to the real axis for large steps.
START_PANELS = {1: 0.5, 2: 3.0}
#: Gauss-Hermite nodes per direction where panels would be too many.
START_ORDERS = {3: 24, 4: 5}
#: Directions beyond which tensors and nodes for the start would fill the memory.
MOST_DIRECTIONS = 8
#: From this dimension on a projection of the start is a Gaussian to 1e-6.
MANY = 1e6
#: Samples for targets of so many variables that no product rule can integrate them.
SAMPLES = 200_000


def one_step_overlap(
    problem: Problem,
    activation: Activation,
    *,
    step_size: float,
    samples: float,
    dim: float,
    readout: Sequence[tuple[float, float]] | None = ((1.0, 1.0),),
    biases: Sequence[tuple[float, float]] = ((0.0, 1.0),),
    degree: int = 8,
    fine: bool = True,
) -> Float[np.ndarray, " r"]:
    r"""Root mean square over neurons of the cosine with each direction, after one step from f = 0.

    A neuron that starts at :math:`w`, with projections :math:`m = W_* w \sim N(0, I_r/d)`, moves to

    .. math::
        w^1 = (1 + \eta a\,\ell(m))\,w + \eta a\,W_*^T s(m) + \eta a\,\text{noise},\quad
        s(m) = \sum_i \frac{\mu_{i+1}}{i!} C_{i+1}[m^i, \cdot],\quad
        \ell(m) = \sum_i \frac{\mu_{i+2}}{i!} C_i[m^i],

    by Stein's lemma; the noise has :math:`d/n\;E[y^2\sigma'^2]` in squared norm and
    :math:`E[y^2\sigma'^2h_k^2]/n` along direction k. Leap :math:`l` means that :math:`C_l` is the
    first tensor, so :math:`s` is of order :math:`d^{-(l-1)/2}`: it takes
    :math:`\eta\sim d^{(l-1)/2}` and :math:`n\sim d^l` to see it.

    Symbols: eta ``step_size``, n ``samples``, d ``dim``, a and its weights ``readout`` (None:
    Gaussian, averaged over in closed form), biases and their weights ``biases``, mu_k the
    activation's and C_k the target's Hermite coefficients. ``dim`` may be as large as 1e18: then
    the value is the limit itself. Not ``fine``, the rule for the start is half as dense: the
    difference tells the error.

    Assumes: isotropic Gaussian inputs, output 0 before the step (symmetric start or correlation
    loss), fresh samples, start on the sphere, at most eight directions; corrections are of relative
    order 1/sqrt(d).
    Status: theorem in the limit; heuristic at a finite ``dim``.
    References: Dandi et al. 2023, arXiv:2305.18270; Stein's lemma.

    >>> from giantstep.language.activations.activation import activation
    >>> cosine = one_step_overlap(
    ...     Problem.of("h1"), activation("relu"), step_size=2.0, samples=4e18, dim=1e18)
    >>> round(float(cosine[0]), 4)
    0.6325
    """
    rank = problem.target.rank
    if rank > MOST_DIRECTIONS:
        raise NoTheory(
            f"target = {problem.target.text!r} has {rank} directions: overlaps after a giant step "
            f"are predicted for at most {MOST_DIRECTIONS}"
        )
    tensors = target_tensors(problem.target, dense_tensor_degree(rank, degree))
    start = _start_overlap_rule(rank, fine)
    m = _on_the_sphere(start.nodes, dim)
    power = target_moments(problem.target).second_moment + problem.noise
    power_along = power + excess_along(problem.target)
    squared = np.zeros(rank)
    for bias, bias_weight in biases:
        shifted = activation.shifted(bias)
        signal, along = mean_step(tensors, shifted.hermite(degree + 1), m)
        # Squared projections and norms are quadratic in a: coefficients of 1, a and a^2.
        moved = step_size * (m * along[:, None] + signal)
        noise = step_size**2 * shifted.derivative_second_moment / samples
        projected = np.stack([m**2, 2 * m * moved, moved**2 + noise * power_along])
        # w has the unit-norm part orthogonal to V*, which only `along` rescales.
        orthogonal, scale = 1 - np.sum(m**2, axis=1), step_size * along
        rescaled = orthogonal * np.stack([np.ones_like(scale), 2 * scale, scale**2])
        norm = np.sum(projected, axis=2) + rescaled
        norm[2] += noise * (power * dim - np.sum(power_along))
        norm = np.broadcast_to(norm[:, :, None], projected.shape)
        if readout is None:
            squared += bias_weight * (start.weights @ expected_readout_ratio(projected, norm))
        for a, weight in readout or ():
            powers = np.array([1.0, a, a**2])
            cosine = np.tensordot(powers, projected, 1) / np.tensordot(powers, norm, 1)
            squared += bias_weight * weight * (start.weights @ cosine)
    return np.sqrt(squared)


def _start_overlap_rule(rank: int, fine: bool) -> Rule:
    """Nodes for the projections of the start, N(0, I_r)."""
    if rank in START_PANELS:
        length = START_PANELS[rank] * (1 if fine else 2)
        return tensor_rule([split_gaussian(panel_length=length)] * rank)
    order = START_ORDERS[min(rank, max(START_ORDERS))]
    return tensor_rule([gauss_hermite(order if fine else 1 + order // 2)] * rank)


def _on_the_sphere(nodes: np.ndarray, dim: float) -> Float[np.ndarray, "starts r"]:
    """Projections of uniform unit vectors: Gaussian nodes with the radius of the same rank.

    |m|^2 has the law Beta(r/2, (d-r)/2); m = z/sqrt(d), which may be longer than 1, is its limit.
    """
    from scipy.special import betainccinv, gammaincc

    rank = nodes.shape[1]
    if dim >= MANY:
        return nodes / math.sqrt(dim)
    squares = np.sum(nodes**2, axis=1, keepdims=True)
    if dim <= rank:
        return nodes / np.sqrt(squares)
    radius = np.sqrt(betainccinv(rank / 2, (dim - rank) / 2, gammaincc(rank / 2, squares / 2)))
    return nodes * np.where(squares > 0, radius / np.sqrt(np.maximum(squares, 1e-300)), 0.0)


def excess_along(target: Target) -> Float[np.ndarray, " r"]:
    """E[y^2 (h_k^2 - 1)] for each direction: what makes the noise larger along V*."""
    block = target_block(target)
    if is_target_integrable(block):
        # The target listed twice is its square, with the same kinks.
        table = target_block_expansion(TargetBlock(block.factors * 2, block.names), 2)[0]
        return np.array([table[tuple(2 * row)] for row in np.eye(target.rank, dtype=int)])
    points = np.random.default_rng(0).standard_normal((SAMPLES, len(block.names)))
    return np.mean(block(points)[:, None] ** 2 * (points[:, : target.rank] ** 2 - 1), axis=0)


def mean_step(
    tensors: Sequence[np.ndarray], mu: np.ndarray, m: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """s(m) and l(m) of :func:`one_step_overlap` at every start m."""
    signal, scaled = np.zeros_like(m), _scaled_overlap_powers(tensors, m)
    for k in range(1, len(tensors)):
        for indices, entry in overlap_tensor_entries(tensors[k]):
            for j in set(indices):
                rest = list(indices)
                rest.remove(j)
                signal[:, j] += mu[k] * entry * _overlap_monomial(scaled, rest)
    return signal, overlap_series(tensors, mu[2:], m)


def overlap_series(tensors: Sequence[np.ndarray], factors: np.ndarray, m: np.ndarray) -> np.ndarray:
    """The sum over k of factors_k/k! C_k[m, ..., m] at every start m, as far as both reach."""
    total, scaled = np.zeros(len(m)), _scaled_overlap_powers(tensors, m)
    for tensor, factor in zip(tensors, factors, strict=False):
        for indices, entry in overlap_tensor_entries(tensor):
            total += factor * entry * _overlap_monomial(scaled, indices)
    return total


def overlap_tensor_entries(tensor: np.ndarray) -> Iterator[tuple[tuple[int, ...], float]]:
    """Entries of a symmetric tensor that are not zero, each with its sorted indices."""
    for indices in combinations_with_replacement(range(max(tensor.shape, default=1)), tensor.ndim):
        if tensor[indices] != 0:
            yield indices, float(tensor[indices])


def _scaled_overlap_powers(tensors: Sequence[np.ndarray], m: np.ndarray) -> np.ndarray:
    """m_i^q/q! for every power q that the tensors ask for."""
    factors = [np.ones_like(m.T), *(m.T / q for q in range(1, len(tensors)))]
    return np.cumprod(factors[: len(tensors)], axis=0)


def _overlap_monomial(scaled: np.ndarray, indices: Sequence[int]) -> np.ndarray:
    """The product of m_i over the indices, over the factorials of how often each stands there."""
    found = np.ones(scaled.shape[2])
    for i in set(indices):
        found = found * scaled[indices.count(i), i]
    return found
