"""A step of order d^-1/2: the features stay linear, and the risk has a closed form."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from giantstep.language.activations.activation import Activation
from giantstep.language.problem import Problem
from giantstep.language.targets.hermite import target_moments
from giantstep.theory.giant_step.risk.readout import Fit
from giantstep.theory.learnability.staircase import one_step_direction
from giantstep.theory.ridge.deterministic_equivalent import (
    RidgeRisk,
    Spectrum,
    equivalent_numbers,
)


class LinearFeatures(NamedTuple):
    """Scalars of the Gaussian equivalent mu_1 <w, x> + mu_* xi and of its labels.

    ``power`` is E[y^2], noise included; the constant, where the features fit it, is left out.
    ``centred``: the neurons have no mean output, and cannot fit a constant.
    """

    mu_1: float
    mu_star_squared: float
    linear: float
    power: float
    noise: float
    centred: bool = True

    @classmethod
    def of(cls, problem: Problem, sigma: Activation) -> LinearFeatures:
        """The scalars of a problem and an activation."""
        labels, mu = target_moments(problem.target), sigma.hermite(1)
        centred = 0 not in sigma.degrees(0)
        fitted = labels.second_moment if centred else labels.variance
        _, linear = one_step_direction(problem.target)
        power = fitted + problem.noise
        return cls(float(mu[1]), sigma.mu_star_squared, linear, power, problem.noise, centred)


def linear_equivalent(
    features: LinearFeatures,
    fit: Fit,
    across: float,
    along: float = 0.0,
    gain: float = 1.0,
    fitted: float = 0.0,
) -> RidgeRisk:
    """Ridge regression on the Gaussian equivalent, in which one direction may stand out.

    ``across`` and ``along`` are linear energies of the target: on directions in which features have
    the eigenvalue mu_1^2, and on one with ``gain`` times as much. The energy ``fitted`` is taken
    from what lies beyond degree one.
    """
    eigenvalue = features.mu_1**2
    beyond = features.power - features.noise - features.linear**2
    spectrum = Spectrum(
        np.array([eigenvalue, gain * eigenvalue]),
        np.array([1.0, 0.0]),
        np.array([across, along]),
        features.mu_star_squared,
        beyond - fitted,
    )
    ridge = fit.penalty / fit.width_ratio
    return equivalent_numbers(fit.samples_ratio, fit.width_ratio, ridge, spectrum, features.noise)


def usable_power(
    sigma: Activation,
    spikes: Float[np.ndarray, " blocks"],
    fractions: Float[np.ndarray, " blocks"],
) -> float:
    r"""The mean square of the spikes that a readout can use to fit the learned direction.

    .. math:: E[s^2] \;\text{ if } \mu_0 = 0, \qquad \mathrm{Var}\,s \;\text{ otherwise}

    Neurons with a mean output fit the constant by the sum of their readouts, which is thereby
    taken: at the size that fits a constant of order one, their common spike of order
    :math:`d^{-1/2}` adds nothing.

    Symbols: s ``spikes``, of neurons in these ``fractions``; mu_0 of ``sigma``.

    Assumes: steps of order d^-1/2.
    Status: heuristic, checked by simulation.
    References: Ba et al. 2022, arXiv:2205.01445, for mu_0 = 0.

    >>> from giantstep.language.activations.activation import activation
    >>> spikes, halves = np.array([1.0, 3.0]), np.array([0.5, 0.5])
    >>> [usable_power(activation(name), spikes, halves) for name in ("tanh", "relu")]
    [5.0, 1.0]
    """
    mean = float(fractions @ spikes) if 0 in sigma.degrees(0) else 0.0
    return float(fractions @ (spikes - mean) ** 2)


def small_step_risk(
    features: LinearFeatures,
    fit: Fit,
    *,
    alignment: float = 0.0,
    strength: float = 0.0,
    pair_spike: float = 0.0,
) -> RidgeRisk:
    r"""Risk after a step of order :math:`d^{-1/2}`; without spike, that of random features.

    The step multiplies the features' eigenvalue :math:`\mu_1^2` along the learned direction by
    :math:`g_v = 1 + \theta^2/\beta`. With :math:`x = \mu_1^2/\nu_2`, :math:`\rho_v = 1/(1+xg_v)`,
    :math:`\rho_t = 1/(1+x)` and the share f of the samples that the fit leaves free,

    .. math::
        R + \Delta &= \frac{E[y^2] - \mu_1^{*2} + \mu_1^{*2}\big[\gamma^2(1 + \chi g_v\mu_1^2)
            \rho_v^2 + (1-\gamma^2)(1 + \chi\mu_1^2)\rho_t^2\big]}{1-\Upsilon}, \qquad
        \mathrm{train} = f^2 (R+\Delta), \\
        \mathrm{objective} &= f\,\big(E[y^2] - \mu_1^{*2}
            + \mu_1^{*2}[\gamma^2\rho_v + (1-\gamma^2)\rho_t]\big) .

    Neurons in pairs with equal rows and spikes :math:`\pm s` are, in the sums of their readouts,
    half as many neurons that do not move. The differences fit the learned direction at the price
    of the ridge alone, which adds :math:`\alpha\mu_1^2 f s^2/\lambda` to :math:`xg_v` in
    :math:`\rho_v`.

    Symbols: theta ``strength``, which may be infinite; gamma ``alignment``; s ``pair_spike``, and
    then ``fit.width_ratio``, beta, counts pairs; alpha is n/d, lambda the ridge; chi, nu_2 and
    Upsilon as in :func:`~giantstep.theory.ridge.deterministic_equivalent.ridge_risk`.

    Assumes: n, p, d large and proportional. R >= the energy of g beyond degree one.
    Status: theorem; heuristic for pairs.
    References: Ba et al. 2022, arXiv:2205.01445; Moniri et al. 2023, arXiv:2310.07891.

    >>> features = LinearFeatures(0.605706, 0.027415, 0.5, 0.340845, 0.0)
    >>> risk = small_step_risk(features, Fit.of(2.0, 1.0, 0.1))
    >>> round(risk.test_error, 4), round(risk.objective, 4)
    (0.2257, 0.1258)
    """
    energy, ridge = features.linear**2, fit.penalty / fit.width_ratio
    moved, gain, kept = alignment**2 * energy, 1 + strength**2 / fit.width_ratio, 1.0
    if pair_spike:
        still = linear_equivalent(features, fit, energy)
        held, free = 1 + features.mu_1**2 / still.nu2, 1 - still.degrees_of_freedom
        pull = fit.samples_ratio * free * (features.mu_1 * pair_spike) ** 2
        kept = ridge * held / (ridge * held + pull)
    if math.isinf(strength):
        gain, kept = 1.0, 0.0
    # rho_v stands squared in the risk, and once in the objective.
    risk, once = (
        linear_equivalent(features, fit, energy - moved, share * moved, gain)
        for share in (kept**2, kept)
    )
    return risk._replace(objective=once.objective)
