"""The risk of ridge regression on spiked random features: the network after one giant step."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np
from jaxtyping import Float

from giantstep.language.activations.activation import Activation
from giantstep.language.targets import Target
from giantstep.theory.learnability.staircase import one_step_direction
from giantstep.theory.spiked_random_features.channel_equivalent import (
    Risk,
    RiskRatios,
    channel_risk,
)
from giantstep.theory.spiked_random_features.conditional_features import LIMIT
from giantstep.theory.spiked_random_features.conditional_labels import (
    Latents,
    SpikedLabels,
    check_resolved,
    spiked_label_moments,
)
from giantstep.theory.spiked_random_features.finite_size import (
    PANEL_LENGTH,
    Blocks,
    SpikedGrid,
    Version,
    spiked_equivalent,
)


@functools.lru_cache(maxsize=64)
def spiked_labels_on_grid(
    target: Target,
    direction: tuple[float, ...],
    alignment: float,
    steepness: float,
    version: Version = "limit",
    dim: float = LIMIT,
    *,
    coarse: bool = False,
) -> tuple[SpikedGrid, SpikedLabels]:
    """The grid of projections on a learned direction, and the moments of the labels on it."""
    latents = Latents.of(target, np.array(direction))
    _, (along, *_) = latents.basis()
    kinks = [kink / alignment for kink in along] if alignment > 0.1 else []
    length = PANEL_LENGTH / max(1.0, steepness / 2) * (1.5 if coarse else 1.0)
    grid = SpikedGrid.of(version, dim, kinks, length)
    found = spiked_label_moments(latents, alignment, grid.kappa, grid.radius, grid.dim)
    check_resolved(target, grid.weights, found)
    return grid, found


def grid_steepness(
    spikes: Float[np.ndarray, " blocks"], bulks: Float[np.ndarray, " blocks"]
) -> float:
    """How steep features are, to the next power of two: grids serve neighbouring points too."""
    steepest = float(np.max(np.abs(spikes) / np.sqrt(bulks)))
    return 2.0 ** math.ceil(math.log2(max(steepest, 1.0)))


def spiked_risk(
    sigma: Activation,
    target: Target,
    blocks: Blocks,
    *,
    alignment: float,
    samples_ratio: Any,
    width_ratio: Any,
    ridge: Any,
    noise: Any = 0.0,
    dim: Any = LIMIT,
    version: Version = "limit",
) -> Risk:
    r"""Test and train error, noise included, of ridge regression on spiked random features.

    The features are :math:`\phi_j(x) = \sigma(\langle w_j, x\rangle)` with rows
    :math:`w_j = s_j v + \sqrt{c_j}\,\hat w_j`, :math:`\hat w_j` uniform on the sphere; the spike v
    has the cosine :math:`\gamma` with the target's mean gradient :math:`E[g h]`. Given
    :math:`\kappa = \langle v, x\rangle` the features are Gaussian with moments
    :math:`\mu_0 = E\sigma(s\kappa + \sqrt c z)`, :math:`\mu_1 = E[\sigma z]`,
    :math:`\mu_*^2 = E\sigma^2 - \mu_0^2 - \mu_1^2`, and the labels have the moments
    :math:`g_0 = E[g|\kappa]`, :math:`g_1 = E[z_i g|\kappa]`, one for each latent direction
    orthogonal to v:
    :func:`~giantstep.theory.spiked_random_features.channel_equivalent.channel_risk` does the rest.

    Symbols: s, c and the fractions of neurons ``blocks``; n/d ``samples_ratio``;
    p/d ``width_ratio``; ``ridge`` multiplies :math:`|a|^2` in
    :math:`\sum_i (y_i - a\cdot\phi(x_i)/\sqrt p)^2 + \text{ridge}|a|^2`; Delta ``noise``;
    gamma ``alignment``.

    Assumes: inputs N(0, I_d); n, p, d proportional; s and c of order one and finitely many.
    Status: replica in the limit, where it is the result of the reference, here by leave-one-out;
        heuristic at a finite ``dim``.
    References: Cui et al. 2024, arXiv:2402.04980; Dandi et al. 2024, arXiv:2410.18938.

    >>> from giantstep.language.activations.activation import activation
    >>> one = np.ones(1)
    >>> risk = spiked_risk(
    ...     activation("tanh"), Target("sin(h1)"), Blocks(0.9 * one, one, one), alignment=0.7,
    ...     samples_ratio=2.0, width_ratio=1.0, ridge=0.1)
    >>> round(float(risk.test), 5), round(float(risk.train), 5)
    (0.15299, 0.06643)
    """
    direction, _ = one_step_direction(target)
    steepness = grid_steepness(blocks.spikes, blocks.bulks)
    given = float(alignment), steepness, version, float(dim)
    grid, labels = spiked_labels_on_grid(target, tuple(direction), *given)
    width_ratios = width_ratio * blocks.fractions
    model, layout = spiked_equivalent(
        sigma,
        grid,
        labels,
        blocks,
        noise=noise,
        width_ratios=width_ratios,
        dim=dim,
        version=version,
    )
    return channel_risk(model, RiskRatios(samples_ratio, width_ratios, ridge * width_ratio), layout)
