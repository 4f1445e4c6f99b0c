"""The tree as a SymPy expression."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from giantstep.targets.evaluate import Algebra, evaluate
from giantstep.targets.tree import Node, variables


def to_sympy(tree: Node) -> Any:
    """The SymPy expression, in real symbols of the same names; numbers stay exact.

    >>> from giantstep.targets.parser import parse
    >>> to_sympy(parse("He3(h1)/3"))
    h1**3/3 - h1
    """
    import sympy

    symbols = {name: sympy.Symbol(name, real=True) for name in variables(tree)}
    return evaluate(tree, SympyAlgebra(), symbols)


class SympyAlgebra(Algebra):
    """Exact expressions. ``step`` is Heaviside with the value 0 at 0."""

    def __init__(self) -> None:
        import sympy

        self.pi = sympy.pi

    def number(self, value: Fraction) -> Any:
        """An exact rational."""
        import sympy

        return sympy.Rational(value.numerator, value.denominator)

    def hermite(self, degree: int, x: Any) -> Any:
        """The polynomial, written in powers."""
        from sympy.polys.orthopolys import hermite_prob_poly

        return hermite_prob_poly(degree, x)

    def power(self, base: Any, exponent: Fraction) -> Any:
        """An exact power."""
        return base ** self.number(exponent)

    def call(self, function: str, arguments: Sequence[Any]) -> Any:
        """The function of the same meaning."""
        return _functions()[function](*arguments)


@functools.cache
def _functions() -> dict[str, Any]:
    import sympy

    def phi(x: Any) -> Any:
        return (1 + sympy.erf(x / sympy.sqrt(2))) / 2

    return {
        "sign": sympy.sign,
        "step": lambda x: sympy.Heaviside(x, 0),
        "relu": lambda x: sympy.Max(x, 0),
        "abs": sympy.Abs,
        "min": sympy.Min,
        "max": sympy.Max,
        "tanh": sympy.tanh,
        "erf": sympy.erf,
        "sigmoid": lambda x: 1 / (1 + sympy.exp(-x)),
        "softplus": lambda x: sympy.log(1 + sympy.exp(x)),
        "gelu": lambda x: x * phi(x),
        "sin": sympy.sin,
        "cos": sympy.cos,
        "exp": sympy.exp,
        "log": sympy.log,
        "Phi": phi,
    }
