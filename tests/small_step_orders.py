"""Scalars of ridge regression on linear features by fixed point and response, beside theory's."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from giantstep.numerics.solve import iterated_fixed_point
from giantstep.theory.giant_step.risk.readout import Fit
from giantstep.theory.one_step.small_step import LinearFeatures


class Order(NamedTuple):
    """First and second order of the Gaussian equivalent; names as in the formulas."""

    chi: float
    V: float
    x: float
    v1: float
    v2: float
    K0: float


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
