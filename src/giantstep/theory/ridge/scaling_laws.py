"""Rates of ridge regression with random features when spectrum and target decay as power laws."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import ScalarLike

from giantstep.theory.ridge.deterministic_equivalent import Spectrum

#: Modes 1..EXACT_MODES one by one, then BINS_PER_DECADE groups a decade up to LAST_MODE.
EXACT_MODES = 2000
BINS_PER_DECADE = 300
LAST_MODE = 1e13


class Exponents(NamedTuple):
    """Excess risk ~ n^-bias + noise n^-variance; ``total`` is the rate of their sum."""

    bias: float
    variance: float
    total: float


class OptimalExponents(NamedTuple):
    """The best ridge with noise, the rate it reaches, and the fewest features that reach it."""

    ridge: float
    rate: float
    width: float


def scaling_exponents(
    capacity: float, source: float, ridge_exponent: float, width_exponent: float, noisy: bool = True
) -> Exponents:
    r"""Rates of bias and variance with p = n^q features and ridge n^(1 - ell).

    .. math::

        t = \min(\ell/a,\, q,\, 1), \qquad
        \gamma_B = \min\{2 a t \min(r, 1),\ (2 a \min(r, \tfrac12) - 1) t + q\}, \qquad
        \gamma_V = 1 - t .

    Symbols: a ``capacity`` (eigenvalues k^-a), r ``source`` (squared coefficients k^-(2ar+1)),
    ell ``ridge_exponent`` (ridge n^-ell of the mean loss), q ``width_exponent``; ``noisy`` is
    False when the labels have no noise, so that the bias alone counts.

    Assumes: a > 1, r > 0, and not q = 1 with ell >= a, where the interpolation peak is.
    Status: theorem
    References: Defilippis et al. 2024, arXiv:2405.15699, Theorem 4.1.

    >>> rates = scaling_exponents(1.5, 0.4, 0.6, 2.0)
    >>> round(rates.bias, 6), round(rates.variance, 6)
    (0.48, 0.6)
    """
    a, r, q = capacity, source, width_exponent
    t = min(ridge_exponent / a, q, 1.0)
    bias = min(2 * a * t * min(r, 1.0), (2 * a * min(r, 0.5) - 1) * t + q)
    variance = 1.0 - t
    return Exponents(bias, variance, min(bias, variance) if noisy else bias)


def optimal_exponents(capacity: float, source: float) -> OptimalExponents:
    r"""The ridge that learns fastest from noisy labels, its rate, and the features it needs.

    .. math::

        \ell^* = \frac{a}{2 a \min(r,1) + 1}, \qquad
        \gamma^* = \frac{2 a \min(r,1)}{2 a \min(r,1) + 1}, \qquad
        q^* = \frac{1 + 2a (\min(r,1) - \min(r,\frac12))}{2 a \min(r,1) + 1} .

    Symbols: a ``capacity``, r ``source``; the result is (ell*, gamma*, q*).

    Assumes: a > 1, r > 0, labels with noise.
    Status: theorem
    References: Defilippis et al. 2024, arXiv:2405.15699, Corollary 4.1.

    >>> [round(value, 4) for value in optimal_exponents(1.5, 0.8)]
    [0.4412, 0.7059, 0.5588]
    """
    a, r = capacity, source
    smooth = 2 * a * min(r, 1.0)
    extra = 2 * a * (min(r, 1.0) - min(r, 0.5))
    return OptimalExponents(a / (smooth + 1), smooth / (smooth + 1), (1 + extra) / (smooth + 1))


def power_law_spectrum(
    capacity: ScalarLike, source: ScalarLike, modes: ScalarLike = jnp.inf
) -> Spectrum:
    r"""The spectrum :math:`e_k = k^{-a}`, :math:`\beta_k^2 = k^{-2ar-1}`, in a few thousand groups.

    The first modes are exact; a bin of later ones has the exact sums of eigenvalues and energies
    up to a relative 1e-8 (Euler and Maclaurin). Beyond the last bin the modes are in the tail.

    Symbols: a ``capacity``, r ``source``; modes k = 1..``modes``. Differentiable in a and r.

    Assumes: a > 1, r > 0.
    Status: theorem
    References: Defilippis et al. 2024, arXiv:2405.15699, Section 4.

    >>> from giantstep.numerics.float64 import float64
    >>> with float64():
    ...     spectrum = power_law_spectrum(2.0, 0.5)
    ...     trace = spectrum.tail_trace + spectrum.eigenvalues @ spectrum.multiplicities
    >>> round(float(trace), 9) == round(np.pi**2 / 6, 9)
    True
    """
    a, r, last = (jnp.asarray(value, float) for value in (capacity, source, modes))
    edges = jnp.asarray(_edges())
    cut = jnp.minimum(edges, last + 0.5)
    low, high = cut[:-1], cut[1:]
    single = jnp.arange(len(edges) - 1) < EXACT_MODES
    middle = (edges[1:] + edges[:-1]) / 2
    count = high - low
    decay = 2 * a * r + 1

    def share(power: Any) -> Any:
        return jnp.where(single, count * middle**-power, _scaling_law_integral(low, high, power))

    trace = share(a)
    unbounded = jnp.isinf(last)
    return Spectrum(
        trace / jnp.where(count > 0, count, 1.0),
        count,
        share(decay),
        jnp.where(unbounded, edges[-1] ** (1 - a) / (a - 1), 0.0),
        jnp.where(unbounded, edges[-1] ** (1 - decay) / (decay - 1), 0.0),
    )


def _edges() -> np.ndarray:
    decades = np.log10(LAST_MODE / EXACT_MODES)
    bins = np.geomspace(EXACT_MODES + 0.5, LAST_MODE, round(decades * BINS_PER_DECADE))
    return np.concatenate([np.arange(EXACT_MODES) + 0.5, bins])


def _scaling_law_integral(low: Any, high: Any, power: Any) -> Any:
    """The integral of x^-power from low to high, as a difference that does not cancel."""
    return low ** (1 - power) * -jnp.expm1((1 - power) * jnp.log(high / low)) / (power - 1)
