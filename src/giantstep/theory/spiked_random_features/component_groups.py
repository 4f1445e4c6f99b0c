"""Neurons grouped by their random component along the learned direction."""

from __future__ import annotations

from typing import Any

import numpy as np

from giantstep.numerics.quadrature import gauss_hermite
from giantstep.theory.spiked_random_features.finite_size import Blocks

#: Groups of each block; the risk has converged to 1e-4 at d = 50.
GROUPS = 3


def spiked_component_groups(blocks: Blocks, dim: Any, groups: int = GROUPS) -> Blocks:
    r"""The same neurons in smaller blocks, by their component along the learned direction.

    A row :math:`s v + \sqrt c\,(1 + \epsilon\eta)\hat w` with :math:`\hat w` uniform on the sphere
    and :math:`\eta = \langle\hat w, v\rangle \approx N(0, 1/d)` has the spike and the bulk

    .. math::
        s(\eta) = s + \sqrt c\,(1 + \epsilon\eta)\,\eta, \qquad
        c(\eta) = c\,(1 + \epsilon\eta)^2 (1 - \eta^2) .

    Given :math:`\eta` nothing else of it points along v. All that a neuron's features and its
    part in the fit owe to :math:`\eta` is then in the blocks, to every order; the limit needs the
    first alone, corrections of order 1/d the first three.

    Symbols: s, c, epsilon ``blocks`` (its ``length_tilt``); d ``dim``; nodes of eta ``groups``.

    Assumes: nodes of Gauss and Hermite for eta, whose law on the sphere is normal to order 1/d.
    Status: heuristic, exact for the Gaussian equivalent to order 1/d; checked by simulation.
    References: Cui et al. 2024, arXiv:2402.04980 for blocks of neurons.

    >>> one = np.ones(1)
    >>> grouped = spiked_component_groups(Blocks(0.9 * one, one, one), dim=300.0)
    >>> grouped.spikes.round(4).tolist(), grouped.bulks.round(4).tolist()
    ([0.8, 0.9, 1.0], [0.99, 1.0, 0.99])
    """
    nodes, weights = gauss_hermite(groups)
    eta = (nodes / dim**0.5)[None, :]
    lengths = blocks.bulks[:, None] ** 0.5 * np.ones_like(eta)
    if blocks.length_tilt is not None:
        lengths = lengths * (1 + blocks.length_tilt[:, None] * eta)
    spread, correlation = blocks.norm_spread, blocks.correlation
    if spread is not None:
        spread = np.repeat(spread, groups)
    if correlation is not None:
        correlation = np.repeat(np.repeat(correlation, groups, axis=0), groups, axis=1)
    return Blocks(
        spikes=np.ravel(blocks.spikes[:, None] + lengths * eta),
        bulks=np.ravel(lengths**2 * (1 - eta**2)),
        fractions=np.ravel(blocks.fractions[:, None] * weights[None, :]),
        norm_spread=spread,
        correlation=correlation,
        along=False,
    )
