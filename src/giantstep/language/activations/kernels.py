"""Inner-product kernels F(<x, x'>/d): the exponential, polynomials, arc-cosine kernels."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from giantstep.errors import SettingsError, TargetError
from giantstep.language.expressions.normal import normal_form
from giantstep.language.expressions.parser import parse_expression

#: Powers kept of an infinite series. Inputs of squared norm up to 20 d need no more.
SERIES_LENGTH = 96
_REMEDY = "use exp, arccos0, arccos1, a polynomial such as 1+t+t^2/2, or coefficients 1,1,0.5"


@dataclass(frozen=True, eq=False)
class KernelFunction:
    r"""A kernel :math:`F(s) = \sum_j F_j s^j`, :math:`F_j \ge 0`, of s = <x, x'>/d.

    ``order`` is None, or the order of an arc-cosine kernel, which also uses the norms:
    :math:`(|x||x'|/d)^{order} F(\cos(x, x'))`, the kernel of infinitely many random neurons.
    """

    name: str
    series: Float[np.ndarray, " powers"]
    profile: Callable[[Any], Any]
    order: int | None = None

    @property
    def is_polynomial(self) -> bool:
        """Whether the series ends: then ``series`` is all of it."""
        return len(self.series) < SERIES_LENGTH

    def power(self, j: int) -> float:
        """The coefficient F_j of s^j."""
        return float(self.series[j]) if j < len(self.series) else 0.0

    def total_above(self, degree: int) -> float:
        """The sum of F_j over j > degree, which is the effective ridge that those powers add."""
        return float(self.profile(1.0)) - math.fsum(self.series[: degree + 1])

    def matrix(
        self, left: Float[np.ndarray, "n d"], right: Float[np.ndarray, "m d"]
    ) -> Float[np.ndarray, "n m"]:
        """The kernel between the rows of two matrices.

        >>> round(float(kernel("exp").matrix(np.ones((1, 4)), np.ones((1, 4)))[0, 0]), 6)
        2.718282
        """
        inner = left @ right.T / left.shape[1]
        if self.order is None:
            return self.profile(inner)
        norms = np.sqrt(np.mean(left**2, axis=1)[:, None] * np.mean(right**2, axis=1)[None, :])
        values = self.profile(np.clip(inner / norms, -1.0, 1.0))
        return values if self.order == 0 else norms * values


def _arc_cosine_kernel_series(order: int) -> np.ndarray:
    # arcsin t = sum_k C(2k, k) / (4^k (2k + 1)) t^(2k+1), and the order-1 kernel integrates it.
    arcsine = np.zeros(SERIES_LENGTH)
    coefficient = 1.0
    for k in range(SERIES_LENGTH // 2):
        arcsine[2 * k + 1] = coefficient / (2 * k + 1)
        coefficient *= (2 * k + 1) / (2 * k + 2)
    series = arcsine / np.pi
    series[0] += 0.5
    if order == 0:
        return series
    return np.polynomial.polynomial.polyint(series, k=[1 / np.pi])[:SERIES_LENGTH]


def _arccos0(t: Any) -> Any:
    return 0.5 + np.arcsin(t) / np.pi


def _arccos1(t: Any) -> Any:
    return (np.sqrt(1 - np.square(t)) + t * (np.pi / 2 + np.arcsin(t))) / np.pi


def _coefficients(text: str) -> list[float]:
    """The coefficients of a polynomial in t, or of a comma-separated list."""
    try:
        if "," in text:
            return [float(part) for part in text.split(",")]
        terms = normal_form(parse_expression(text, ("t",)))
        if any(base.text != "t" or n < 0 for monomial in terms for base, n in monomial):
            raise ValueError(f"{text} is no polynomial in t")
    except (ValueError, TargetError):
        raise SettingsError(f"kernel = {text[:60]!r} cannot be read: {_REMEDY}") from None
    powers = {sum(n for _, n in monomial): float(c) for monomial, c in terms.items()}
    return [powers.get(j, 0.0) for j in range(max(powers, default=0) + 1)]


@functools.lru_cache(maxsize=64)
def kernel(given: str) -> KernelFunction:
    """The kernel of that name, polynomial in t, or list of coefficients.

    >>> kernel("1 + t + t^2/2").series.tolist()
    [1.0, 1.0, 0.5]
    """
    if given == "exp":
        factorials = np.cumprod([1.0, *range(1, SERIES_LENGTH)])
        return KernelFunction("exp", 1 / factorials, np.exp)
    if given in ("arccos0", "arccos1"):
        order = int(given[-1])
        profile = _arccos1 if order else _arccos0
        return KernelFunction(given, _arc_cosine_kernel_series(order), profile, order)
    series = np.array(_coefficients(given))
    if len(series) > 21:
        power = len(series) - 1
        raise SettingsError(f"kernel = {given[:60]!r} has power {power}, beyond 20: {_REMEDY}")
    if np.any(series < 0):
        raise SettingsError(f"kernel = {given[:60]!r} has a negative coefficient: {_REMEDY}")
    if not (np.all(np.isfinite(series)) and np.any(series[1:] > 0)):
        raise SettingsError(f"kernel = {given[:60]!r} is constant or not finite: {_REMEDY}")
    return KernelFunction(given, series, np.polynomial.Polynomial(series))
