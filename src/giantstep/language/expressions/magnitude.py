"""Numbers as a sign and a logarithm: the size of a target where floats would overflow.

Only sizes matter here, so erf and Phi are approximated to 1e-3 by elementary functions with
the right behaviour at zero and at infinity.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

#: An array, or the scalar into which numpy turns an array without axes.
Reals = Any

_TINY = 1e-8


@dataclass(frozen=True, eq=False)
class Magnitude:
    """An array of real numbers ``sign * exp(log)``; not a number where ``log`` is not."""

    sign: Reals
    log: Reals

    @classmethod
    def of(cls, values: Reals) -> Magnitude:
        """From plain numbers."""
        return cls(np.asarray(np.sign(values)), np.asarray(np.log(np.abs(values))))

    def plain(self) -> Reals:
        """The plain numbers, infinite where they overflow."""
        return self.sign * np.exp(self.log)

    def __add__(self, other: Magnitude) -> Magnitude:
        top = np.maximum(self.log, other.log)
        top = np.where(top == -np.inf, 0.0, top)
        total = self.sign * np.exp(self.log - top) + other.sign * np.exp(other.log - top)
        return Magnitude(np.sign(total), top + np.log(np.abs(total)))

    def __neg__(self) -> Magnitude:
        return Magnitude(-self.sign, self.log)

    def __sub__(self, other: Magnitude) -> Magnitude:
        return self + (-other)

    def __mul__(self, other: Magnitude) -> Magnitude:
        zero = (self.sign == 0) | (other.sign == 0)
        return Magnitude(
            np.where(zero, 0.0, self.sign * other.sign),
            np.where(zero, -np.inf, self.log + other.log),
        )


def odd_magnitude(
    function: Callable[[Reals], Reals], slope: float
) -> Callable[[Magnitude], Magnitude]:
    """An odd function that is ``slope * x`` near zero."""

    def of(x: Magnitude) -> Magnitude:
        plain = x.plain()
        small = np.abs(plain) < _TINY
        with np.errstate(all="ignore"):
            value = function(np.where(small, 1.0, plain))
        log = np.where(small, x.log + math.log(slope), np.log(np.abs(value)))
        return Magnitude(np.where(small, x.sign, np.sign(value)), log)

    return of


def oscillation_magnitude(function: Callable[[Reals], Reals]) -> Callable[[Magnitude], Magnitude]:
    """sin and cos; beyond 1e15 their phase is lost and their size is 1."""

    def of(plain: Reals) -> Reals:
        lost = ~(np.abs(plain) < 1e15)
        return np.where(lost, 1.0, function(np.where(lost, 0.0, plain)))

    return of


def sigmoid_magnitude(x: Reals) -> Reals:
    """log of 1/(1 + e^-x)."""
    return -np.logaddexp(0.0, -x)


def normal_magnitude(x: Reals) -> Reals:
    """log of Phi(x)."""
    body = sigmoid_magnitude(1.5957691 * x + 0.07135 * x**3)
    tail = -(x**2) / 2 - np.log(np.maximum(-x, 1.0) * math.sqrt(2 * math.pi))
    return np.where(x < -3, tail, body)


def positive_magnitude(log: Reals) -> Magnitude:
    """The number whose logarithm is given."""
    return Magnitude(np.ones_like(log), log)


def rectified_magnitude(x: Magnitude) -> Magnitude:
    """max(x, 0)."""
    on = x.sign > 0
    return Magnitude(np.where(on, x.sign, 0.0), np.where(on, x.log, -np.inf))


def softplus_magnitude(x: Magnitude) -> Magnitude:
    """log(1 + e^x)."""
    plain = x.plain()
    body = np.log(np.logaddexp(0.0, np.clip(plain, -30, 30)))
    return positive_magnitude(np.where(plain > 30, x.log, np.where(plain < -30, plain, body)))


def larger_magnitude(a: Magnitude, b: Magnitude) -> Magnitude:
    """The larger of two."""
    same = np.where(a.sign > 0, a.log > b.log, a.log < b.log)
    first = np.where(a.sign == b.sign, same, a.sign > b.sign)
    return Magnitude(np.where(first, a.sign, b.sign), np.where(first, a.log, b.log))
