"""Numbers as a sign and a logarithm: the size of a target where floats would overflow.

Only sizes matter here, so erf and Phi are approximated to 1e-3 by elementary functions with
the right behaviour at zero and at infinity.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from giantstep.targets.evaluate import Algebra, evaluate
from giantstep.targets.tree import Node

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


class MagnitudeAlgebra(Algebra):
    """The language over :class:`Magnitude`. Run it with numpy's warnings off."""

    pi = Magnitude.of(math.pi)

    def number(self, value: Fraction) -> Magnitude:
        """A rational number as a magnitude."""
        return _number(value)

    def power(self, base: Magnitude, exponent: Fraction) -> Magnitude:
        """Whole powers of any base, fractional powers of what is not negative."""
        if exponent.denominator == 1:
            return Magnitude(base.sign ** abs(int(exponent)), base.log * int(exponent))
        log = np.where(base.sign < 0, np.nan, base.log * float(exponent))
        return Magnitude(np.where(log == -np.inf, 0.0, 1.0), log)

    def call(self, function: str, arguments: Sequence[Magnitude]) -> Magnitude:
        """A function of the language."""
        return _FUNCTIONS[function](*arguments)


MAGNITUDE = MagnitudeAlgebra()


@functools.lru_cache(maxsize=512)
def _number(value: Fraction) -> Magnitude:
    return Magnitude.of(float(value))


def magnitude(node: Node, names: Sequence[str], points: np.ndarray) -> Magnitude:
    """The size of a node at points of shape (..., number of names)."""
    at = {name: Magnitude.of(points[..., i]) for i, name in enumerate(names)}
    result = evaluate(node, MAGNITUDE, at)
    shape = points.shape[:-1]
    return Magnitude(np.broadcast_to(result.sign, shape), np.broadcast_to(result.log, shape))


def _bounded_odd(function: Callable[[Reals], Reals], slope: float) -> Callable:
    """An odd function that is ``slope * x`` near zero."""

    def of(x: Magnitude) -> Magnitude:
        plain = x.plain()
        small = np.abs(plain) < _TINY
        with np.errstate(all="ignore"):
            value = function(np.where(small, 1.0, plain))
        log = np.where(small, x.log + math.log(slope), np.log(np.abs(value)))
        return Magnitude(np.where(small, x.sign, np.sign(value)), log)

    return of


def _oscillation(function: Callable[[Reals], Reals]) -> Callable:
    """sin and cos; beyond 1e15 their phase is lost and their size is 1."""

    def of(plain: Reals) -> Reals:
        lost = ~(np.abs(plain) < 1e15)
        return np.where(lost, 1.0, function(np.where(lost, 0.0, plain)))

    return of


def _log_sigmoid(x: Reals) -> Reals:
    return -np.logaddexp(0.0, -x)


def _log_phi(x: Reals) -> Reals:
    body = _log_sigmoid(1.5957691 * x + 0.07135 * x**3)
    tail = -(x**2) / 2 - np.log(np.maximum(-x, 1.0) * math.sqrt(2 * math.pi))
    return np.where(x < -3, tail, body)


def _positive(log: Reals) -> Magnitude:
    return Magnitude(np.ones_like(log), log)


def _relu(x: Magnitude) -> Magnitude:
    on = x.sign > 0
    return Magnitude(np.where(on, x.sign, 0.0), np.where(on, x.log, -np.inf))


def _softplus(x: Magnitude) -> Magnitude:
    plain = x.plain()
    body = np.log(np.logaddexp(0.0, np.clip(plain, -30, 30)))
    return _positive(np.where(plain > 30, x.log, np.where(plain < -30, plain, body)))


def _log(x: Magnitude) -> Magnitude:
    return Magnitude.of(np.where(x.sign < 0, np.nan, x.log))


def _larger(a: Magnitude, b: Magnitude) -> Magnitude:
    same = np.where(a.sign > 0, a.log > b.log, a.log < b.log)
    first = np.where(a.sign == b.sign, same, a.sign > b.sign)
    return Magnitude(np.where(first, a.sign, b.sign), np.where(first, a.log, b.log))


_FUNCTIONS: dict[str, Callable[..., Magnitude]] = {
    "sign": lambda x: Magnitude.of(x.sign),
    "step": lambda x: Magnitude.of(np.where(x.sign > 0, 1.0, 0.0)),
    "relu": _relu,
    "abs": lambda x: Magnitude(np.abs(x.sign), x.log),
    "min": lambda *x: -functools.reduce(_larger, [-y for y in x]),
    "max": lambda *x: functools.reduce(_larger, x),
    "tanh": _bounded_odd(np.tanh, 1.0),
    "erf": _bounded_odd(lambda x: np.tanh(1.1283792 * x + 0.10277 * x**3), 1.1283792),
    "sigmoid": lambda x: _positive(_log_sigmoid(x.plain())),
    "softplus": _softplus,
    "gelu": lambda x: x * _positive(_log_phi(x.plain())),
    "sin": _bounded_odd(_oscillation(np.sin), 1.0),
    "cos": lambda x: Magnitude.of(_oscillation(np.cos)(x.plain())),
    "exp": lambda x: _positive(x.plain()),
    "log": _log,
    "Phi": lambda x: _positive(_log_phi(x.plain())),
}
