"""Gradient flows of one neuron under a spike, as closed equations for its overlaps."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from numpy.polynomial.polynomial import polyval

from giantstep.language.activations.activation import Activation
from giantstep.language.targets import Target
from giantstep.theory.gradient_flow.link_series import (
    alignment_speed,
    flow_moments,
    scaled_moments,
)

#: State of a flow, (3, flows): m = <w, mu>, b = <w, u>, |w|^2.
State = Float[np.ndarray, "3 flows"]


@dataclass(frozen=True, eq=False)
class Spike:
    """theta and c = <mu, u> of one flow or of many."""

    theta: Float[np.ndarray, " flows"] | float
    cosine: Float[np.ndarray, " flows"] | float

    @property
    def kappa(self) -> Float[np.ndarray, " flows"] | float:
        """Variance of <x, u>, 1 + theta c^2."""
        return 1 + self.theta * self.cosine**2


def flow_overlap(state: State, spike: Spike) -> Float[np.ndarray, " flows"]:
    r"""The correlation of the neuron's pre-activation with what the label reads.

    .. math:: \omega = \frac{b + \theta c m}{\sqrt{q \kappa}}, \qquad
        q = |w|^2 + \theta m^2, \quad \kappa = 1 + \theta c^2

    Symbols: ``state`` holds m = <w, mu>, b = <w, u> and |w|^2; ``spike`` holds theta and c.
    Assumes: Gaussian inputs with one spike.
    Status: theorem.
    References: Mousavi-Hosseini et al. 2023, arXiv:2309.03843.

    >>> round(float(flow_overlap(np.array([[0.3], [0.4], [1.0]]), Spike(8.0, 0.5))[0]), 6)
    0.704361
    """
    m, b, square = state
    q = square + spike.theta * m**2
    return (b + spike.theta * spike.cosine * m) / np.sqrt(q * spike.kappa)


def spherical_flow(
    activation: Activation, target: Target, spike: Spike
) -> Callable[[State], State]:
    r"""The rate of the gradient flow of E(y - sigma(<w, x>))^2 on the unit sphere.

    .. math::
        m' &= A (c (1+\theta) - m \sqrt\kappa s) + B m (1 + \theta - q), \\
        b' &= A (\kappa - b \sqrt\kappa s) + B (\sqrt\kappa s - b q), \\
        A &= 2 C_s / \sqrt\kappa, \quad B = 2 (2 C_q - V')

    Symbols: s = omega sqrt(q), q = 1 + theta m^2; by Price's theorem
    C_s = E[sigma' sigma_*'] = sum_j mu_{j+1}(q) mu*_{j+1} omega^j / (j! sqrt q) and
    C_q = E[sigma'' sigma_*]/2 = sum_j mu_{j+2}(q) mu*_j omega^j / (2 q j!), in Hermite moments.
    Assumes: Gaussian inputs with one spike; a polynomial link; infinitely many samples.
    Status: theorem.
    References: Mousavi-Hosseini et al. 2023, arXiv:2309.03843.

    >>> from giantstep.language.activations.activation import activation
    >>> rate = spherical_flow(activation("relu"), Target("He2(h1)/sqrt(2)"), Spike(31.0, 1.0))
    >>> rate(np.array([[0.01], [0.01], [1.0]])).round(4).T.tolist()
    [[0.05, 0.05, 0.0]]
    """
    theta, c, kappa = spike.theta, spike.cosine, spike.kappa
    link = flow_moments(target)
    factorials = np.array([math.factorial(j) for j in range(len(link))], dtype=float)
    slopes, values = (link[1:] / factorials[:-1])[:, None], (link / factorials)[:, None]
    largest = 1 + float(np.max(theta))
    neuron = scaled_moments(activation, len(link) + 1, largest)

    def rate(state: State) -> State:
        m, b, _ = state
        q = np.clip(1 + theta * m**2, 1.0, largest)
        root, omega = np.sqrt(q), flow_overlap(np.array([m, b, np.ones_like(m)]), spike)
        s, (mu, slope) = omega * root, neuron.at(q)
        powers = omega ** np.arange(len(link))[:, None]
        c_s = np.sum(slopes * mu[1 : len(link)] * powers[:-1], axis=0) / root
        c_q = np.sum(values * mu[2:] * powers, axis=0) / (2 * q)
        pull = 2 * c_s / np.sqrt(kappa)
        push = 2 * (2 * c_q - slope)
        projected = np.sqrt(kappa) * s
        return np.array(
            [
                pull * (c * (1 + theta) - m * projected) + push * m * (1 + theta - q),
                pull * (kappa - b * projected) + push * (projected - b * q),
                np.zeros_like(m),
            ]
        )

    return rate


def normalised_flow(
    activation: Activation, target: Target, spike: Spike
) -> Callable[[State], State]:
    r"""The rate of the flow of sigma(<w, x>/sqrt(q)) with the step q = w^T Sigma w.

    .. math::
        m' = 2\zeta(\omega)\sqrt{q}\Big[\frac{c(1+\theta)}{\sqrt\kappa}
            - \frac{\omega m (1+\theta)}{\sqrt q}\Big], \qquad
        b' = 2\zeta(\omega) \sqrt{q\kappa}\,(1 - \omega^2)

    Symbols: zeta as in :func:`alignment_speed`; |w| is conserved.
    Assumes: Gaussian inputs with one spike; a polynomial link; infinitely many samples.
    Status: theorem.
    References: Mousavi-Hosseini et al. 2023, arXiv:2309.03843.

    >>> from giantstep.language.activations.activation import activation
    >>> rate = normalised_flow(activation("relu"), Target("He2(h1)/sqrt(2)"), Spike(8.0, 0.5))
    >>> rate(np.array([[0.3], [0.4], [1.0]])).round(4).T.tolist()
    [[1.1966, 0.9097, 0.0]]
    """
    theta, c, kappa = spike.theta, spike.cosine, spike.kappa
    zeta = alignment_speed(activation, target)

    def rate(state: State) -> State:
        m = state[0]
        omega, root = flow_overlap(state, spike), np.sqrt(state[2] + theta * m**2)
        speed = 2 * polyval(omega, zeta) * root
        return np.array(
            [
                speed * (1 + theta) * (c / np.sqrt(kappa) - omega * m / root),
                speed * np.sqrt(kappa) * (1 - omega**2),
                np.zeros_like(m),
            ]
        )

    return rate


def preconditioned_flow(
    activation: Activation, target: Target, spike: Spike
) -> Callable[[State], State]:
    r"""The rate of the normalised flow with its gradient multiplied by the inverse covariance.

    .. math:: w' = 2\zeta(\omega) \Big[\sqrt{\frac{q}{\kappa}}\, u - \omega w\Big]
        \quad\Rightarrow\quad \omega' = 2\zeta(\omega)(1 - \omega^2)

    Symbols: as above; q is conserved, |w| is not, hence the third entry of the state.
    Assumes: Gaussian inputs of any covariance; a polynomial link; infinitely many samples.
    Status: theorem.
    References: Mousavi-Hosseini et al. 2023, arXiv:2309.03843.

    >>> from giantstep.language.activations.activation import activation
    >>> rate = preconditioned_flow(activation("relu"), Target("He2(h1)/sqrt(2)"), Spike(8.0, 0.5))
    >>> rate(np.array([[0.3], [0.4], [1.0]])).round(4).T.tolist()
    [[0.133, 0.3779, -0.6382]]
    """
    theta, c, kappa = spike.theta, spike.cosine, spike.kappa
    zeta = alignment_speed(activation, target)

    def rate(state: State) -> State:
        m, b, square = state
        omega, q = flow_overlap(state, spike), square + theta * m**2
        speed, reach = 2 * polyval(omega, zeta), np.sqrt(q / kappa)
        return speed * np.array(
            [c * reach - omega * m, reach - omega * b, 2 * (b * reach - omega * square)]
        )

    return rate


FLOWS = {
    "spherical": spherical_flow,
    "normalised": normalised_flow,
    "preconditioned": preconditioned_flow,
}
