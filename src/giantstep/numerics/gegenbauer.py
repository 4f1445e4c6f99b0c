"""Functions of one coordinate of a point on a sphere: quadrature, orthonormal Gegenbauer, radii."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from giantstep.numerics.quadrature import NodesAndWeights, legendre_panels

#: In standard deviations of one coordinate; degree-30 polynomials have died out there.
REACH = 16.0
PANEL_LENGTH = 0.5
PANEL_ORDER = 20


def harmonic_dimension(degree: int, dim: float) -> float:
    """N_k = C(d+k-1, k) - C(d+k-3, k-2), the number of spherical harmonics of one degree.

    >>> [round(harmonic_dimension(k, 3)) for k in range(5)]
    [1, 3, 5, 7, 9]
    """
    if degree == 0:
        return 1.0
    rising = math.fsum(math.log(dim - 1 + i) for i in range(degree - 1)) - math.lgamma(degree + 1)
    logarithm = rising + math.log(dim + 2 * degree - 2)
    return math.exp(logarithm) if logarithm < 700 else math.inf


def coordinate_rule(dim: float, kinks: Sequence[float] = ()) -> NodesAndWeights:
    """Nodes t and weights of E[f(t)] with density (1 - t^2)^((d-3)/2), split at the kinks.

    In the angle t = sin(delta) the density is cos(delta)^(d-2): smooth to both ends, and
    resolved near 0 where it concentrates when d is large.

    >>> t, weights = coordinate_rule(10.0)
    >>> round(float(weights @ t**2), 12)
    0.1
    """
    reach = min(math.pi / 2, REACH / math.sqrt(dim))
    corners = [math.asin(k) for k in kinks if -1 < k < 1 and abs(math.asin(k)) < reach]
    corners = [-reach, *sorted(set(corners)), reach]
    edges: list[float] = []
    for low, high in itertools.pairwise(corners):
        panels = math.ceil((high - low) * math.sqrt(dim) / PANEL_LENGTH)
        edges.extend(np.linspace(low, high, max(panels, 4) + 1)[:-1])
    angle, lengths = legendre_panels(np.array([*edges, reach]), PANEL_ORDER)
    t = np.sin(angle)
    weights = lengths * np.exp((dim - 2) / 2 * np.log1p(-np.minimum(t**2, 1 - 1e-16)))
    return t, weights / weights.sum()


def orthonormal_gegenbauer(
    t: Float[np.ndarray, " points"], degree: int, dim: float
) -> Float[np.ndarray, "{degree}+1 points"]:
    """Polynomials p_k(t), k = 0..degree, orthonormal for one coordinate t of a unit vector.

    p_k = sqrt(N_k) P_k with P_k(1) = 1, and p_k(h/sqrt(d)) tends to He_k(h)/sqrt(k!).

    >>> p = orthonormal_gegenbauer(np.array([1.0]), 2, 3.0)
    >>> [round(float(value) ** 2, 9) for value in p[:, 0]]
    [1.0, 3.0, 5.0]
    """
    values = [np.ones_like(t), math.sqrt(dim) * t]
    for k in range(1, degree):
        rise, fall = _gegenbauer_off_diagonal(k + 1, dim), _gegenbauer_off_diagonal(k, dim)
        values.append((t * values[k] - fall * values[k - 1]) / rise)
    return np.stack(values[: degree + 1])


def _gegenbauer_off_diagonal(k: int, dim: float) -> float:
    if k == 1:
        return 1 / math.sqrt(dim)
    return math.sqrt(k * (k + dim - 3) / ((2 * k + dim - 2) * (2 * k + dim - 4)))


def gaussian_radii(dim: float, order: int) -> NodesAndWeights:
    """Nodes and weights for the norm of N(0, I_d): generalised Gauss-Laguerre in rho^2 / 2.

    >>> radii, weights = gaussian_radii(50.0, 6)
    >>> round(float(weights @ radii**4), 6)
    2600.0
    """
    from scipy.linalg import eigh_tridiagonal

    k = np.arange(order)
    nodes, vectors = eigh_tridiagonal(2 * k + dim / 2, np.sqrt(k[1:] * (k[1:] + dim / 2 - 1)))
    return np.sqrt(2 * nodes), vectors[0] ** 2


def even_moment_on_sphere(m: int, dim: float) -> float:
    """E[t^m] of one coordinate of a unit vector in ``dim`` dimensions, for even m.

    >>> even_moment_on_sphere(2, 10.0)
    0.1
    """
    return math.prod((2 * i + 1) / (dim + 2 * i) for i in range(m // 2))
