"""How long the preconditioned flow takes from one overlap to another: one integral."""

from __future__ import annotations

import math

import numpy as np
from jaxtyping import Float
from numpy.polynomial.polynomial import polyder, polyroots, polyval

from giantstep.numerics.quadrature import legendre_panels

#: Length of the panels of the integral in F_2(omega), and nodes in each.
PANEL_LENGTH, PANEL_ORDER = 0.5, 16


def hitting_time(zeta: Float[np.ndarray, " degrees"], start: float, end: float) -> float:
    r"""The time in which the preconditioned flow carries the overlap from ``start`` to ``end``.

    .. math:: t = \int_{\omega_0}^{\omega_1} \frac{d\omega}{2\zeta(\omega)(1-\omega^2)}
        = \int_{F_2(\omega_0)}^{F_2(\omega_1)} \frac{\omega(y)}{2\zeta(\omega(y))}\, dy,
        \quad \omega(y) = (1 + e^{-2y})^{-1/2}, \quad F_2 = \ln\frac{\omega}{\sqrt{1-\omega^2}}

    Symbols: ``zeta`` as :func:`alignment_speed` gives it. Infinite where zeta is not positive all
    the way.
    Assumes: the preconditioned flow, 0 < start and end < 1.
    Status: theorem.
    References: Mousavi-Hosseini et al. 2023, arXiv:2309.03843.

    >>> round(hitting_time(np.array([0.0, 0.0, 0.2963520]), 0.1, 0.9), 4)
    17.3118
    """
    if end <= start:
        return 0.0
    slope = polyder(zeta)
    turns = polyroots(np.trim_zeros(slope, "b")) if slope.any() else slope
    inside = [x.real for x in turns if abs(x.imag) < 1e-9 and start < x.real < end]
    if start <= 0 or polyval(np.array([start, end, *inside]), zeta).min() <= 0:
        return math.inf
    first, last = (math.log(omega) - math.log1p(-(omega**2)) / 2 for omega in (start, end))
    edges = np.linspace(first, last, math.ceil((last - first) / PANEL_LENGTH) + 1)
    y, lengths = legendre_panels(edges, PANEL_ORDER)
    omega = 1 / np.sqrt(1 + np.exp(-2 * y))
    return float(lengths @ (omega / (2 * polyval(omega, zeta))))
