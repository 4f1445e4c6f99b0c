"""Gaussian averages of a neuron and of its slope, given its projection on what was learned."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np
from jaxtyping import Float

from giantstep.errors import NoTheory
from giantstep.language.activations.activation import Activation
from giantstep.numerics.quadrature import legendre_panels

#: Averages are tabulated at this spacing, in standard deviations, and interpolated by quintic
#: splines: they are smooth on that scale, and come out to 1e-9.
SPACING = 0.1
#: Panels of the integral over the pre-activation: their largest length, in standard deviations
#: and absolutely, their nodes, and how far they reach.
PANEL, ABSOLUTE_PANEL, ORDER, REACH = 1.0, 0.75, 16, 8.5
#: Variances between which averages are interpolated.
VARIANCES = 7
#: Entries of a table that are computed at once: they stay in the cache, in half the time.
CHUNK = 25_000


class NeuronAverages(NamedTuple):
    """Averages over z of functions of sigma(s + sqrt(c) z); symbols of :func:`neuron_averages`."""

    mean: Float[np.ndarray, " points"]
    slope: Float[np.ndarray, " points"]
    bend: Float[np.ndarray, " points"]
    twist: Float[np.ndarray, " points"]
    power: Float[np.ndarray, " points"]
    slope_power: Float[np.ndarray, " points"]


class SlopeRest(NamedTuple):
    """Averages of the rest rho of the slope; symbols of :func:`slope_rest`."""

    product_curve: Float[np.ndarray, " points"]
    square_slope: Float[np.ndarray, " points"]
    square_curve: Float[np.ndarray, " points"]
    cube: Float[np.ndarray, " points"]
    product_product: Float[np.ndarray, " points"]
    product_square: Float[np.ndarray, " points"]
    square_square: Float[np.ndarray, " points"]


Averages = TypeVar("Averages", NeuronAverages, SlopeRest)


def neuron_averages(
    sigma: Activation,
    variance: float | Float[np.ndarray, " points"],
    at: Float[np.ndarray, " points"],
) -> NeuronAverages:
    r"""Mean, mean derivatives and mean squares of a neuron at every projection s.

    .. math:: m = E\,\sigma(s + \sqrt c z),\qquad w_n = E\,\sigma^{(n+1)}(s + \sqrt c z)
        = c^{-n/2}E[\sigma'(\cdot)\,\mathrm{He}_n(z)],\qquad E\,\sigma^2,\quad E\,\sigma'^2

    Symbols: s ``at``, c ``variance``, one or one per point; w_0, w_1, w_2 ``slope``, ``bend``,
    ``twist``.

    Assumes: an activation without jumps.
    Status: theorem (Stein's lemma for the derivatives).
    References: Cui et al. 2024, arXiv:2402.04980, for m and w_0.

    >>> from giantstep.language.activations.activation import activation
    >>> found = neuron_averages(activation("relu"), 4.0, np.zeros(1))
    >>> [round(float(part[0]), 6) + 0.0 for part in found[:4]]
    [0.797885, 0.5, 0.199471, 0.0]
    """
    if not isinstance(variance, float):
        return _averages_between(sigma, variance, at)
    deviation = math.sqrt(variance)

    def table(values: np.ndarray, slopes: np.ndarray, z: np.ndarray, mass: np.ndarray) -> list[Any]:
        return [
            mass @ values,
            mass @ slopes,
            (mass * z) @ slopes / deviation,
            (mass * (z**2 - 1)) @ slopes / variance,
            mass @ values**2,
            mass @ slopes**2,
        ]

    return NeuronAverages(*_tabulated_neuron_averages(sigma, variance, at, table))


def averages_by_kind(
    of: Callable[..., Averages],
    sigmas: Sequence[Activation],
    variances: Float[np.ndarray, "k *points"],
    at: Float[np.ndarray, "k points"],
) -> Averages:
    """The averages of every kind of neurons, at its own variance and projections."""
    found = [
        of(sigma, c if np.ndim(c) else float(c), s)
        for sigma, c, s in zip(sigmas, variances, at, strict=True)
    ]
    return type(found[0])(*map(np.stack, zip(*found, strict=True)))


def _averages_between(sigma: Activation, variances: np.ndarray, at: np.ndarray) -> NeuronAverages:
    """Averages at one variance per point, by polynomials in it through Chebyshev's nodes."""
    from scipy.interpolate import BarycentricInterpolator

    low, high = float(np.min(variances)), float(np.max(variances))
    angles = math.pi * (2 * np.arange(VARIANCES) + 1) / (2 * VARIANCES)
    nodes = (low + high) / 2 + (high - low) / 2 * np.cos(angles)
    found = np.array([neuron_averages(sigma, float(c), at) for c in nodes])
    if high - low < 1e-12 * high:
        return NeuronAverages(*found[0])
    shares = BarycentricInterpolator(nodes, np.eye(VARIANCES))(variances)
    return NeuronAverages(*np.einsum("nc,cpn->pn", shares, found))


def slope_rest(sigma: Activation, variance: float, at: Float[np.ndarray, " points"]) -> SlopeRest:
    r"""Averages of what is left of the slope beyond its linear part.

    .. math:: \rho(z) = \sigma'(s + \sqrt c z) - w_0 - w_1\sqrt c\,z:\qquad
        \tfrac12E[z\rho\,\mathrm{He}_2],\quad E[\rho^2 z],\quad \tfrac12E[\rho^2\mathrm{He}_2],\quad
        E\rho^3,

    and the products of the parts of Hermite degree three and more of :math:`z\rho` and
    :math:`\rho^2`.

    Symbols: s ``at``, c ``variance``.

    Assumes: an activation without jumps.
    Status: theorem.
    References: Cui et al. 2024, arXiv:2402.04980, for the variance of the slope.

    >>> from giantstep.language.activations.activation import activation
    >>> found = slope_rest(activation("He3"), 1.0, np.zeros(1))  # rho = 3 He_2
    >>> round(float(found.cube[0]), 6), round(float(found.square_curve[0]), 6)
    (216.0, 36.0)
    """

    def table(values: np.ndarray, slopes: np.ndarray, z: np.ndarray, mass: np.ndarray) -> list[Any]:
        curve = z**2 - 1
        w0, w1 = mass @ slopes, (mass * z) @ slopes
        rho = slopes - w0[:, None] - w1[:, None] * z
        product, square = z * rho, rho**2

        def low(values: np.ndarray) -> np.ndarray:
            """Hermite coefficients of degree 0, 1 and 2, of orthonormal polynomials."""
            weighted = mass * values
            total = (weighted * curve).sum(1) / math.sqrt(2)
            return np.stack([weighted.sum(1), (weighted * z).sum(1), total])

        a, b = low(product), low(square)

        def beyond(left: np.ndarray, right: np.ndarray, low: np.ndarray) -> np.ndarray:
            return (mass * left * right).sum(1) - low.sum(0)

        return [
            a[2] / math.sqrt(2),
            b[1],
            b[2] / math.sqrt(2),
            (mass * square * rho).sum(1),
            beyond(product, product, a * a),
            beyond(product, square, a * b),
            beyond(square, square, b * b),
        ]

    return SlopeRest(*_tabulated_neuron_averages(sigma, variance, at, table))


def neuron_chaos(
    sigma: Activation, variance: float, at: Float[np.ndarray, " points"], degree: int
) -> Float[np.ndarray, "2 degrees points"]:
    r"""Hermite coefficients of degree 3 ... ``degree`` of z rho and of rho^2.

    .. math:: E[z\rho(z)\mathrm{He}_n(z)]/\sqrt{n!},\qquad E[\rho(z)^2\mathrm{He}_n(z)]/\sqrt{n!}

    Symbols: rho of :func:`slope_rest`; s ``at``, c ``variance``.

    Assumes: an activation without jumps.
    Status: theorem.
    References: Mehler 1866, for the sums in which they enter.

    >>> from giantstep.language.activations.activation import activation
    >>> found = neuron_chaos(activation("He3"), 1.0, np.zeros(1), 4)
    >>> [round(float(part), 6) for part in (found[0, 0, 0], found[1, 1, 0])]
    [7.348469, 44.090815]
    """

    def table(values: np.ndarray, slopes: np.ndarray, z: np.ndarray, mass: np.ndarray) -> list[Any]:
        rho = slopes - (mass @ slopes)[:, None] - ((mass * z) @ slopes)[:, None] * z
        sides = mass * rho * z, mass * rho**2
        found: list[Any] = []
        before, here = np.zeros_like(z), np.ones_like(z)
        for n in range(degree + 1):
            if n >= 3:
                found += [np.einsum("nu,nu->n", side, here) for side in sides]
            # Orthonormal Hermite polynomials, which do not overflow.
            before, here = here, (z * here - math.sqrt(n) * before) / math.sqrt(n + 1)
        return found

    found = np.stack(_tabulated_neuron_averages(sigma, variance, at, table))
    return found.reshape(-1, 2, found.shape[-1]).transpose(1, 0, 2)


def check_risk_without_jump(sigma: Activation) -> None:
    """Raise NoTheory for an activation with a jump."""
    if not sigma.is_continuous:
        raise NoTheory(
            f"activation = {sigma.name} jumps: gradient steps do not see a jump; use a continuous "
            "activation, such as erf2 or relu"
        )


def _tabulated_neuron_averages(
    sigma: Activation,
    variance: float,
    at: np.ndarray,
    table: Callable[[np.ndarray, np.ndarray, np.ndarray, np.ndarray], list[Any]],
) -> list[np.ndarray]:
    """The table's functions at every point: direct for few points, else interpolated."""
    check_risk_without_jump(sigma)
    deviation = math.sqrt(variance)
    points, where = np.unique(at, return_inverse=True)
    count = math.ceil((points[-1] - points[0]) / (SPACING * deviation)) + 8
    nodes = points if len(points) <= count else np.linspace(points[0], points[-1], count)
    # Integrals over the pre-activation, on panels that end at the kinks.
    low, high = nodes[0] - REACH * deviation, nodes[-1] + REACH * deviation
    length = min(PANEL * deviation, ABSOLUTE_PANEL)
    even = np.linspace(low, high, math.ceil((high - low) / length) + 1)
    inside = [kink for kink in sigma.kinks if low < kink < high]
    edges = np.unique(np.concatenate([even, inside]))
    u, lengths = legendre_panels(edges, ORDER)
    values, slopes = sigma.numpy(u), sigma.numpy_derivative(u)
    parts = []
    for some in np.array_split(nodes, math.ceil(len(nodes) * len(u) / CHUNK)):
        z = (u - some[:, None]) / deviation
        weights = lengths * np.exp(-(z**2) / 2)
        parts.append(table(values, slopes, z, weights / weights.sum(1, keepdims=True)))
    found = [np.concatenate(part) for part in zip(*parts, strict=True)]
    if len(points) <= count:
        return [part[where] for part in found]
    from scipy.interpolate import make_interp_spline

    values = make_interp_spline(nodes, np.stack(found, axis=1), k=5)(points)
    return list(values[where].T)
