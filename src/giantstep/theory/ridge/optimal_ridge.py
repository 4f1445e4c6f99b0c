"""The ridge with the least predicted risk, by the slope of the risk."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

from giantstep.errors import NoTheory
from giantstep.numerics.solve import bracketed_root

#: Ridges between which the best one is looked for, and the points of the first look.
RANGE = (1e-8, 1e6)
FIRST_LOOK = 57


class BestRidge(NamedTuple):
    """The best ridge, the risk there, and whether it lies inside the range that was searched."""

    ridge: float
    risk: float
    interior: bool

    @property
    def optimum(self) -> float:
        """The best ridge; NaN where the risk is least at an end of the range: there is none."""
        return self.ridge if self.interior else math.nan


def optimal_ridge(
    risk: Callable[[float], float],
    slope: Callable[[float], float],
    low: float = RANGE[0],
    high: float = RANGE[1],
) -> BestRidge:
    r"""The minimum of a risk over the ridge, from its value and derivative.

    .. math:: \lambda^* = \arg\min_{\lambda} R(\lambda), \qquad
        \frac{dR}{d\lambda}(\lambda^*) = 0 .

    A coarse look over log-spaced ridges finds the valley, then the zero of the slope is bracketed;
    where the slope has the same sign on both sides of the valley, the risk itself is minimised.
    When the risk is least at an end of the range, that end is returned with ``interior`` False.

    Symbols: ``risk`` and ``slope`` map a ridge to R and to dR/d lambda; the derivative comes from
    the implicit function theorem, so that it costs no more than one fixed point.

    Assumes: a risk with at most one valley between two points of the first look.
    Status: theorem
    References: Dobriban, Wager 2015, arXiv:1507.03003 (the optimal ridge of a predicted risk).

    >>> best = optimal_ridge(lambda x: x + 4 / x, lambda x: 1 - 4 / x**2)
    >>> round(best.ridge, 9), best.interior
    (2.0, True)
    """
    step = (high / low) ** (1 / (FIRST_LOOK - 1))
    ridges = [low * step**i for i in range(FIRST_LOOK)]
    risks = [risk(ridge) for ridge in ridges]
    known = [i for i, value in enumerate(risks) if math.isfinite(value)]
    if not known:
        raise NoTheory(f"ridge: no finite risk between {low:g} and {high:g}; try other sizes")
    best = min(known, key=lambda i: risks[i])
    if best in (0, FIRST_LOOK - 1):
        return BestRidge(ridges[best], risks[best], False)

    def steepness(logarithm: float) -> float:
        return math.exp(logarithm) * slope(math.exp(logarithm))

    ends = math.log(ridges[best - 1]), math.log(ridges[best + 1])
    root = bracketed_root(steepness, *ends, relative=1e-12)
    logarithm = root.value
    if not root.converged:
        from scipy.optimize import minimize_scalar

        logarithm = minimize_scalar(lambda x: risk(math.exp(x)), bounds=ends, method="bounded").x
    ridge = math.exp(logarithm)
    return BestRidge(ridge, risk(ridge), True)
