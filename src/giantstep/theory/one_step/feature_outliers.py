"""Eigenvalues of the features' Gram matrix that stand clear of its bulk."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from giantstep.numerics.solve import bracketed_root
from giantstep.theory.one_step.feature_stieltjes import SpectralState, spectral_state
from giantstep.theory.one_step.spiked_gram import SpikedGram

#: Points of the search, from far right of the bulk to ``NEAREST`` of its edge, relatively.
SEARCH, NEAREST = 80, 1e-3


class Outlier(NamedTuple):
    """An eigenvalue outside the bulk, and its vector's squared projection on the blocks.

    ``overlap`` is measured on the span of the block indicators (all ones for a single block).
    """

    value: float
    overlap: float


class Outliers(NamedTuple):
    """The outliers found, in falling order; ``complete`` is False if some may be missing."""

    found: tuple[Outlier, ...]
    complete: bool


def feature_outliers(gram: SpikedGram, dim: float, edge: float) -> Outliers:
    r"""Eigenvalues of :math:`\Phi^T\Phi/d` above the bulk, in falling order.

    .. math:: \det\big(\chi_f^{-1} + L(x)\big) = 0, \qquad L = \alpha E[ff^T/(1+V)], \qquad
        f = (\sqrt d\,m_1, \dots, \sqrt d\,m_k, \kappa u_1, \dots, \kappa u_k):

    k eigenvalues of order d from the mean functions m, less what they have in common, and further
    ones of order one. With n the null vector and :math:`\lambda` the eigenvalue that vanishes, the
    squared projection of the outlier's vector on block a is
    :math:`n_a^2/(-\beta_a\lambda'(x))`.

    Symbols: d ``dim``; the largest eigenvalue of the bulk ``edge``; m, u, alpha, beta_a ``gram``.

    Assumes: as :func:`spectral_state`; outliers within 0.1 % of the edge are missed.
    Status: heuristic (leave-one-out), verified by simulation.
    References: Dandi et al. 2024, arXiv:2410.18938; Moniri et al. 2023, arXiv:2310.07891.

    >>> from giantstep.language.activations.activation import activation
    >>> from giantstep.theory.spiked_random_features.finite_size import Blocks
    >>> one = np.ones(1)
    >>> gram = SpikedGram.of(
    ...     activation("tanh"), Blocks(2 * one, one, one), samples_ratio=2.0, width_ratio=1.0)
    >>> outliers = feature_outliers(gram, 600.0, 2.1)
    >>> [round(outlier.value, 2) for outlier in outliers.found], outliers.complete
    ([584.02], True)
    """
    power = (gram.mean**2 + gram.slope**2 + gram.noise) @ gram.weights
    highest = 2 * dim * gram.samples_ratio * float(gram.widths @ power) + 2 * edge
    x = edge + (highest - edge) * np.geomspace(1.0, NEAREST * edge / highest, SEARCH)
    # From far right inwards: each solution starts from its neighbour's.
    states = [spectral_state(gram, x[:1] + 0j)]
    for value in x[1:]:
        near = states[-1].unknowns[0] if states[-1].converged[0] else None
        states.append(spectral_state(gram, np.array([value + 0j]), near))
    levels = np.concatenate([_levels(gram, dim, state)[0] for state in states])
    complete = all(state.converged[0] for state in states)
    found = []
    for i, j in zip(*np.nonzero((levels[1:] > 0) & (levels[:-1] <= 0)), strict=True):

        def at(value: float, i: int = i, j: int = j) -> tuple[float, np.ndarray]:
            near = states[i + 1].unknowns[0]
            there = _levels(gram, dim, spectral_state(gram, np.array([value + 0j]), near))
            return float(there[0][0, j]), there[1][0, : len(gram.widths), j]

        root = bracketed_root(lambda value: at(value)[0], x[i + 1], x[i], absolute=1e-12 * x[i])
        if root.converged:
            step = 1e-5 * (root.value - edge)
            slope = (at(root.value + step)[0] - at(root.value - step)[0]) / (2 * step)
            overlap = float(np.sum(at(root.value)[1] ** 2 / gram.widths) / -slope)
            found.append(Outlier(root.value, overlap))
        else:
            complete = False
    return Outliers(tuple(sorted(found, key=lambda outlier: -outlier.value)), complete)


def _levels(gram: SpikedGram, dim: float, state: SpectralState) -> tuple[np.ndarray, np.ndarray]:
    """Eigenvalues and vectors of chi_f^-1 + L at each state; NaN where chi is not real or known."""
    blocks = len(gram.widths)
    chi = state.unknowns[:, :blocks]
    outside = np.all(np.abs(chi.imag) <= 1e-6 * np.abs(chi), axis=1) & state.converged
    values = np.full((len(chi), 2 * blocks), math.nan)
    vectors = np.full((len(chi), 2 * blocks, 2 * blocks), math.nan)
    f = np.concatenate([math.sqrt(dim) * gram.mean, gram.kappa[None, :] * gram.slope])
    gain = gram.resolvent(state.unknowns[outside]).gain.real
    coupling = (f * (gram.samples_ratio * gram.weights * gain)[:, None, :]) @ f.T
    matrices = coupling + np.eye(2 * blocks) / np.tile(chi[outside].real, 2)[:, None, :]
    values[outside], vectors[outside] = np.linalg.eigh(matrices)
    return values, vectors
