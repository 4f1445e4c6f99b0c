"""Ends and density of a bulk, read next to the real axis from its Stieltjes transform."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

#: Height above the axis at which a density is read, in units of the mean eigenvalue.
HEIGHT = 1e-4
#: A density below this, in the inverse unit, counts as none. Labels that are not bounded leave a
#: soft end, of which no finite network sees the last thousandth.
NOTHING = 2e-3
#: Eigenvalues at which the density is tabulated, among which its ends are sought, and halvings.
POINTS, SEARCH, HALVINGS = 64, 32, 8


class Bulk(NamedTuple):
    """The smallest and the largest eigenvalue of a bulk, and its density at some of them.

    Points at which the density was not found are left out.
    """

    low: float
    high: float
    values: Float[np.ndarray, " points"]
    density: Float[np.ndarray, " points"]


def bulk_of(transform: Callable[[complex], complex | None], unit: float, reach: float) -> Bulk:
    r"""The bulk of a measure without its mass at zero.

    .. math:: \rho(x) = \frac1\pi\,\mathrm{Im}\,m(x + i0)

    Symbols: m ``transform``, None where it is not known; the mean eigenvalue ``unit``, and the
    largest multiple of it at which there may be density, ``reach``.

    Assumes: one interval. An end below a thousandth of the unit is taken for 0.
    Status: theorem (Stieltjes inversion), to the height above the axis.
    References: Benaych-Georges, Nadakuditi 2012, arXiv:1103.2221.

    >>> semicircle = lambda z: 2 * ((z - 2) / 2 * (np.sqrt(1 - 4 / (z - 2) ** 2 + 0j) - 1))
    >>> bulk = bulk_of(lambda z: semicircle(z) / 2, 2.0, 4.0)
    >>> bulk.low, round(bulk.high, 2)
    (0.0, 4.0)
    """

    def density(x: float) -> float:
        found = transform(complex(x, HEIGHT * unit))
        return math.nan if found is None else max(found.imag / math.pi, 0.0)

    def end(outside: float, inside: float) -> float:
        for _ in range(HALVINGS):
            middle = (outside + inside) / 2
            if density(middle) * unit > NOTHING:
                inside = middle
            else:
                outside = middle
        return float(outside + inside) / 2

    # From the right inwards: each solution starts from its neighbour's.
    x = unit * np.geomspace(reach, 1e-3, SEARCH)
    dense = np.flatnonzero(np.array([density(value) * unit for value in x]) > NOTHING)
    if not len(dense):
        return Bulk(math.nan, math.nan, np.zeros(0), np.zeros(0))
    first, last = int(dense[0]), int(dense[-1])
    high = end(x[first - 1], x[first]) if first else float(x[0])
    low = end(x[last + 1], x[last]) if last + 1 < SEARCH else 0.0
    # Nodes gather at the edges, where the density is a square root.
    angles = np.pi * (np.arange(POINTS) + 0.5) / POINTS
    values = (low + high) / 2 - (high - low) / 2 * np.cos(angles)
    found = np.array([density(value) for value in values[::-1]])[::-1]
    known = np.isfinite(found)
    return Bulk(low, high, values[known], found[known])
