"""A step of order d^-1/2: the features stay linear, and the risk has a closed form."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from giantstep.language.activations.activation import Activation
from giantstep.language.problem import Problem
from giantstep.language.targets.hermite import target_moments
from giantstep.numerics.solve import iterated_fixed_point
from giantstep.theory.giant_step.risk.readout import Fit
from giantstep.theory.learnability.staircase import one_step_direction


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
        centred = _is_small_step_centred(sigma)
        fitted = labels.second_moment if centred else labels.variance
        _, linear = one_step_direction(problem.target)
        power = fitted + problem.noise
        return cls(float(mu[1]), sigma.mu_star_squared, linear, power, problem.noise, centred)


def _is_small_step_centred(sigma: Activation) -> bool:
    """Whether neurons have no mean output."""
    return 0 not in sigma.degrees(0)


class Order(NamedTuple):
    """First and second order of the Gaussian equivalent; names as in the formulas."""

    chi: float
    V: float
    x: float
    v1: float
    v2: float
    K0: float


class SmallStepRisk(NamedTuple):
    """Excess test risk, train error, and train objective (penalty included, over n)."""

    test: float
    train: float
    objective: float


def small_step_orders(features: LinearFeatures, fit: Fit) -> Order:
    r"""First- and second-order scalars of ridge regression on linear Gaussian-equivalent features.

    .. math::
        C = \frac{\alpha\mu_1^2}{1+V},\quad D = \frac{\alpha\mu_*^2}{1+V} + \bar\lambda,\quad
        \chi = \frac{\beta}{D + CG},\quad G = \frac1{1+\chi C},\quad
        V = \mu_1^2\chi G + \mu_*^2\chi,

    :math:`x = \chi C` and, with :math:`H = CG`, :math:`J = D + H - \chi H^2` and the response
    :math:`\delta\chi(S_1, S_2) = -\chi(S_2 + G^2 S_1)/J`,
    :math:`Q_1 = \chi^2 G^2 S_1 - G^2\delta\chi`, :math:`Q_2 = -\delta\chi`:
    :math:`v_1 = \alpha(\mu_1^2Q_1 + \mu_*^2Q_2)/(1+V)^2` for :math:`S = (\mu_1^2, \mu_*^2)`,
    :math:`v_2 = \mu_1^2Q_1 + \mu_*^2Q_2` for :math:`S = (0, 1)`,
    :math:`K_0 = \alpha\mu_1\mu_1^*/(1+V)`.

    Symbols: alpha n/d, beta p/d and lambda-bar the penalty of ``fit``; mu ``features``.

    Assumes: n, p, d large and proportional.
    Status: theorem.
    References: Mei, Montanari 2019, arXiv:1908.05355; Ba et al. 2022, arXiv:2205.01445.

    >>> features = LinearFeatures(0.605706, 0.027415, 0.5, 0.340845, 0.0)
    >>> order = small_step_orders(features, Fit.of(2.0, 1.0, 0.1))
    >>> round(order.chi, 4), round(order.V, 4)
    (3.0184, 0.5363)
    """
    m1, ms = features.mu_1**2, features.mu_star_squared
    alpha, beta, penalty = fit.samples_ratio, fit.width_ratio, fit.penalty
    sizes = (m1, ms, alpha, beta, penalty)
    start = np.array([beta / (1 + penalty), 0.0])
    found = iterated_fixed_point(
        lambda state: _first_order(state, *sizes), start, tolerance=1e-14, max_iterations=200_000
    )
    chi, V = (float(value) for value in found.value) if found.converged else (math.nan, math.nan)
    C, D = alpha * m1 / (1 + V), alpha * ms / (1 + V) + penalty
    G = 1 / (1 + chi * C)
    H = C * G
    J = D + H - chi * H**2
    # q = mu_1^2 Q_1 + mu_*^2 Q_2 in response to the sources S = (mu_1^2, mu_*^2) and (0, 1).
    to_own, to_one = -chi * (ms + G**2 * m1) / J, -chi / J
    own = m1 * G**2 * (chi**2 * m1 - to_own) - ms * to_own
    one = -m1 * G**2 * to_one - ms * to_one
    K0 = alpha * features.mu_1 * features.linear / (1 + V)
    return Order(chi, V, chi * C, alpha * own / (1 + V) ** 2, one, K0)


def _first_order(
    state: np.ndarray, m1: float, ms: float, alpha: float, beta: float, penalty: float
) -> np.ndarray:
    """One iteration of (chi, V)."""
    chi, V = state
    C, D = alpha * m1 / (1 + V), alpha * ms / (1 + V) + penalty
    chi = beta / (D + C / (1 + chi * C))
    return np.array([chi, m1 * chi / (1 + chi * C) + ms * chi])


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
    mean = 0.0 if _is_small_step_centred(sigma) else float(fractions @ spikes)
    return float(fractions @ (spikes - mean) ** 2)


def small_step_risk(
    features: LinearFeatures,
    fit: Fit,
    *,
    alignment: float = 0.0,
    strength: float = 0.0,
    pair_spike: float = 0.0,
) -> SmallStepRisk:
    r"""Risk after a step of order :math:`d^{-1/2}`; without spike, that of random features.

    The step multiplies the features' gain along the learned direction by
    :math:`g_v = 1 + \theta^2/\beta`. With :math:`\rho_v = 1/(1+xg_v)`, :math:`\rho_t = 1/(1+x)`,

    .. math::
        \mathrm{res} &= E[y^2] - \mu_1^{*2}
            + \mu_1^{*2}\big[\gamma^2\rho_v^2 + (1-\gamma^2)\rho_t^2\big], \\
        R + \Delta &= \frac{\mathrm{res} + v_2K_0^2\big[\gamma^2g_v\rho_v^2
            + (1-\gamma^2)\rho_t^2\big]}{1-v_1}, \qquad
        \mathrm{train} = \frac{R+\Delta}{(1+V)^2}, \\
        \mathrm{objective} &= \frac{E[y^2] - \mu_1^{*2}
            + \mu_1^{*2}[\gamma^2\rho_v + (1-\gamma^2)\rho_t]}{1+V} .

    Neurons in pairs with equal rows and spikes :math:`\pm s` are, in the sums of their readouts,
    half as many neurons that do not move. The differences fit the learned direction at the price
    of the ridge alone, which adds :math:`s^2/(\lambda\chi)` to :math:`g_v` in :math:`\rho_v`.

    Symbols: theta ``strength``, which may be infinite; gamma ``alignment``; s ``pair_spike``, and
    then ``fit.width_ratio`` counts pairs; lambda is the ridge; the others as in
    :func:`small_step_orders`.

    Assumes: n, p, d large and proportional. R >= the energy of g beyond degree one.
    Status: theorem; heuristic for pairs.
    References: Ba et al. 2022, arXiv:2205.01445; Moniri et al. 2023, arXiv:2310.07891.

    >>> features = LinearFeatures(0.605706, 0.027415, 0.5, 0.340845, 0.0)
    >>> risk = small_step_risk(features, Fit.of(2.0, 1.0, 0.1))
    >>> round(risk.test, 4), round(risk.objective, 4)
    (0.2257, 0.1258)
    """
    order = small_step_orders(features, fit)
    rho_t = 1 / (1 + order.x)
    gain = 1 + strength**2 / fit.width_ratio
    ridge = fit.penalty / fit.width_ratio
    rho_v = 1 / (1 + order.x * (gain + _pair_gain(pair_spike, ridge, order.chi)))
    gained = 0.0 if math.isinf(gain) else gain * rho_v**2
    across, energy = 1 - alignment**2, features.linear**2
    beyond = features.power - energy
    residual = beyond + energy * (alignment**2 * rho_v**2 + across * rho_t**2)
    spread = order.v2 * order.K0**2 * (alignment**2 * gained + across * rho_t**2)
    noisy = (residual + spread) / (1 - order.v1)
    shrunk = beyond + energy * (alignment**2 * rho_v + across * rho_t)
    return SmallStepRisk(
        test=noisy - features.noise,
        train=noisy / (1 + order.V) ** 2,
        objective=shrunk / (1 + order.V),
    )


def _pair_gain(spike: float, ridge: float, chi: float) -> float:
    """What differences of pairs add to the gain along the learned direction."""
    if spike == 0:
        return 0.0
    return spike**2 / (ridge * chi) if ridge else math.inf
