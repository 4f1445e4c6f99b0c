"""What the gradient of a neuron sees of its activation: Gaussian moments of its derivative."""

from __future__ import annotations

import functools
from typing import NamedTuple

import numpy as np

from giantstep.activations.activation import Activation
from giantstep.errors import NoTheory
from giantstep.numerics.quadrature import split_gaussian


class SlopeMoments(NamedTuple):
    """Moments of sigma'(z) = mu_1 + mu_2 z + r(z), where r has Hermite degrees two and more.

    ``rest`` E r^2; ``curve`` half of E[z r He_2]; ``square_slope`` E[r^2 z]; ``square_curve``
    half of E[r^2 He_2]. ``high``: products E[pq] of the parts of degree three and more of
    p, q = z r or r^2, in the order (zr, zr), (zr, rr), (rr, rr).
    """

    mu_1: float
    mu_2: float
    mu_3: float
    rest: float
    curve: float
    square_slope: float
    square_curve: float
    high: tuple[float, float, float]


@functools.lru_cache(maxsize=256)
def slope_moments(sigma: Activation) -> SlopeMoments:
    r"""Gaussian moments of the derivative of an activation.

    .. math:: \sigma'(z) = \mu_1 + \mu_2 z + r(z), \qquad
        E r^2 = \mathrm{Var}\,\sigma'(z) - \mu_2^2

    Assumes: an activation without jumps.
    Status: theorem.
    References: Cui et al. 2024, arXiv:2402.04980, for mu_1 and the variance of the slope.

    >>> from giantstep.activations.activation import activation
    >>> found = slope_moments(activation("relu"))
    >>> round(found.mu_2, 6), round(found.rest, 6), abs(round(found.mu_3, 6))
    (0.398942, 0.090845, 0.0)
    """
    # The nodes of Activation's own moments: half a standard deviation resolves sin(9 z).
    z, weights = split_gaussian(sigma.kinks, panel_order=24, cutoff=11.0, panel_length=0.5)
    slope, curve = sigma.numpy_derivative(z), z**2 - 1
    mu_1, mu_2, mu_3 = (float(weights @ (slope * p)) for p in (np.ones_like(z), z, curve))
    # E[sigma'] = E[sigma z] unless sigma jumps, where its derivative misses the jump.
    if abs(mu_1 - float(sigma.hermite(1)[1])) > 1e-6 * max(1.0, abs(mu_1)):
        raise NoTheory(
            f"activation = {sigma.name} jumps: gradient steps do not see a jump; use a continuous "
            "activation, such as erf2 or relu"
        )
    rest = slope - mu_1 - mu_2 * z

    def beyond(values: np.ndarray) -> np.ndarray:
        """The part of Hermite degree three and more."""
        low = [
            (weights @ (values * p)) / norm * p for p, norm in ((1 + 0 * z, 1), (z, 1), (curve, 2))
        ]
        return values - sum(low)

    first, second = beyond(z * rest), beyond(rest**2)
    high = tuple(
        float(weights @ (p * q)) for p, q in ((first, first), (first, second), (second, second))
    )
    return SlopeMoments(
        mu_1,
        mu_2,
        mu_3,
        rest=float(weights @ rest**2),
        curve=float(weights @ (z * rest * curve)) / 2,
        square_slope=float(weights @ (rest**2 * z)),
        square_curve=float(weights @ (rest**2 * curve)) / 2,
        high=high,  # type: ignore[arg-type]
    )
