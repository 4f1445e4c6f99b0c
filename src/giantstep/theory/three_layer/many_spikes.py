"""Eigenvectors of many equal spikes at a finite dimension: they share it, and they scatter."""

from __future__ import annotations

import math

import numpy as np

#: Points at which the density of eigenvalues is read, and how far beyond the spikes.
POINTS, BEYOND = 2000, 1.5


def many_spikes_span(overlap_squared: float, spikes: int, dim: int) -> float:
    r"""Squared projection of equal spikes on as many eigenvectors, from that of a lone spike.

    .. math:: \mathrm{span} = 2 \int_{x^*}^\infty \rho_1(x)\, dx
        - \frac{(2 + q)(1 - q)^2}{d\, q^2}, \qquad
        x = \omega + \frac{1 - c}{\omega} + \frac{c\, \omega}{\omega^2 - s^2}, \qquad
        q = 1 - \frac{1 - c}{s^2}

    with the densities rho = Im(omega)/pi of eigenvalues and rho_1 = -Im(omega/(omega^2 - s^2))/pi
    of a spike in them, and x* such that int rho = c/2: half of the spikes lie beyond. The integral
    is q/2 where the spikes have left the bulk, s^(2/3) > (1 - c)^(1/3) + (c/2)^(1/3) but for a term
    of order c. The second term is e'(s)/d for few spikes, by Hellmann and Feynman: an eigenvalue
    beyond the bulk is s + 1/s + e(s)/d on average, e = 1/(s (s^2 - 1)) beside what d - l in place
    of d gives. Where the spikes are in the bulk it is taken as at the moment when they leave it.

    Symbols: q is ``overlap_squared``, negative below the threshold; l ``spikes``, d ``dim``,
    c = l/d. Chance, which is c, is the least that comes back.
    Assumes: a symmetric matrix of Gaussian noise, and as many spikes of either sign.
    Status: heuristic.
    References: Benaych-Georges, Nadakuditi 2009, arXiv:0910.2120.

    >>> round(many_spikes_span(0.674, 8, 64), 3), round(many_spikes_span(0.0, 8, 64), 3)
    (0.664, 0.321)
    """
    share = spikes / dim
    if share == 1 or overlap_squared == -math.inf:
        return share
    strength = (1 - share) / (1 - overlap_squared)
    leaving = ((1 - share) ** (1 / 3) + (share / 2) ** (1 / 3)) ** 3
    held = overlap_squared if strength >= leaving else _span_held_by_spikes(strength, share)
    alone = 1 - (1 - share) / max(strength, leaving)
    return max(held - (2 + alone) * (1 - alone) ** 2 / (dim * alone**2), share)


def _span_held_by_spikes(strength: float, share: float) -> float:
    """Twice the integral of rho_1; omega is the complex root of a quartic."""
    s = math.sqrt(strength)
    x = np.linspace(0, s + min(1 / s, 2.0) + BEYOND, POINTS)
    companion = np.zeros((POINTS, 4, 4))
    companion[:, 0, 0], companion[:, 0, 1] = x, strength - 1
    companion[:, 0, 2], companion[:, 0, 3] = -strength * x, (1 - share) * strength
    companion[:, [1, 2, 3], [0, 1, 2]] = 1
    # Two roots are real, one between each two poles; so are the others outside the spectrum.
    roots = np.linalg.eigvals(companion)
    omega = roots[np.arange(POINTS), np.argmax(roots.imag, axis=1)][::-1]
    inside, spike = omega.imag > 0, np.zeros(POINTS)
    spike[inside] = -(omega[inside] / (omega[inside] ** 2 - strength)).imag
    each = float(x[1]) / np.pi
    beyond = np.cumsum(np.where(inside, omega.imag, 0.0)) * each
    return float(np.interp(share / 2, beyond, 2 * np.cumsum(spike) * each))
