"""How much of the target a random neuron sees, and what that costs in samples."""

from __future__ import annotations

import math

from giantstep.numerics.gegenbauer import coordinate_rule


def start_overlap(dim: float, theta: float, cosine: float) -> float:
    r"""Root mean square of the overlap of a neuron drawn uniformly on the sphere.

    .. math:: E\,\omega_0^2 = E_m\, \frac{c^2 (1+\theta)^2 m^2 + (1-c^2)\frac{1-m^2}{d-1}}
        {\kappa\, (1 + \theta m^2)}, \qquad m = \langle w, \mu\rangle

    Symbols: d is ``dim``, theta the strength of the spike, c its ``cosine`` with the target,
    kappa = 1 + theta c^2; given m the rest of w is uniform.
    Assumes: Gaussian inputs with one spike.
    Status: theorem.
    References: Mousavi-Hosseini et al. 2023, arXiv:2309.03843.

    >>> d = 10**4
    >>> [round(start_overlap(d, d**g, d**-0.25), 4) for g in (0.1, 0.4, 0.8)]
    [0.0104, 0.0353, 0.327]
    """
    m, weights = coordinate_rule(dim)
    kappa = 1 + theta * cosine**2
    seen = (cosine * (1 + theta) * m) ** 2 + (1 - cosine**2) * (1 - m**2) / (dim - 1)
    return math.sqrt(float(weights @ (seen / (kappa * (1 + theta * m**2)))))


def start_exponent(alignment_exponent: float, strength_exponent: float) -> float:
    r"""The power of d with which the overlap of a random neuron falls.

    .. math:: \delta_0 = d^{-\rho}, \quad \rho = \begin{cases}
        \frac12 & \gamma_2 \le \gamma_1 \\
        \frac12 - (\gamma_2 - \gamma_1) & \gamma_1 < \gamma_2 \le 2\gamma_1 \\
        \frac12 (1 - \gamma_2) & 2\gamma_1 < \gamma_2 \end{cases}

    Symbols: gamma_1 is ``alignment_exponent``, c = d^-gamma_1; gamma_2 is ``strength_exponent``,
    theta = d^gamma_2.
    Assumes: gamma_1 between 0 and 1/2, gamma_2 between 0 and 1.
    Status: theorem.
    References: Mousavi-Hosseini et al. 2023, arXiv:2309.03843.

    >>> [round(start_exponent(0.25, g), 2) for g in (0.1, 0.4, 0.8)]
    [0.5, 0.35, 0.1]
    """
    if strength_exponent <= alignment_exponent:
        return 0.5
    if strength_exponent <= 2 * alignment_exponent:
        return 0.5 - (strength_exponent - alignment_exponent)
    return (1 - strength_exponent) / 2


def flow_sample_exponent(order: int, alignment_exponent: float, strength_exponent: float) -> float:
    r"""The power of d in the samples from which the preconditioned flow learns a link.

    .. math:: n \gtrsim d \cdot \delta_0^{-2(k-1)} = d^{\,1 + 2\rho(k-1)}

    Symbols: k is ``order``, the information exponent; rho as :func:`start_exponent` gives it.
    Assumes: Algorithm 1, a link with zeta(o) >= C o^(k-1); a fixed accuracy.
    Status: theorem (an upper bound).
    References: Mousavi-Hosseini et al. 2023, arXiv:2309.03843.

    >>> [round(flow_sample_exponent(3, 0.25, g), 2) for g in (0.1, 0.4, 0.8)]
    [3.0, 2.4, 1.4]
    """
    return 1 + 2 * (order - 1) * start_exponent(alignment_exponent, strength_exponent)
