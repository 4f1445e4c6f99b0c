"""What the language knows: its functions with the facts used about them, and its limits."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

#: Longest text accepted, typed or canonical.
MAX_CHARACTERS = 4000
#: Deepest nesting of parentheses, bars, calls, signs and powers.
MAX_DEPTH = 60
#: Largest index of a direction h or of a noise z.
MAX_INDEX = 20
#: Largest degree of a Hermite polynomial.
MAX_HERMITE = 20
#: Largest exponent.
MAX_EXPONENT = 50
#: Largest degree at which a target may grow: E[h^200] = 199!! = 6.7e186.
MAX_DEGREE = 100
#: Largest constant, and one over the smallest.
MAX_NUMBER = 1e100
#: Longest number accepted.
MAX_DIGITS = 120


@dataclass(frozen=True)
class FunctionFacts:
    """The facts about one function.

    ``growth``: how fast it grows with its argument. ``zero``: its value at 0 where that is
    rational. ``kink``: whether it has a kink or a jump where its argument is zero (for min and
    max: where two arguments meet). ``finite``: whether it takes finitely many values.
    """

    growth: Literal["bounded", "linear", "logarithmic", "exponential"]
    parity: Literal["odd", "even", "none"] = "none"
    zero: Fraction | None = None
    kink: bool = False
    finite: bool = False
    nonnegative: bool = False
    many_arguments: bool = False


_HALF = Fraction(1, 2)
_ZERO = Fraction(0)
_ONE = Fraction(1)

FUNCTIONS: dict[str, FunctionFacts] = {
    "sign": FunctionFacts("bounded", "odd", _ZERO, kink=True, finite=True),
    "step": FunctionFacts("bounded", zero=_ZERO, kink=True, finite=True, nonnegative=True),
    "relu": FunctionFacts("linear", zero=_ZERO, kink=True, nonnegative=True),
    "abs": FunctionFacts("linear", "even", _ZERO, kink=True, nonnegative=True),
    "min": FunctionFacts("linear", kink=True, many_arguments=True),
    "max": FunctionFacts("linear", kink=True, many_arguments=True),
    "tanh": FunctionFacts("bounded", "odd", _ZERO),
    "erf": FunctionFacts("bounded", "odd", _ZERO),
    "sigmoid": FunctionFacts("bounded", zero=_HALF, nonnegative=True),
    "softplus": FunctionFacts("linear", nonnegative=True),
    "gelu": FunctionFacts("linear", zero=_ZERO),
    "sin": FunctionFacts("bounded", "odd", _ZERO),
    "cos": FunctionFacts("bounded", "even", _ONE),
    "exp": FunctionFacts("exponential", zero=_ONE, nonnegative=True),
    "log": FunctionFacts("logarithmic"),
    "Phi": FunctionFacts("bounded", zero=_HALF, nonnegative=True),
}

#: ``sqrt`` is read as the power 1/2 and ``He2``..``He20`` as ``He(2, .)``..``He(20, .)``.
SPELLINGS = ("sqrt", "He", *(f"He{degree}" for degree in range(MAX_HERMITE + 1)))
