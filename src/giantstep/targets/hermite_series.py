"""Polynomial targets in closed form: arithmetic of Hermite series, any degree, any rank."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from jaxtyping import Float

from giantstep.numerics.hermite import MultiIndex
from giantstep.targets.evaluate import Algebra, evaluate
from giantstep.targets.expression import Target

#: Products of terms in one expansion; (h1 + ... + h20)**4 needs about a million.
MAX_PRODUCTS = 3_000_000


class TooLarge(Exception):
    """The expansion has more terms than is reasonable; integrate numerically instead."""


class HermiteSeries:
    """sum_j a_j He_{j_1}(c_1) He_{j_2}(c_2) ... as a dictionary j -> a_j."""

    __slots__ = ("terms",)

    def __init__(self, terms: dict[MultiIndex, Any]) -> None:
        self.terms = {index: a for index, a in terms.items() if a != 0}

    def __add__(self, other: HermiteSeries) -> HermiteSeries:
        terms = dict(self.terms)
        for index, a in other.terms.items():
            terms[index] = terms.get(index, 0) + a
        return HermiteSeries(terms)

    def __sub__(self, other: HermiteSeries) -> HermiteSeries:
        return self + HermiteSeries({index: -a for index, a in other.terms.items()})

    def __mul__(self, other: HermiteSeries) -> HermiteSeries:
        if len(self.terms) * len(other.terms) > MAX_PRODUCTS:
            raise TooLarge
        terms: dict[MultiIndex, Any] = {}
        for (left, a), (right, b) in itertools.product(self.terms.items(), other.terms.items()):
            for index, weight in _linearised(left, right):
                terms[index] = terms.get(index, 0) + a * b * weight
        return HermiteSeries(terms)


@functools.lru_cache(maxsize=100_000)
def _linearised(left: MultiIndex, right: MultiIndex) -> tuple[tuple[MultiIndex, int], ...]:
    """He_a He_b = sum_m m! C(a,m) C(b,m) He_{a+b-2m}, axis by axis."""
    axes = [
        [
            (a + b - 2 * m, math.factorial(m) * math.comb(a, m) * math.comb(b, m))
            for m in range(min(a, b) + 1)
        ]
        for a, b in zip(left, right, strict=True)
    ]
    return tuple(
        (tuple(degree for degree, _ in choice), math.prod(weight for _, weight in choice))
        for choice in itertools.product(*axes)
    )


class _SeriesAlgebra(Algebra):
    def __init__(self, axes: int) -> None:
        self._constant = (0,) * axes
        self.pi = self.number(Fraction(math.pi))

    def number(self, value: Fraction) -> HermiteSeries:
        return HermiteSeries({self._constant: value})

    def power(self, base: HermiteSeries, exponent: Fraction) -> HermiteSeries:
        if len(base.terms) <= 1 and set(base.terms) <= {self._constant}:
            value = float(base.terms.get(self._constant, 0)) ** float(exponent)
            return self.number(Fraction(value))
        result = self.number(Fraction(1))
        for _ in range(int(exponent)):
            result = result * base
        return result

    def call(self, function: str, arguments: Sequence[Any]) -> Any:
        raise TooLarge


@functools.lru_cache(maxsize=256)
def hermite_series(target: Target) -> HermiteSeries | None:
    """The exact series of a polynomial target in (h_1..h_r, z_1..z_m); None for other targets.

    >>> {j: float(a) for j, a in sorted(hermite_series(Target("h1**2 + He3(h1)*h2")).terms.items())}
    {(0, 0): 1.0, (2, 0): 1.0, (3, 1): 1.0}
    """
    identity = np.eye(target.rank, dtype=int)
    return _series(target, [[Fraction(int(x)) for x in row] for row in identity])


def rotated_series(target: Target, frame: Float[np.ndarray, "r r"]) -> HermiteSeries | None:
    """The series of a polynomial target in the coordinates c of an orthonormal frame, h = c frame.

    ``frame`` has the new axes as rows.
    """
    return _series(target, frame.tolist())


def _series(target: Target, frame: Sequence[Sequence[Any]]) -> HermiteSeries | None:
    if not target.is_polynomial:
        return None
    axes = target.rank + target.noises
    unit = [tuple(int(i == axis) for i in range(axes)) for axis in range(axes)]
    variables = {
        f"h{i + 1}": HermiteSeries({unit[a]: row[i] for a, row in enumerate(frame)})
        for i in range(target.rank)
    }
    for noise in range(target.noises):
        variables[f"z{noise + 1}"] = HermiteSeries({unit[target.rank + noise]: Fraction(1)})
    try:
        return evaluate(target.tree, _SeriesAlgebra(axes), variables)
    except TooLarge:
        return None
