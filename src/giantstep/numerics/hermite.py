"""Probabilists' Hermite polynomials: values, Gaussian primitives, multi-indices."""

from __future__ import annotations

import functools
import itertools
import math

import numpy as np
from jaxtyping import Float

MultiIndex = tuple[int, ...]

#: Points whose products are held at a time.
CHUNK = 8192


def hermite_values(x: Float[np.ndarray, " ..."], degree: int) -> Float[np.ndarray, "k ..."]:
    """He_0(x), ..., He_degree(x), the degree running along the first axis.

    >>> hermite_values(np.array([2.0]), 3).ravel().tolist()
    [1.0, 2.0, 3.0, 2.0]
    """
    values = np.polynomial.hermite_e.hermevander(x, degree)
    return np.moveaxis(values, -1, 0).reshape(degree + 1, *np.shape(x))


def normalised_hermite(x: Float[np.ndarray, " ..."], degree: int) -> Float[np.ndarray, "k ..."]:
    """He_k(x) / sqrt(k!) for k = 0..degree: orthonormal for a standard normal x.

    >>> normalised_hermite(np.array([2.0]), 1).ravel().tolist()
    [1.0, 2.0]
    """
    values = [np.ones_like(x), x]
    for k in range(1, degree):
        values.append((x * values[-1] - math.sqrt(k) * values[-2]) / math.sqrt(k + 1))
    return np.stack(values[: degree + 1])


def hermite_product(
    values: Float[np.ndarray, "k n r"], index: MultiIndex
) -> Float[np.ndarray, " n"]:
    """He_{j_1}(h_1) He_{j_2}(h_2) ... at each point, from :func:`hermite_values` of its entries.

    >>> hermite_product(hermite_values(np.array([[2.0, 3.0]]), 2), (2, 1)).tolist()
    [9.0]
    """
    factors = [values[k, :, axis] for axis, k in enumerate(index) if k]
    return math.prod(factors, start=values[0, :, 0])


def hermite_moments(
    weights: Float[np.ndarray, " n"], points: Float[np.ndarray, "n r"], degree: int
) -> Float[np.ndarray, " indices"]:
    """The means of weight * He_j(h) over the points, for all j of :func:`multi_indices`.

    Each He_j is a product of two halves, so that one product of matrices gives all of them.

    >>> hermite_moments(np.array([1.0, 3.0]), np.array([[1.0, 2.0], [0.0, 1.0]]), 1).tolist()
    [2.0, 0.5, 2.5]
    """
    halves, place = _halved_indices(points.shape[1], degree)
    total = np.zeros((len(halves[0]), len(halves[1])))
    for part in (slice(start, start + CHUNK) for start in range(0, len(points), CHUNK)):
        values = hermite_values(points[part], degree)
        left, right = (np.stack([hermite_product(values, j) for j in half]) for half in halves)
        total += (left * weights[part]) @ right.T
    return total[place] / len(points)


@functools.lru_cache(maxsize=64)
def _halved_indices(
    rank: int, degree: int
) -> tuple[tuple[list[MultiIndex], list[MultiIndex]], tuple[np.ndarray, np.ndarray]]:
    """Halves on different axes whose sums are the multi-indices, and which two make each."""
    found: tuple[dict[MultiIndex, int], dict[MultiIndex, int]] = ({}, {})
    places = []
    for index in multi_indices(rank, degree):
        halves = np.zeros((2, rank), dtype=int)
        for axis in sorted(np.flatnonzero(index), key=lambda axis: -index[axis]):
            lighter = int(np.argmin(halves.sum(axis=1)))
            halves[lighter, axis] = index[axis]
        keys = [tuple(half) for half in halves.tolist()]
        places.append(
            [side.setdefault(key, len(side)) for side, key in zip(found, keys, strict=True)]
        )
    left, right = np.transpose(places)
    return ([*found[0]], [*found[1]]), (left, right)


def hermite_primitives(z: Float[np.ndarray, " ..."], degree: int) -> Float[np.ndarray, "k ..."]:
    """The integrals of He_k times the Gaussian density from minus infinity to z, k = 0..degree.

    They are Phi(z) for k = 0 and -He_{k-1}(z) phi(z) for k >= 1.

    >>> float(hermite_primitives(np.array(0.0), 2)[1].round(6))
    -0.398942
    """
    from scipy.special import ndtr

    primitives = np.empty((degree + 1, *np.shape(z)))
    primitives[0] = ndtr(z)
    if degree > 0:
        density = np.exp(-(z**2) / 2) / math.sqrt(2 * math.pi)
        primitives[1:] = -hermite_values(z, degree - 1) * density
    return primitives


@functools.lru_cache(maxsize=64)
def multi_indices(rank: int, degree: int) -> tuple[MultiIndex, ...]:
    """All (j_1, ..., j_rank) with j_1 + ... + j_rank <= degree, the lower totals first.

    >>> multi_indices(2, 1)
    ((0, 0), (1, 0), (0, 1))
    """
    found = []
    for total in range(degree + 1):
        for slots in itertools.combinations_with_replacement(range(rank), total):
            found.append(tuple(slots.count(axis) for axis in range(rank)))
    return tuple(found)


def factorial(index: MultiIndex) -> int:
    """j! = j_1! j_2! ... of a multi-index."""
    return math.prod(math.factorial(j) for j in index)
