"""How long the preconditioned flow takes from one overlap to another: one integral."""

from __future__ import annotations

import math

import numpy as np
from jaxtyping import Float

from giantstep.errors import SettingsError

#: Length of the panels of the integral in F_2(omega), and nodes in each.
PANEL_LENGTH, PANEL_ORDER = 0.5, 16


def flow_clock(order: int, overlap: float) -> float:
    r"""The primitive F_k of 1/(o^(k-1)(1 - o^2)): the time of the flow with zeta = C o^(k-1).

    .. math:: F_1 = \mathrm{atanh}(o), \quad F_2 = \ln\frac{o}{\sqrt{1-o^2}}, \quad
        F_{k} = F_{k-2} - \frac{o^{2-k}}{k-2}

    and the flow goes from o_0 to o in the time (F_k(o) - F_k(o_0)) / (2C).

    Symbols: k is ``order``, the information exponent; o is ``overlap``, between 0 and 1.
    Assumes: the preconditioned flow, a link of one Hermite degree.
    Status: theorem.
    References: Mousavi-Hosseini et al. 2023, arXiv:2309.03843.

    >>> round((flow_clock(3, 0.9) - flow_clock(3, 0.1)) / (2 * 0.2963520), 4)
    17.3118
    """
    if not 0 < overlap < 1:
        raise SettingsError(f"overlap = {overlap:g}: the clock of a flow runs between 0 and 1")
    if order == 1:
        return math.atanh(overlap)
    if order == 2:
        return math.log(overlap) - math.log1p(-(overlap**2)) / 2
    return flow_clock(order - 2, overlap) - overlap ** (2 - order) / (order - 2)


def hitting_time(zeta: Float[np.ndarray, " degrees"], start: float, end: float) -> float:
    r"""The time in which the preconditioned flow carries the overlap from ``start`` to ``end``.

    .. math:: t = \int_{\omega_0}^{\omega_1} \frac{d\omega}{2\zeta(\omega)(1-\omega^2)}
        = \int_{F_2(\omega_0)}^{F_2(\omega_1)} \frac{\omega(y)}{2\zeta(\omega(y))}\, dy,
        \quad \omega(y) = (1 + e^{-2y})^{-1/2}

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
    if start <= 0 or _least(zeta, start, end) <= 0:
        return math.inf
    first, last = flow_clock(2, start), flow_clock(2, end)
    edges = np.linspace(first, last, math.ceil((last - first) / PANEL_LENGTH) + 1)
    unit, mass = np.polynomial.legendre.leggauss(PANEL_ORDER)
    half = np.diff(edges)[:, None] / 2
    y = (edges[:-1, None] + half * (unit + 1)).ravel()
    omega = 1 / np.sqrt(1 + np.exp(-2 * y))
    return float(
        (half * mass).ravel() @ (omega / (2 * np.polynomial.polynomial.polyval(omega, zeta)))
    )


def _least(zeta: np.ndarray, start: float, end: float) -> float:
    """The least value of the polynomial between two points."""
    slope = np.polynomial.polynomial.polyder(zeta)
    turns = np.polynomial.polynomial.polyroots(np.trim_zeros(slope, "b")) if slope.any() else slope
    inside = [x.real for x in turns if abs(x.imag) < 1e-9 and start < x.real < end]
    return float(np.polynomial.polynomial.polyval(np.array([start, end, *inside]), zeta).min())
