"""Hermite moments of a neuron and of a link, at every scale of the pre-activation."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from numpy.polynomial import chebyshev

from giantstep.errors import NoTheory
from giantstep.language.activations.activation import Activation
from giantstep.language.targets import Target
from giantstep.language.targets.expansion import target_series
from giantstep.numerics.hermite import hermite_values
from giantstep.numerics.quadrature import legendre_panels

#: Scales sqrt(q), in Chebyshev's places, at which moments of a general activation are integrated.
SCALES = 48
#: Products of Hermite coefficients below this are zero.
NEGLIGIBLE = 1e-12


def flow_moments(target: Target) -> Float[np.ndarray, " degrees"]:
    r"""Hermite moments of a polynomial link of h1.

    .. math:: \mu^*_k = E[\sigma_*(z) He_k(z)], \quad k = 0, \dots, p

    Symbols: sigma_* the target as a function of h1, p its degree.
    Assumes: a polynomial of h1 alone.
    Status: theorem.
    References: Mousavi-Hosseini et al. 2023, arXiv:2309.03843.

    >>> flow_moments(Target("He3(h1)/sqrt(6)")).round(4).tolist()
    [0.0, 0.0, 0.0, 2.4495]
    """
    series = target_series(target) if target.rank == 1 and not target.is_random else None
    if series is None:
        raise NoTheory(
            f"target = {target.text!r}: gradient flows are predicted for polynomials of h1 alone, "
            "such as He3(h1)/sqrt(6)"
        )
    degree = max((index[0] for index in series.terms), default=0)
    found = np.zeros(degree + 1)
    for index, coefficient in series.terms.items():
        found[index[0]] = math.factorial(index[0]) * float(coefficient)
    return found


def information_exponent(target: Target) -> int:
    """The least degree above zero in a polynomial link."""
    degrees = np.flatnonzero(np.abs(flow_moments(target)) > NEGLIGIBLE)
    above = degrees[degrees > 0]
    if not len(above):
        raise NoTheory(f"target = {target.text!r} is constant: there is nothing to learn")
    return int(above[0])


def alignment_speed(activation: Activation, target: Target) -> Float[np.ndarray, " degrees"]:
    r"""Coefficients of the speed at which a neuron aligns, a polynomial in its overlap.

    .. math:: \zeta(\omega) = \sum_{j\ge1} \frac{\mu_j \mu^*_j}{(j-1)!}\, \omega^{j-1}

    Symbols: entry j-1 is the coefficient of omega^(j-1); mu_j, mu*_j the moments of ``activation``
    and of the link of ``target``.
    Assumes: a polynomial link of h1; unit pre-activations.
    Status: theorem.
    References: Mousavi-Hosseini et al. 2023, arXiv:2309.03843.

    >>> from giantstep.language.activations.activation import activation
    >>> alignment_speed(activation("relu(z-1)"), Target("He3(h1)/sqrt(6)")).round(6).tolist()
    [0.0, 0.0, 0.296352]
    """
    link = flow_moments(target)
    neuron = scaled_moments(activation, len(link) + 1).at(np.ones(1))[0][:, 0]
    return np.array(
        [neuron[j] * link[j] / math.factorial(j - 1) for j in range(1, len(link))] or [0.0]
    )


@dataclass(frozen=True, eq=False)
class ScaledMoments:
    """mu_j(q) = E[sigma(sqrt(q) z) He_j(z)] for j = 0..degree, and V'(q), V = E sigma(sqrt q z)^2.

    Interpolated in log q between 1 and ``largest``.
    """

    activation: Activation
    degree: int
    largest: float = 1.0

    def at(
        self, q: Float[np.ndarray, " points"]
    ) -> tuple[Float[np.ndarray, "degrees points"], Float[np.ndarray, " points"]]:
        """mu_0(q), ..., mu_degree(q), and V'(q) = E[sigma(sqrt(q) z)^2 He_2(z)]/(2q)."""
        angle = np.arccos(np.clip(2 * np.log(q) / self._length - 1, -1, 1))
        found = self._fit.T @ np.cos(np.arange(SCALES)[:, None] * angle)
        return found[:-1], found[-1]

    @property
    def _length(self) -> float:
        return math.log(max(self.largest, 1.1)) * (1 + 1e-9)

    @functools.cached_property
    def _fit(self) -> np.ndarray:
        """Coefficients of Chebyshev polynomials of log q, which runs from -1 to 1."""
        places = chebyshev.chebpts1(SCALES)
        values = [self._integrated(math.exp(self._length * (x + 1) / 2)) for x in places]
        return chebyshev.chebfit(places, np.array(values), SCALES - 1)

    def _integrated(self, q: float) -> np.ndarray:
        u, weights = _flow_scaled_rule(self.activation.kinks, math.sqrt(q))
        values, z = self.activation.numpy(u), u / math.sqrt(q)
        slope = weights @ (values**2 * (z**2 - 1)) / (2 * q)
        return np.append(hermite_values(z, self.degree) @ (weights * values), slope)


#: The moments of an activation up to a degree, for q from 1 to the largest; the last are kept.
scaled_moments = functools.lru_cache(maxsize=64)(ScaledMoments)


def _flow_scaled_rule(kinks: tuple[float, ...], root: float) -> tuple[np.ndarray, np.ndarray]:
    """Nodes u = sqrt(q) z and weights of E[f(u)]: panels as short as the activation varies."""
    reach = 11.0 * root
    grid = [0.0]
    while grid[-1] < reach:
        grid.append(grid[-1] + min(max(0.5, 0.2 * grid[-1]), 0.5 * root))
    edges = {round(sign * edge, 12) for edge in grid for sign in (-1, 1)} | {*kinks}
    corners = np.array(sorted(edge for edge in edges if abs(edge) <= grid[-1]))
    nodes, lengths = legendre_panels(corners, 24)
    weights = lengths * np.exp(-((nodes / root) ** 2) / 2)
    return nodes, weights / weights.sum()
