"""Steps between small and giant: spikes appear one by one in the feature spectrum."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from giantstep.errors import NoTheory
from giantstep.language.activations.activation import Activation
from giantstep.language.problem import Problem
from giantstep.numerics.quadrature import gauss_hermite
from giantstep.theory.giant_step.risk.readout import Fit
from giantstep.theory.learnability.staircase import one_step_direction
from giantstep.theory.one_step.small_step import LinearFeatures, linear_equivalent
from giantstep.theory.spiked_random_features.conditional_labels import (
    Latents,
    spiked_label_moments,
)

#: Distance of 1/(1 - 2e) from a whole number within which an exponent e is a threshold.
AT_THRESHOLD = 1e-9


class Gains(NamedTuple):
    """By how much the spikes lower the test risk and the train objective (penalty included)."""

    test: float
    train: float


def spike_degrees(sigma: Activation, exponent: float) -> tuple[int, ...]:
    r"""Degrees k of the spikes :math:`(X\beta)^{\circ k}(a^{\circ k})^T` in the features.

    A step :math:`\eta\asymp n^{e}` (that is :math:`\sqrt p` times our step size) with
    :math:`\frac{l-1}{2l} < e < \frac{l}{2l+2}` brings out the degrees

    .. math:: k \le l \quad\text{with}\quad \mu_k \neq 0 .

    Symbols: e ``exponent``.

    Assumes: 0 < e < 1/2, at none of the thresholds; Gaussian readout; finitely many n/d and p/d.
    Status: theorem.
    References: Moniri et al. 2023, arXiv:2310.07891, Theorem 3.3.

    >>> from giantstep.language.activations.activation import activation
    >>> spike_degrees(activation("tanh"), 0.29), spike_degrees(activation("relu"), 0.29)
    ((1,), (1, 2))
    """
    if not 0 < exponent < 0.5:
        raise NoTheory(
            f"exponent = {exponent!r}: spikes are counted for a step n^e with 0 < e < 1/2"
        )
    # l - 1 < 2 l e is equivalent to l < 1 / (1 - 2 e).
    bound = 1 / (1 - 2 * exponent)
    if abs(bound - round(bound)) < AT_THRESHOLD:
        raise NoTheory(
            f"exponent = {exponent:.12g}: a step n^e with e = (l-1)/(2l) is where spike "
            f"{round(bound)} appears, and what it gains there is not known; use another exponent"
        )
    return tuple(k for k in sigma.degrees(math.ceil(bound) - 1) if k > 0)


def limiting_gains(
    problem: Problem,
    sigma: Activation,
    fit: Fit,
    *,
    alignment: float,
    degrees: Sequence[int],
    spread: float = 0.0,
) -> Gains:
    r"""Fall of test risk and train objective against random features, spikes infinitely strong.

    The functions :math:`E_z(\kappa+\sqrt\tau z)^k` of the learned projection are fitted freely, k
    in ``degrees`` (and the constant where :math:`\mu_0 \ne 0`):

    .. math::
        E_K &= E[(P_K g_0)^2] - \gamma^2\mu_1^{*2}, \qquad g_0(\kappa) = E[g|\kappa], \\
        \Delta_{te} &= \frac{E_K + \gamma^2\mu_1^{*2}(1 + \chi\mu_1^2)(1+x)^{-2}}{1-\Upsilon},
        \qquad \Delta_{tr} = f\,\big(E_K + \gamma^2\mu_1^{*2}(1+x)^{-1}\big) .

    The noise of a row's gradient makes the row longer by a share :math:`\tau` of its squared spike:
    to the second spike, :math:`\kappa^2`, that adds a constant of its own order, :math:`\tau`. At
    ``spread`` 0 the features are those of the paper's theorem, powers of :math:`\kappa` alone.

    Symbols: gamma ``alignment``, tau ``spread``; x, chi, Upsilon and f as in
    :func:`~giantstep.theory.one_step.small_step.small_step_risk`, for the ``fit``.

    Assumes: the constant, where it is fitted, is fitted by random features too.
    Status: theorem for l = 1, and for l = 2 at tau = 0; heuristic else. Convergence is slow, as
        n^(2e - 1/2) at l = 2.
    References: Moniri et al. 2023, arXiv:2310.07891, Theorems 4.2 and 4.5.

    >>> from giantstep.language.activations.activation import activation
    >>> gains = limiting_gains(
    ...     Problem.of("h1", noise=1.0), activation("relu(z) - 1/sqrt(2*pi)"),
    ...     Fit.of(1.5, 1.0, 0.015), alignment=(3 / 7) ** 0.5, degrees=(1,))
    >>> round(gains.test, 4), round(gains.train, 4)
    (0.4183, 0.0841)
    """
    features = LinearFeatures.of(problem, sigma)
    energy, linear = features.linear**2, (alignment * features.linear) ** 2
    # E[(P_K g_0)^2], where a constant that is fitted anyhow does not count.
    kappa, weights = gauss_hermite(96)
    direction, _ = one_step_direction(problem.target)
    latents = Latents.of(problem.target, direction)
    labels = spiked_label_moments(latents, alignment, kappa, np.ones_like(kappa), 1e12)
    powers, mean = list(degrees), labels.mean
    if 0 in sigma.degrees(0):
        powers, mean = [0, *powers], mean - weights @ mean
    nodes, z_weights = gauss_hermite(24)
    around = kappa[:, None] + math.sqrt(spread) * nodes
    basis = np.stack([around**k @ z_weights for k in powers])
    gram = (basis * weights) @ basis.T
    moments = (basis * weights) @ mean
    extra = float(moments @ np.linalg.solve(gram, moments)) - linear
    before = linear_equivalent(features, fit, energy)
    after = linear_equivalent(features, fit, energy - linear, fitted=extra)
    fall = before.test_error - after.test_error, before.objective - after.objective
    return Gains(*map(float, fall))
