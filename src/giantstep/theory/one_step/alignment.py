"""What one giant step makes of a first layer: one learned direction, a spike and a bulk."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from giantstep.language.activations.activation import Activation
from giantstep.language.problem import Problem
from giantstep.language.targets.hermite import target_moments, target_tensors
from giantstep.numerics.quadrature import split_gaussian
from giantstep.theory.learnability.staircase import one_step_direction


class StepSignal(NamedTuple):
    """The numbers of problem and activation that the first step depends on.

    ``linear`` |E[g h]|; ``mean`` and ``power`` E[r], E[r^2] of the residuals r that drive the
    step; ``mu_1``, ``mu_2``, ``mu_3`` Hermite coefficients of sigma; ``slope_variance``
    Var sigma'(z). For corrections of order 1/d: ``linear_drift`` mu_3 tr C_3 / (2 mu_1) along the
    learned direction, ``output_variance`` Var sigma(z), ``output_growth`` E[(sigma - mu_0) sigma'
    z], by which an output grows with its row's length.
    """

    linear: float
    mean: float
    power: float
    mu_1: float
    mu_2: float
    slope_variance: float
    mu_3: float = 0.0
    linear_drift: float = 0.0
    output_variance: float = 0.0
    output_growth: float = 0.0

    @classmethod
    def of(cls, problem: Problem, sigma: Activation, start_output: float = 0.0) -> StepSignal:
        """The signal of a problem; ``start_output``: the constant that the network starts from."""
        labels, mu = target_moments(problem.target), sigma.hermite(3)
        direction, linear = one_step_direction(problem.target)
        cubic = direction @ np.trace(target_tensors(problem.target, 3)[3], axis1=1, axis2=2)
        drift = float(mu[3] * cubic / (2 * mu[1])) if linear * mu[1] else 0.0
        nodes, weights = split_gaussian(sigma.kinks, panel_order=24, panel_length=0.5)
        squares = weights * (sigma.numpy(nodes) - mu[0]) ** 2
        return cls(
            linear=linear,
            mean=labels.mean - start_output,
            power=labels.second_moment
            + problem.noise
            - 2 * start_output * labels.mean
            + start_output**2,
            mu_1=float(mu[1]),
            mu_2=float(mu[2]),
            slope_variance=sigma.derivative_second_moment - float(mu[1]) ** 2,
            mu_3=float(mu[3]),
            linear_drift=drift,
            output_variance=float(np.sum(squares)),
            # E[s s' z] = E[s^2 (z^2 - 1)] / 2, by parts.
            output_growth=float(squares @ (nodes**2 - 1)) / 2,
        )


def gradient_norm(signal: StepSignal, samples_ratio: Any, dim: Any = math.inf) -> Any:
    r"""Length of the mean gradient :math:`b = X^T y/n_0` that one step adds to every neuron.

    .. math:: |b|^2 = \Big(|E[g h]| + \frac{\mu_3\operatorname{tr} C_3}{2\mu_1 d}\Big)^2
        + \Big(1 - \frac1d\Big)\frac{d}{n_0} E[y^2]

    In the second term of the first bracket :math:`\operatorname{tr} C_3` is the part along
    :math:`E[gh]` of the vector :math:`E[g\,(|h|^2 - r - 2)\,h]`: the neurons' mean slope grows with
    the length of x.

    Symbols: n_0/d ``samples_ratio``; d ``dim``; the moments ``signal``.

    Assumes: isotropic Gaussian inputs, n_0 proportional to d.
    Status: theorem.
    References: Ba et al. 2022, arXiv:2205.01445.

    >>> signal = StepSignal(linear=0.5, mean=0.4, power=0.5, mu_1=0.6, mu_2=0.0, slope_variance=0.1)
    >>> round(gradient_norm(signal, 2.0), 6)
    0.707107
    """
    along = signal.linear + signal.linear_drift / dim
    return (along**2 + (1 - 1 / dim) * signal.power / samples_ratio) ** 0.5


def alignment(signal: StepSignal, samples_ratio: Any, dim: Any = math.inf) -> Any:
    r"""Cosine of the learned direction :math:`b/|b|` with the target's mean gradient.

    .. math:: \gamma = \Big(|E[g h]| + \frac{\mu_3\operatorname{tr} C_3}{2\mu_1 d}\Big) \Big/ |b|

    Symbols: n_0/d ``samples_ratio``; d ``dim``; the moments ``signal``; |b|
    :func:`gradient_norm`.

    Assumes: isotropic Gaussian inputs, n_0 proportional to d.
    Status: theorem.
    References: Ba et al. 2022, arXiv:2205.01445; Dandi et al. 2023, arXiv:2305.18270.

    >>> signal = StepSignal(linear=0.5, mean=0.4, power=0.5, mu_1=0.6, mu_2=0.0, slope_variance=0.1)
    >>> round(alignment(signal, 2.0) ** 2, 6)
    0.5
    """
    along = signal.linear + signal.linear_drift / dim
    return along / gradient_norm(signal, samples_ratio, dim)


def spike_strength(signal: StepSignal, samples_ratio: Any, steps: Any, dim: Any = math.inf) -> Any:
    r"""Projection of each updated neuron on the learned direction.

    .. math:: s_j = \eta\, a_j\, \mu_1\, |b|

    Symbols: eta a_j ``steps``; n_0/d ``samples_ratio``; d ``dim``; mu_1 and the moments in b
    ``signal``.

    Assumes: step size of order one, rows that start on the sphere; fluctuations of order
    d^-1/2 are part of the bulk.
    Status: theorem.
    References: Ba et al. 2022, arXiv:2205.01445; Cui et al. 2024, arXiv:2402.04980.

    >>> signal = StepSignal(linear=0.5, mean=0.4, power=0.5, mu_1=0.6, mu_2=0.0, slope_variance=0.1)
    >>> round(spike_strength(signal, 2.0, 3.0), 6)
    1.272792
    """
    return steps * signal.mu_1 * gradient_norm(signal, samples_ratio, dim)


def bulk_variance(signal: StepSignal, samples_ratio: Any, steps: Any) -> Any:
    r"""Squared length of each updated neuron across the learned direction.

    .. math::
        c_j = 1 + 2\eta a_j\mu_2 E[y]
            + \eta^2 a_j^2 \Big(\frac{d}{n_0} E[y^2]\,\mathrm{Var}\,\sigma'(z)
            + \mu_2^2 E[y]^2\Big)

    Symbols: eta a_j ``steps``; n_0/d ``samples_ratio``; the moments ``signal``.

    Assumes: step size of order one, rows that start on the sphere.
    Status: theorem.
    References: Cui et al. 2024, arXiv:2402.04980 (without the terms in E[y]).

    >>> signal = StepSignal(linear=0.5, mean=0.4, power=0.5, mu_1=0.6, mu_2=0.0, slope_variance=0.1)
    >>> round(bulk_variance(signal, 2.0, 3.0), 6)
    1.225
    """
    drift = steps * signal.mu_2 * signal.mean
    return (1 + drift) ** 2 + steps**2 * signal.power / samples_ratio * signal.slope_variance


def length_tilt(signal: StepSignal, samples_ratio: Any, steps: Any) -> Any:
    r"""How the length of a neuron's bulk grows with its component along the learned direction.

    .. math:: |\tilde w_j| \propto 1 + \epsilon_j\langle\hat w_j, v\rangle, \qquad
        \epsilon_j = \hat\eta a_j\,\mu_3 |b| / c_j^{3/2}

    The gradient of a neuron has the part :math:`\mu_3\langle w_j, b\rangle w_j`, which stretches
    it. It moves the features' mean as much as :math:`\langle\hat w_j, v\rangle` itself does, so it
    counts even as d grows; the isotropic theory leaves it out.

    Symbols: eta a ``steps``, n_0/d ``samples_ratio``, |b| :func:`gradient_norm`, c
    :func:`bulk_variance`.

    Assumes: isotropic Gaussian inputs, rows of unit length before the step.
    Status: heuristic, checked by simulation.
    References: Dandi et al. 2024, arXiv:2410.18938 for the isotropic theory.

    >>> signal = StepSignal(0.606531, 0.0, 0.432332, 0.605706, 0.0, 0.0975237, -0.363595)
    >>> round(length_tilt(signal, 20.0, 3.0), 4)
    -0.6618
    """
    stretch = steps * signal.mu_3 * gradient_norm(signal, samples_ratio)
    return stretch / bulk_variance(signal, samples_ratio, steps) ** 1.5
