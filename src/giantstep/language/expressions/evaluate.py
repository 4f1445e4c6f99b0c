"""The value of a tree: one fold over the nodes, in whatever algebra the leaves live in."""

from __future__ import annotations

import functools
import math
import operator
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from giantstep.errors import GiantstepError
from giantstep.language.expressions.language import FUNCTIONS
from giantstep.language.expressions.magnitude import Magnitude
from giantstep.language.expressions.tree import (
    Call,
    Exponential,
    Hermite,
    Node,
    Number,
    Pi,
    Power,
    Product,
    Sum,
    Variable,
    expression_children,
    expression_variables,
    walk_expression,
)


class Algebra(ABC):
    """What a fold needs to know about its values. Values understand ``+``, ``-`` and ``*``."""

    pi: Any = math.pi

    def number(self, value: Fraction) -> Any:
        """A rational number as a value."""
        return float(value)

    def sum(self, terms: Sequence[Any]) -> Any:
        """The sum of the terms."""
        return functools.reduce(operator.add, terms)

    def product(self, factors: Sequence[Any]) -> Any:
        """The product of the factors."""
        return functools.reduce(operator.mul, factors)

    def hermite(self, degree: int, x: Any) -> Any:
        """He_k by the stable recurrence He_{k+1}(x) = x He_k(x) - k He_{k-1}(x)."""
        before, last = self.number(Fraction(1)), x
        if degree == 0:
            return before
        for k in range(1, degree):
            before, last = last, x * last - self.number(Fraction(k)) * before
        return last

    @abstractmethod
    def power(self, base: Any, exponent: Fraction) -> Any:
        """The base to a rational exponent; not a number where the base is negative."""

    @abstractmethod
    def call(self, function: str, arguments: Sequence[Any]) -> Any:
        """A function of the language applied to values."""


def evaluate_expression(
    node: Node,
    algebra: Algebra,
    variables: Mapping[str, Any],
    known: Mapping[Node, Any] | None = None,
) -> Any:
    """The value of the tree; subtrees in ``known`` are looked up instead of computed."""
    known = dict.fromkeys(_repeated_expressions(node)) | dict(known or {})
    return _value(node, algebra, variables, known)


@functools.lru_cache(maxsize=1024)
def _repeated_expressions(tree: Node) -> frozenset[Node]:
    """The subtrees that are worth remembering because they occur more than once."""
    kinds = (Power, Hermite, Call, Exponential)
    counts = Counter(part for part in walk_expression(tree) if isinstance(part, kinds))
    return frozenset(part for part, count in counts.items() if count > 1)


def _value(
    node: Node, algebra: Algebra, variables: Mapping[str, Any], known: dict[Node, Any]
) -> Any:
    match node:
        case Number(number):
            return algebra.number(number)
        case Pi():
            return algebra.pi
        case Variable(name):
            return variables[name]
        case Sum(terms):
            return algebra.sum([_value(term, algebra, variables, known) for term in terms])
        case Product(factors):
            return algebra.product([_value(f, algebra, variables, known) for f in factors])
    value = known.get(node)
    if value is None:
        below = [_value(child, algebra, variables, known) for child in expression_children(node)]
        value = _applied_expression(node, algebra, below)
        if node in known:
            known[node] = value
    return value


def _applied_expression(node: Node, algebra: Algebra, below: list[Any]) -> Any:
    match node:
        case Power(_, exponent):
            return algebra.power(below[0], exponent)
        case Hermite(degree, _):
            return algebra.hermite(degree, below[0])
        case Call(function, _):
            return algebra.call(function, below)
        case Exponential():
            return algebra.call(
                "exp", [algebra.product([below[1], algebra.call("log", below[:1])])]
            )
    raise TypeError(f"not a node: {node!r}")


class NumpyAlgebra(Algebra):
    """Arrays of any float dtype. Constants are Python floats, so they never promote an array."""

    def power(self, base: Any, exponent: Fraction) -> Any:
        """Whole powers, square roots, and powers of what is not negative."""
        if isinstance(base, float):
            return float(np.power(base, float(exponent)))
        if exponent.denominator == 1:
            return _whole_power(base, int(exponent))
        return np.sqrt(base) if exponent == Fraction(1, 2) else base ** float(exponent)

    def call(self, function: str, arguments: Sequence[Any]) -> Any:
        """A function of the language."""
        result = FUNCTIONS[function].numpy(*arguments)
        constant = all(isinstance(argument, float) for argument in arguments)
        return float(result) if constant else result


class JaxAlgebra(Algebra):
    """JAX arrays. Derivatives at kinks are finite: 0 for abs, relu and powers of zero."""

    def power(self, base: Any, exponent: Fraction) -> Any:
        """Whole powers, and powers of what is not negative."""
        import jax.numpy as jnp

        if isinstance(base, float):
            return NUMPY.power(base, exponent)
        if exponent.denominator == 1:
            return base ** int(exponent)
        # Two selections: the derivative of the branch not taken must be finite as well.
        raised = jnp.where(base == 0, 1.0, base) ** float(exponent)
        return jnp.where(base == 0, 0.0 if exponent > 0 else jnp.inf, raised)

    def call(self, function: str, arguments: Sequence[Any]) -> Any:
        """A function of the language."""
        if all(isinstance(argument, float) for argument in arguments):
            return NUMPY.call(function, arguments)
        import jax.nn
        import jax.scipy.special

        return FUNCTIONS[function].jax(jax, *arguments)


def _whole_power(base: Any, n: int) -> Any:
    """By repeated squaring: numpy's own power takes twenty times as long."""
    if n < 0:
        return 1.0 / _whole_power(base, -n)
    result, square = (base if n % 2 else base * 0.0 + 1.0), base
    while n := n // 2:
        square = square * square
        result = result * square if n % 2 else result
    return result


NUMPY = NumpyAlgebra()
JAX = JaxAlgebra()


class MagnitudeAlgebra(Algebra):
    """The language over :class:`Magnitude`. Run it with numpy's warnings off."""

    pi = Magnitude.of(math.pi)

    @functools.lru_cache(maxsize=512)  # noqa: B019 - there is one such algebra
    def number(self, value: Fraction) -> Magnitude:
        """A rational number as a magnitude."""
        return Magnitude.of(float(value))

    def power(self, base: Magnitude, exponent: Fraction) -> Magnitude:
        """Whole powers of any base, fractional powers of what is not negative."""
        if exponent.denominator == 1:
            return Magnitude(base.sign ** abs(int(exponent)), base.log * int(exponent))
        log = np.where(base.sign < 0, np.nan, base.log * float(exponent))
        return Magnitude(np.where(log == -np.inf, 0.0, 1.0), log)

    def call(self, function: str, arguments: Sequence[Magnitude]) -> Magnitude:
        """A function of the language."""
        return FUNCTIONS[function].magnitude(*arguments)


MAGNITUDE = MagnitudeAlgebra()


def expression_on_line(node: Node, name: str, x: np.ndarray) -> np.ndarray:
    """A function of one variable at each of its values."""
    with np.errstate(all="ignore"):
        return np.broadcast_to(evaluate_expression(node, NUMPY, {name: x}), x.shape)


def expression_magnitude(node: Node, names: Sequence[str], points: np.ndarray) -> Magnitude:
    """The size of a node at points of shape (..., number of names)."""
    at = {name: Magnitude.of(points[..., i]) for i, name in enumerate(names)}
    result = evaluate_expression(node, MAGNITUDE, at)
    shape = points.shape[:-1]
    return Magnitude(np.broadcast_to(result.sign, shape), np.broadcast_to(result.log, shape))


def expression_to_sympy(tree: Node) -> Any:
    """The SymPy expression, in real symbols of the same names; numbers stay exact.

    >>> from giantstep.language.expressions.parser import parse_expression
    >>> expression_to_sympy(parse_expression("He3(h1)/3"))
    h1**3/3 - h1
    """
    try:
        import sympy
    except ImportError:
        raise GiantstepError(
            "expressions in SymPy need SymPy: pip install '.[sympy]' in giantstep's folder"
        ) from None
    symbols = {name: sympy.Symbol(name, real=True) for name in expression_variables(tree)}
    return evaluate_expression(tree, SympyAlgebra(sympy), symbols)


class SympyAlgebra(Algebra):
    """Exact expressions. ``step`` is Heaviside with the value 0 at 0."""

    def __init__(self, sympy: Any) -> None:
        self.sympy, self.pi = sympy, sympy.pi

    def number(self, value: Fraction) -> Any:
        """An exact rational."""
        return self.sympy.Rational(value.numerator, value.denominator)

    def hermite(self, degree: int, x: Any) -> Any:
        """The polynomial, written in powers."""
        return self.sympy.polys.orthopolys.hermite_prob_poly(degree, x)

    def power(self, base: Any, exponent: Fraction) -> Any:
        """An exact power."""
        return base ** self.number(exponent)

    def call(self, function: str, arguments: Sequence[Any]) -> Any:
        """The function of the same meaning."""
        return FUNCTIONS[function].sympy(self.sympy, *arguments)
