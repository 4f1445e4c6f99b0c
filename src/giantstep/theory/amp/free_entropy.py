"""Free entropy and mutual information: what the data contain, whatever the algorithm."""

from __future__ import annotations

import math

import numpy as np

from giantstep.channels.channel import Channel
from giantstep.theory.amp.averages.overlaps import EDGE, Overlap
from giantstep.theory.amp.averages.population import Population


def free_entropy_at(population: Population, samples_ratio: float, overlap: Overlap) -> float:
    r"""The replica free entropy per dimension on the curve of state evolution, M^ = M (I - M)^-1.

    .. math:: \Phi(M) = \tfrac12 \mathrm{Tr} M + \tfrac12 \log\det(I - M) + \alpha \Psi(M), \quad
        \Psi = E_\omega \int dy\, Z \log Z

    is :math:`\inf_{\hat M} \{\tfrac12 \mathrm{Tr} (I - M) \hat M
    - \tfrac12 \log\det(I + \hat M)\} + \alpha \Psi(M)`. Its largest value is the limit of
    E[log P(y_1..y_n | x_1..x_n)]/d; its stationary points are the fixed points of state evolution,
    since dPsi/dM = E[g_out g_out^T]/2. Infinite where a noiseless continuous label is recovered
    perfectly.

    Symbols: alpha ``samples_ratio``, M ``overlap``; averages over labels by ``population``.

    Assumes: isotropic Gaussian inputs, Gaussian prior on the directions, d to infinity with n/d
    and r <= 3 fixed.
    Status: theorem for r = 1; replica beyond.
    References: Barbier et al. 2017, arXiv:1708.03395; Troiani et al. 2024, arXiv:2405.15480.

    >>> from giantstep.language.problem import Problem
    >>> from giantstep.theory.amp.averages.population import population_of
    >>> population = population_of(Problem.of("abs(h1)"))
    >>> round(free_entropy_at(population, 0.8, np.array([[0.21623]])), 5)
    -0.57905
    """
    values = np.linalg.eigvalsh(overlap)
    if values[-1] > 1 - 2 * EDGE and _is_noiseless_and_continuous(population.channel):
        return float("inf")
    inside = overlap * min(1.0, (1 - EDGE) / max(values[-1], EDGE))
    psi = float(population.log_partition(inside))
    entropy = np.linalg.slogdet(np.eye(len(overlap)) - inside)[1] / 2
    return float(np.trace(inside) / 2 + entropy + samples_ratio * psi)


def mutual_information(population: Population, samples_ratio: float, overlap: Overlap) -> float:
    r"""Mutual information between the directions and the labels, per dimension, in nats.

    .. math:: I/d = \alpha\, E[\log P(y \mid h)] - \Phi(M)

    at the fixed point M with the largest free entropy. Infinite for noiseless continuous labels.

    Symbols: alpha ``samples_ratio``, M ``overlap``; averages over labels by ``population``.

    Assumes: as :func:`free_entropy_at`; ``overlap`` is the fixed point of largest free entropy.
    Status: theorem for r = 1; replica beyond.
    References: Barbier et al. 2017, arXiv:1708.03395.

    >>> from giantstep.language.problem import Problem
    >>> from giantstep.theory.amp.averages.population import population_of
    >>> population = population_of(Problem.of("sign(h1)"))
    >>> round(mutual_information(population, 2.0, np.array([[0.728298]])), 4)
    1.031
    """
    if _is_noiseless_and_continuous(population.channel):
        return float("inf")
    entropy = free_entropy_at(population, samples_ratio, overlap)
    return samples_ratio * _expected_log_likelihood(population) - entropy


def _is_noiseless_and_continuous(channel: Channel) -> bool:
    """Whether the density of a label is infinite once the directions are known."""
    continuous = channel.kind in ("affine", "preimages")
    return continuous and channel.noise == 0 and channel.structure.is_exact


def _expected_log_likelihood(population: Population) -> float:
    """E[log P(y | h)]."""
    channel = population.channel
    if channel.structure.extra.any():
        return float(population.log_partition((1 - EDGE) * np.eye(channel.rank)))
    return -math.log(2 * math.pi * math.e * channel.noise) / 2 if channel.noise > 0 else 0.0
