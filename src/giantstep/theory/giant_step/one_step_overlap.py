"""How far one giant step turns the neurons towards the target's directions, for any leap."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from giantstep.activations.activation import Activation
from giantstep.numerics.quadrature import gauss_hermite, tensor_rule
from giantstep.problem import Problem
from giantstep.targets import Target
from giantstep.targets.expansion import block_expansion
from giantstep.targets.hermite import hermite_tensors, moments
from giantstep.targets.integration import Block, block_of, integrable

#: Nodes a direction for the average over the start; cosines are smooth functions of it.
START_ORDER = 24
#: Samples for targets of so many variables that no product rule can integrate them.
SAMPLES = 200_000


def one_step_overlap(
    problem: Problem,
    activation: Activation,
    *,
    step_size: float,
    samples: float,
    dim: float,
    readout: Sequence[tuple[float, float]] = ((1.0, 1.0),),
    biases: Sequence[tuple[float, float]] = ((0.0, 1.0),),
    degree: int = 8,
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

    Symbols: eta ``step_size``, n ``samples``, d ``dim``, a and its weights ``readout``,
    biases and their weights ``biases``, mu_k the activation's and C_k the target's Hermite
    coefficients. ``dim`` may be as large as 1e18: then the value is the limit itself.

    Assumes: isotropic Gaussian inputs, output 0 before the step (symmetric start or correlation
    loss), fresh samples, start on the sphere; corrections are of relative order 1/sqrt(d).
    Status: theorem.
    References: Dandi et al. 2023, arXiv:2305.18270; Stein's lemma.

    >>> from giantstep.activations.activation import activation
    >>> cosine = one_step_overlap(
    ...     Problem.of("h1"), activation("relu"), step_size=2.0, samples=4e18, dim=1e18)
    >>> round(float(cosine[0]), 4)
    0.6325
    """
    tensors = hermite_tensors(problem.target, degree)
    rank = problem.target.rank
    start = tensor_rule([gauss_hermite(START_ORDER if rank <= 3 else 5)] * rank)
    m = start.nodes / math.sqrt(dim)
    power = moments(problem.target).second_moment + problem.noise
    power_along = power + _excess_along(problem.target)
    squared = np.zeros(rank)
    for bias, bias_weight in biases:
        shifted = activation.shifted(bias)
        signal, along = _mean_step(tensors, shifted.hermite(degree + 1), m)
        for a, weight in readout:
            scale = step_size * a
            projected = m * (1 + scale * along)[:, None] + scale * signal
            # w has the unit-norm part orthogonal to V*, which only `along` rescales.
            orthogonal = (1 - np.sum(m**2, axis=1)) * (1 + scale * along) ** 2
            noise = scale**2 * shifted.derivative_second_moment / samples
            norm = np.sum(projected**2, axis=1) + orthogonal + noise * power * dim
            cosine = (projected**2 + noise * power_along) / norm[:, None]
            squared += bias_weight * weight * (start.weights @ cosine)
    return np.sqrt(squared)


def _excess_along(target: Target) -> Float[np.ndarray, " r"]:
    """E[y^2 (h_k^2 - 1)] for each direction: what makes the noise larger along V*."""
    block = block_of(target)
    if integrable(block):
        # The target listed twice is its square, with the same kinks.
        table = block_expansion(Block(block.factors * 2, block.names), 2)[0]
        return np.array([table[tuple(2 * row)] for row in np.eye(target.rank, dtype=int)])
    points = np.random.default_rng(0).standard_normal((SAMPLES, len(block.names)))
    return np.mean(block(points)[:, None] ** 2 * (points[:, : target.rank] ** 2 - 1), axis=0)


def _mean_step(
    tensors: Sequence[np.ndarray], mu: np.ndarray, m: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """s(m) and l(m) at every start m, by contracting each tensor with m as often as it takes."""
    signal, along = np.zeros_like(m), np.zeros(len(m))
    for k, tensor in enumerate(tensors):
        contracted = np.broadcast_to(tensor, (len(m), *tensor.shape))
        for _ in range(k - 1):
            contracted = np.einsum("p...i,pi->p...", contracted, m)
        if k >= 1:
            signal += mu[k] / math.factorial(k - 1) * contracted
            contracted = np.einsum("pi,pi->p", contracted, m)
        if k + 2 < len(mu):
            along += mu[k + 2] / math.factorial(k) * contracted
    return signal, along
