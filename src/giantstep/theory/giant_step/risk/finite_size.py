"""Corrections of order 1/d, known for isotropic rows, and carried over to real ones as a ratio."""

from __future__ import annotations

import functools
from typing import NamedTuple

import numpy as np

from giantstep.errors import NoTheory
from giantstep.language.activations.activation import Activation
from giantstep.language.problem import Problem
from giantstep.theory.giant_step.risk.readout import Fit, Readout
from giantstep.theory.giant_step.risk.sizes import RiskSizes
from giantstep.theory.giant_step.risk.solution import readout_risk
from giantstep.theory.one_step.stepped_network import OneStep
from giantstep.theory.spiked_random_features.channel_equivalent import (
    ChannelLayout,
    Equivalent,
    Risk,
    channel_risk,
)
from giantstep.theory.spiked_random_features.channel_equivalent import RiskRatios as Channels
from giantstep.theory.spiked_random_features.conditional_features import LIMIT

#: Ratios outside this range are not small corrections: they are not applied.
TRUSTED = (0.75, 1.33)
#: Components with a larger share of the bulk are not small: their second order is not used.
LARGEST_SHARE = 0.5


class Ratios(NamedTuple):
    """Factors on the test error (excess risk) and on the train error."""

    test: float
    train: float


#: No correction.
NONE = Ratios(1.0, 1.0)


def component_ratio(
    readout: Readout, sigma: Activation, fit: Fit, along: tuple[float, ...] = ()
) -> tuple[Ratios, float]:
    r"""By how much amplified components of the rows change the risk, and which share is unknown.

    .. math:: \frac{R_{\text{second order}}(\Gamma)}{R_{\text{second order}}(c\,1)},\qquad
        \max_a\frac{E[\beta_a^2]}{c_a}

    The terms of all directions alike are not amplified, and are left to other corrections. Orders
    beyond the second are smaller by the mean square of the components along the target's directions
    relative to the bulk, by which share the change of the risk is not known.

    Symbols: Gamma, beta, c of :class:`~giantstep.theory.giant_step.risk.components.Components`;
    ``along`` as in :func:`~giantstep.theory.giant_step.risk.solution.readout_risk`.

    Assumes: components that are small beside the bulk; Gaussian over neurons. No change is found
    for targets of so many directions that they are not integrated one by one, nor where components
    have more than half of the bulk's square.
    Status: heuristic, checked by simulation.
    References: Ba et al. 2022, arXiv:2205.01445, for the covariance of rows after a step.

    >>> from giantstep.language.activations.activation import activation
    >>> from giantstep.language.problem import Problem
    >>> from giantstep.theory.giant_step.risk.first_layer import Neurons
    >>> from giantstep.theory.giant_step.risk.gradient_step import limit_layers
    >>> problem, sigma = Problem.of("He2(h1)"), activation("He2")
    >>> *_, layer = limit_layers(
    ...     problem, sigma, Neurons.of([1.0]), step_sizes=[1.0], samples_ratios=[4.0])
    >>> ratio, share = component_ratio(
    ...     Readout(problem, sigma, layer), sigma, Fit.of(4.0, 1.0, 0.1, 400))
    >>> round(ratio.test, 5), round(share, 4)
    (0.76436, 0.0292)
    """
    if not readout.layer.batches or fit.dim == LIMIT:
        return NONE, 0.0
    try:
        both = _finite_size_components(readout, sigma, fit.dim)
    except (NoTheory, np.linalg.LinAlgError):
        return NONE, 0.0
    found, plain = (readout_risk(each, fit, along) for each in both)
    components, noise = both[0].components, readout.problem.noise
    small = components is not None and components.share <= LARGEST_SHARE
    if components is None or not (small and found.converged and plain.converged):
        return NONE, 0.0
    ratio = (found.test - noise) / (plain.test - noise)
    return Ratios(ratio, found.train / plain.train), components.share


@functools.lru_cache(maxsize=8)
def _finite_size_components(readout: Readout, sigma: Activation, dim: float) -> list[Readout]:
    """The readout with components of the rows to second order, and as if these were alike."""
    given = readout.problem, sigma, readout.layer
    return [Readout(*given, coarse=True, dim=dim, alike=alike) for alike in (False, True)]


def isotropic_ratio(readout: Readout, fit: Fit) -> Ratios | None:
    r"""By how much corrections of order 1/d change the risk of isotropic rows of these means.

    .. math::
        \chi_a &= \frac{\beta_a}{D_a + (1-\tfrac Dd)H_{aa} + (H_f)_{m_am_a}
            + \tfrac1d\sum_i(H_f)_{ia,ia}},\qquad
        V = \Big(1-\frac Dd\Big)u^TNu + \sum_ae_a^2\chi_a + \frac1df^TN_ff,

    by :func:`~giantstep.theory.spiked_random_features.channel_equivalent.channel_risk`, with
    :math:`N_f = (K^{-1}+L)^{-1}` and :math:`H_f = K^{-1}N_fL` of the functions f = (m, kappa_i u):
    what it costs to fit them. The network's own output in the residuals changes
    :math:`K_{mm}^{-1} = 1/(d\chi)` by :math:`H\circ(\Theta-1)/(d\sqrt{\beta_a\beta_b})`,
    :math:`\Theta_{ab} = \text{common}_{ab}/\sqrt{c_ac_b}`. Both are compared with K alone at d.

    Symbols: d ``fit.dim``; Theta from ``readout.layer.common``.

    Assumes: independent rows. None where a ratio lies outside .75 to 1.33.
    Status: heuristic, checked by simulation.
    References: Dandi et al. 2024, arXiv:2410.18938, for isotropic rows in the limit.

    >>> from giantstep.language.activations.activation import activation
    >>> from giantstep.language.problem import Problem
    >>> from giantstep.theory.giant_step.risk.first_layer import Neurons
    >>> from giantstep.theory.giant_step.risk.gradient_step import limit_layers
    >>> problem, sigma = Problem.of("sin(h1)"), activation("tanh")
    >>> *_, layer = limit_layers(
    ...     problem, sigma, Neurons.of([1.0]), step_sizes=[1.0, 1.0], samples_ratios=[4.0, 4.0])
    >>> readout = Readout(problem, sigma, layer)
    >>> ratio = isotropic_ratio(readout, Fit.of(2.0, 1.0, 0.1, 1e7))
    >>> abs(ratio.test - 1) < 1e-4
    True
    >>> round(isotropic_ratio(readout, Fit.of(2.0, 1.0, 0.1, 200)).test, 5)
    0.98531
    """
    layer, k, along = readout.layer, len(readout.means), len(readout.learned.kappa)
    root, dim = np.sqrt(layer.variances)[:, None], fit.dim
    slopes = root * readout.slopes
    turned = (readout.learned.kappa[:, None] * slopes).reshape(along * k, slopes.shape[1])
    widths = fit.width_ratio * layer.neurons.fractions
    labels = readout.learned.labels
    plain = Equivalent(
        weights=readout.learned.weights,
        modes=np.concatenate([slopes, dim**0.5 * readout.means, turned]),
        shares=np.repeat([1.0, 0.0], [k, (1 + along) * k]),
        noise=np.diagonal(readout.noise).T,
        labels=np.roll(labels, -1, axis=0),
        power=readout.learned.power,
    )
    theta = layer.common / (root * root.T) - np.eye(k)
    costly = plain._replace(
        shares=np.repeat([1 - along / dim, 1 / dim], [k, (1 + along) * k]),
        correlation=theta / np.sqrt(np.outer(widths, widths)),
    )
    layout = ChannelLayout(k, (0, *[1] * (1 + along)), (*[0] * (len(labels) - 1), 1))
    ratios = Channels(fit.samples_ratio, widths, fit.penalty)
    resolved, reference = (channel_risk(model, ratios, layout) for model in (costly, plain))
    return _trusted_risk_ratio(resolved, reference, readout.problem.noise)


def one_step_ratio(
    problem: Problem, sigma: Activation, step: OneStep, sizes: RiskSizes
) -> Ratios | None:
    r"""By how much corrections of order 1/d change the risk of isotropic rows after one step.

    .. math:: \frac{R_{\text{version}}(d)}{R_{\text{isotropic, tilted}}(d)}

    More is known after one step than after several: the second chaos, the lengths of inputs, and
    cumulants of single neurons.

    Symbols: the version ``step.version``; d ``step.dim``. None where a risk is not found or the
    ratio lies outside .75 to 1.33.

    Assumes: as :mod:`giantstep.theory.spiked_random_features.finite_size`.
    Status: heuristic, checked by simulation.
    References: Dandi et al. 2024, arXiv:2410.18938, for isotropic rows.

    >>> from giantstep.language.activations.activation import activation
    >>> from giantstep.settings.giant_step import GiantStep
    >>> from giantstep.theory.one_step.stepped_network import one_step
    >>> settings = GiantStep(
    ...     activation="relu", readout="ones", samples="4d", step_size=1, width="1d",
    ...     readout_samples="2d", ridge=0.1, dim=10**7)
    >>> problem = Problem.of("sin(h1)")
    >>> ratio = one_step_ratio(problem, activation("relu"), *one_step(problem, settings))
    >>> round(ratio.test, 4)
    1.0
    """
    plain = step._replace(version="spike-strength", tilted=True)
    resolved, reference = (each.risk(sigma, problem, sizes) for each in (step, plain))
    return _trusted_risk_ratio(resolved, reference, problem.noise)


def _trusted_risk_ratio(resolved: Risk, reference: Risk, noise: float) -> Ratios | None:
    """The ratios of two risks, where both are found and it is a small correction."""
    if not (resolved.converged and reference.converged and reference.train > 0):
        return None
    test = float((resolved.test - noise) / (reference.test - noise))
    train, (low, high) = float(resolved.train / reference.train), TRUSTED
    return Ratios(test, train) if low < test < high and train > 0 else None
