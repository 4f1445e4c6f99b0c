"""Bounds on the best risk after one giant step: what the learned functions can span."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from giantstep.theory.spiked_random_features.conditional_features import conditional_feature_moments
from giantstep.theory.spiked_random_features.finite_size import Blocks
from giantstep.theory.spiked_random_features.risk import Prepared


class Bounds(NamedTuple):
    """Excess risks between which the best one over the ridge lies."""

    upper: float
    lower: float


class Basis(NamedTuple):
    """Functions of the learned projection, one row per block, on the grid of the preparation.

    ``means`` mu_0(kappa); ``slopes`` mu_1(kappa), which multiplies kappa or a direction across.
    """

    means: Float[np.ndarray, "blocks points"]
    slopes: Float[np.ndarray, "blocks points"]


def functional_basis(prepared: Prepared, blocks: Blocks) -> Basis:
    r"""The functions that one giant step adds to what linear features can fit.

    .. math:: \mu_0(\kappa) = E\,\sigma(s\kappa + \sqrt c z), \qquad
        \mu_1(\kappa) = E[\sigma(s\kappa + \sqrt c z)\,z]

    The network fits :math:`\mu_0` of every block for free, :math:`\kappa\mu_1` (which is
    :math:`\kappa\mu_0'` up to a factor) and :math:`z_i\mu_1`, z_i across, at the cost of
    :math:`d/n` and :math:`d/p`.

    Symbols: s, c ``blocks``; kappa the grid of ``prepared``.

    Assumes: d infinite.
    Status: theorem.
    References: Cui et al. 2024, arXiv:2402.04980; Dandi et al. 2024, arXiv:2410.18938.

    >>> from giantstep.language.activations.activation import activation
    >>> from giantstep.language.targets import Target
    >>> one = np.ones(1)
    >>> prepared = Prepared.of(
    ...     activation("tanh"), Target("sin(h1)"), alignment=1.0, spikes=0.9 * one, bulks=one)
    >>> basis = functional_basis(prepared, Blocks(0.9 * one, one, one))
    >>> round(float(basis.means[0] @ (prepared.grid.weights * prepared.grid.kappa)), 6)
    0.448016
    """
    grid = prepared.grid
    shift = blocks.spikes[:, None] * grid.kappa[None, :]
    scale = np.sqrt(blocks.bulks)[:, None] * grid.radius[None, :]
    found = conditional_feature_moments(prepared.table, shift, scale, grid.dim)
    return Basis(found.mean, found.slope)


def risk_bounds(prepared: Prepared, blocks: Blocks) -> Bounds:
    r"""Upper and lower bound on the excess risk at the best ridge.

    .. math::
        \inf_b E\big[(g - \textstyle\sum_a b_a\mu_0^a)^2\big] \;\ge\; \inf_\lambda R \;\ge\;
        \inf_{b,b',b''} E\big[(g - \textstyle\sum_a b_a\mu_0^a + b'_a\kappa\mu_1^a
            + \sum_i b''_{ai} z_i\mu_1^a)^2\big]

    The upper bound is the risk at infinite ridge; the lower one is approached as n/d and p/d
    grow. ``z_i`` are the target's directions across the learned one.

    Symbols: mu_0, mu_1 as in :func:`functional_basis`; g ``prepared``.

    Assumes: d infinite, n and p proportional to d.
    Status: theorem for one block and a single direction; replica beyond, as the exact risk.
    References: Cui et al. 2024, arXiv:2402.04980.

    >>> from giantstep.language.activations.activation import activation
    >>> from giantstep.language.targets import Target
    >>> one = np.ones(1)
    >>> prepared = Prepared.of(
    ...     activation("tanh"), Target("sin(h1)"), alignment=1.0, spikes=0.9 * one, bulks=one)
    >>> bounds = risk_bounds(prepared, Blocks(0.9 * one, one, one))
    >>> round(bounds.upper, 6), round(bounds.lower, 6)
    (0.029105, 0.001669)
    """
    grid, labels = prepared.grid, prepared.labels
    basis = functional_basis(prepared, blocks)
    power = float(labels.power @ grid.weights)
    fitted = np.concatenate([basis.means, grid.kappa[None, :] * basis.slopes])
    across = sum(explained_energy(slope, basis.slopes, grid.weights) for slope in labels.slope)
    return Bounds(
        upper=power - explained_energy(labels.mean, basis.means, grid.weights),
        lower=power - explained_energy(labels.mean, fitted, grid.weights) - across,
    )


def explained_energy(
    function: Float[np.ndarray, " points"],
    basis: Float[np.ndarray, "functions points"],
    weights: Float[np.ndarray, " points"],
) -> float:
    r"""Energy of the projection of a function on the span of others.

    .. math:: E[f^2] - \inf_b E\big[(f - \textstyle\sum_a b_a\psi_a)^2\big]

    Symbols: f ``function``, psi_a ``basis``, on points of these ``weights``.

    Assumes: square-integrable functions; nearly dependent ones count once.
    Status: theorem.
    References: Cui et al. 2024, arXiv:2402.04980, for the bounds that it serves.

    >>> half = np.full(2, 0.5)
    >>> round(explained_energy(np.array([1.0, 3.0]), np.ones((1, 2)), half), 9)
    4.0
    """
    half = np.sqrt(weights)
    fit = np.linalg.lstsq((basis * half).T, function * half, rcond=1e-12)[0]
    return float(np.sum((fit @ basis * half) ** 2))
