"""A root between two ends, and whether they are a bracket at all."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

#: Least relative distance that scipy accepts.
RELATIVE = 4 * 2.0**-52


class Root(NamedTuple):
    """Where a function changes sign. ``value`` is NaN, and ``converged`` False, if not found."""

    value: float
    converged: bool


def bracketed_root(
    function: Callable[[float], float],
    low: float,
    high: float,
    *,
    absolute: float = 1e-12,
    relative: float = RELATIVE,
    max_iterations: int = 500,
) -> Root:
    """The root of a function between two ends, by Brent's method.

    ``converged`` is False where the function has the same sign at both ends, or is NaN at a point
    that was asked for. Ends found by other arithmetic than ``function``, such as a scan over many
    points at once, can differ from it in the last digits: whoever has such ends must look.

    >>> root = bracketed_root(lambda x: x**3 - 8, 0.0, 10.0)
    >>> round(root.value, 9), root.converged
    (2.0, True)
    >>> bracketed_root(lambda x: x**2 + 1, 0.0, 10.0)
    Root(value=nan, converged=False)
    """
    from scipy.optimize import brentq

    left, right = function(low), function(high)
    for end, value in ((low, left), (high, right)):
        if value == 0:
            return Root(float(end), True)
    if not (left < 0 < right or right < 0 < left):
        return Root(math.nan, False)
    known = True

    def watched(x: float) -> float:
        nonlocal known
        value = function(x)
        known = known and not math.isnan(value)
        # scipy raises on NaN; any number lets it finish, and the answer is then refused.
        return value if known else 0.0

    value, report = brentq(
        watched,
        low,
        high,
        xtol=absolute,
        rtol=relative,
        maxiter=max_iterations,
        full_output=True,
        disp=False,
    )
    if not (known and report.converged):
        return Root(math.nan, False)
    return Root(float(value), True)
