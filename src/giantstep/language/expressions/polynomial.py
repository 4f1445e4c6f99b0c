"""Polynomials with rational coefficients over generators: the normal form's arithmetic.

A generator is whatever cannot be expanded: a variable, pi, a function of a normal form, a sum
in parentheses. Generators are the same when their canonical texts are. A polynomial is written
in monomials or in Hermite polynomials, whichever takes fewer terms.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from giantstep.errors import TargetError
from giantstep.language.expressions.evaluate import NUMPY, evaluate_expression
from giantstep.language.expressions.language import (
    FUNCTIONS,
    MAX_CHARACTERS,
    MAX_EXPONENT,
    MAX_HERMITE,
    MAX_NUMBER,
)
from giantstep.language.expressions.printing import expression_text
from giantstep.language.expressions.tree import (
    Call,
    Hermite,
    Node,
    Number,
    Power,
    Product,
    Variable,
    expression_variables,
    sum_expression,
    walk_expression,
)

#: Products and powers are multiplied out up to this many monomials ...
MAX_EXPANSION = 100
#: ... and stay multiplied out if they can be written with this many terms.
MAX_TERMS = 40
#: Coefficients longer than this are rounded to float64: in arithmetic, and when written. In
#: arithmetic, sums of float64 numbers from 1e-100 to 1e100 stay exact, so that what cancels does.
MAX_BITS, MAX_WRITTEN_BITS = 1200, 110
#: A number beyond MAX_NUMBER, or below one over it, is longer than this.
_BITS_WITHIN_RANGE = 300
#: Functions whose products and powers simplify, see ``arithmetic``.
LAWFUL_FUNCTIONS = frozenset({"exp", "sign", "step", "abs"})


TOO_LONG = f"written out it has more than {MAX_CHARACTERS} characters"


class Unusable(TargetError):
    """Why an expression cannot be a target; the caller puts the text in front."""


def variable_order(text: str) -> tuple[str | int, ...]:
    """A sorting key that puts h2 before h10."""
    pieces = re.split(r"(\d+)", text)
    return tuple(int(piece) if i % 2 else piece for i, piece in enumerate(pieces))


@dataclass(frozen=True, slots=True, eq=False)
class Generator:
    """An atom of the normal form. ``parts`` are the normal forms it was made from.

    A group is a polynomial in parentheses: multiplying it out would be too long.
    """

    node: Node
    parts: tuple[Polynomial, ...] = ()
    is_group: bool = False
    text: str = field(init=False)
    order: tuple[Any, ...] = field(init=False)
    constant: bool = field(init=False)
    has_laws: bool = field(init=False)

    def __post_init__(self) -> None:
        names, text = expression_variables(self.node), expression_text(self.node)
        if len(text) > MAX_CHARACTERS:
            raise Unusable(TOO_LONG)
        rank = 0 if not names else 1 if isinstance(self.node, Variable) else 2
        lawful = isinstance(self.node, Call) and self.node.function in LAWFUL_FUNCTIONS
        object.__setattr__(self, "text", text)
        object.__setattr__(self, "constant", not names)
        object.__setattr__(self, "has_laws", lawful or isinstance(self.node, Power))
        object.__setattr__(
            self, "order", (rank, sorted(map(variable_order, names)), variable_order(text))
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Generator) and self.text == other.text

    def __hash__(self) -> int:
        return hash(self.text)


#: Generators with their non-zero exponents, in canonical order.
Monomial = tuple[tuple[Generator, int], ...]
Polynomial = dict[Monomial, Fraction]


def constant_polynomial(value: Fraction | int) -> Polynomial:
    """A rational number as a polynomial."""
    return {(): Fraction(value)} if value else {}


def generator_polynomial(node: Node, *parts: Polynomial) -> Polynomial:
    """A generator as a polynomial."""
    return {((Generator(node, parts), 1),): Fraction(1)}


def polynomial_as_rational(polynomial: Polynomial) -> Fraction | None:
    """The value of a polynomial that is a rational number, else None."""
    if not polynomial:
        return Fraction(0)
    return polynomial.get(()) if len(polynomial) == 1 else None


def is_constant_polynomial(polynomial: Polynomial) -> bool:
    """Whether no generator depends on a variable."""
    return all(g.constant for monomial in polynomial for g, _ in monomial)


def checked_coefficient(value: Fraction) -> Fraction:
    """The coefficient, rounded if it is very long, refused if it is out of range."""
    if _coefficient_bits(value) > _BITS_WITHIN_RANGE:
        # Whole numbers throughout: a long numerator or denominator is beyond float64.
        numerator, denominator, most = abs(value.numerator), value.denominator, int(MAX_NUMBER)
        if numerator > most * denominator or numerator * most < denominator:
            raise Unusable(f"a constant in it is not between {1 / MAX_NUMBER:g} and {MAX_NUMBER:g}")
    return value if _coefficient_bits(value) <= MAX_BITS else _rounded_coefficient(value)


def written_coefficient(value: Fraction) -> Fraction:
    """The number as it is written: rounded to float64 if it is long."""
    return value if is_short_coefficient(value) else _rounded_coefficient(value)


def is_short_coefficient(value: Fraction | int) -> bool:
    """Whether a number is short enough to be written with all of its digits."""
    return value.numerator.bit_length() + value.denominator.bit_length() <= MAX_WRITTEN_BITS


def _coefficient_bits(value: Fraction) -> int:
    return value.numerator.bit_length() + value.denominator.bit_length()


def _rounded_coefficient(value: Fraction) -> Fraction:
    return Fraction(repr(float(value)))


def add_polynomials(*polynomials: Polynomial) -> Polynomial:
    """The sum."""
    total: Polynomial = {}
    for polynomial in polynomials:
        for monomial, coefficient in polynomial.items():
            total[monomial] = total.get(monomial, Fraction(0)) + coefficient
    return {monomial: checked_coefficient(c) for monomial, c in total.items() if c}


def scaled_polynomial(polynomial: Polynomial, factor: Fraction) -> Polynomial:
    """The polynomial times a number."""
    if factor == 1:
        return polynomial
    return {m: checked_coefficient(c * factor) for m, c in polynomial.items()} if factor else {}


def monomial_of_exponents(exponents: dict[Generator, int]) -> Monomial:
    """The monomial with these exponents."""
    if any(abs(exponent) > MAX_EXPONENT for exponent in exponents.values()):
        raise Unusable(f"an exponent in it is beyond {MAX_EXPONENT}")
    present = [(g, e) for g, e in exponents.items() if e]
    return tuple(sorted(present, key=lambda pair: pair[0].order))


def _ordered_polynomial_terms(polynomial: Polynomial) -> list[tuple[Monomial, Fraction]]:
    """The terms in reading order: polynomials of the variables by degree, functions, number."""
    return sorted(polynomial.items(), key=lambda term: _monomial_reading_order(term[0]))


def _monomial_reading_order(monomial: Monomial) -> tuple[Any, ...]:
    varying = tuple((g.order, -e) for g, e in monomial if not g.constant)
    functions = any(g.order[0] == 2 for g, _ in monomial)
    every = tuple((g.order, -e) for g, e in monomial)
    return (not varying, functions, _degree(monomial), varying, every)


def _in_hermite(polynomial: Polynomial) -> Polynomial | None:
    """The same polynomial in the Hermite basis: an exponent k from 2 to 20 now means He_k.

    None if that gets longer on the way.

    .. math:: x^n = \\sum_m \\frac{n!}{2^m m! (n-2m)!} He_{n-2m}(x)
    """
    longest = 2 * len(polynomial) + 20
    bases = {g for m in polynomial for g, e in m if _is_hermite(g, e)}
    for base in sorted(bases, key=lambda g: g.order):
        converted: Polynomial = {}
        for monomial, coefficient in polynomial.items():
            n = next((e for g, e in monomial if g == base and _is_hermite(g, e)), 0)
            for m in range(n // 2 + 1):
                weight = math.factorial(n) // (2**m * math.factorial(m) * math.factorial(n - 2 * m))
                lowered = ((g, e - 2 * m if g == base else e) for g, e in monomial)
                term = tuple(pair for pair in lowered if pair[1]) if m else monomial
                converted[term] = converted.get(term, Fraction(0)) + coefficient * weight
        polynomial = {monomial: c for monomial, c in converted.items() if c}
        if len(polynomial) > longest:
            return None
    return polynomial


def _is_hermite(base: Generator, exponent: int) -> bool:
    return 2 <= exponent <= MAX_HERMITE and not base.constant


def is_hermite_polynomial(polynomial: Polynomial) -> bool:
    """Whether no exponent is beyond the Hermite polynomials of the language."""
    return all(e <= MAX_HERMITE or g.constant for m in polynomial for g, e in m)


def shortest_polynomial(polynomial: Polynomial) -> tuple[Polynomial, bool]:
    """The basis with fewer terms, and whether it is the Hermite one.

    A tie goes to monomials up to degree 2; beyond, to the smaller coefficients, which also mean
    less cancellation, and then to Hermite polynomials.
    """
    degree = max((sum(e for g, e in m if e > 0 and not g.constant) for m in polynomial), default=0)
    if degree < 2:
        return polynomial, False
    hermite = _in_hermite(polynomial)
    if hermite is None:
        return polynomial, False

    fewer = len(hermite) < len(polynomial)
    if fewer or (degree > 2 and _polynomial_cost(hermite) <= _polynomial_cost(polynomial)):
        return hermite, True
    return polynomial, False


def _polynomial_cost(basis: Polynomial) -> tuple[int, Fraction]:
    return len(basis), sum((abs(c) for c in basis.values()), Fraction(0))


def leading_coefficient(polynomial: Polynomial) -> Fraction:
    """The coefficient of the first of the terms of highest degree."""
    terms = _ordered_polynomial_terms(shortest_polynomial(polynomial)[0])
    return max(terms, key=lambda term: _degree(term[0]))[1]


def _degree(monomial: Monomial) -> int:
    return sum(e for g, e in monomial if not g.constant)


def polynomial_expression(polynomial: Polynomial) -> Node:
    """The tree of a polynomial, in its shorter basis and in reading order."""
    terms, hermite = shortest_polynomial(polynomial)
    if not hermite and not all(map(is_short_coefficient, terms.values())):
        # Rounded, z1**2 - 0.99999999999999999999 is He2(z1), and must be written as such.
        terms, hermite = shortest_polynomial({m: written_coefficient(c) for m, c in terms.items()})
    if not terms:
        return Number(Fraction(0))
    in_order = _ordered_polynomial_terms(terms)
    if in_order[0][1] < 0 and in_order[-1][0] == () and in_order[-1][1] > 0:
        in_order = [in_order[-1], *in_order[:-1]]
    return sum_expression(
        [_polynomial_term(monomial, coefficient, hermite) for monomial, coefficient in in_order]
    )


def _polynomial_term(monomial: Monomial, coefficient: Fraction, hermite: bool) -> Node:
    coefficient = written_coefficient(coefficient)
    factors: list[Node] = []
    for base, exponent in monomial:
        under_root = _whole_under_root(base.node)
        if under_root and exponent == 1 and coefficient.denominator % under_root == 0:
            exponent, coefficient = -1, coefficient * under_root
        if exponent == 1:
            factors.append(base.node)
        elif hermite and _is_hermite(base, exponent):
            factors.append(Hermite(exponent, base.node))
        elif exponent == -1 and isinstance(base.node, Power):
            factors.append(Power(base.node.base, -base.node.exponent))
        else:
            factors.append(Power(base.node, Fraction(exponent)))
    if coefficient != 1 or not factors:
        factors.insert(0, Number(coefficient))
    return factors[0] if len(factors) == 1 else Product(tuple(factors))


def _whole_under_root(node: Node) -> int:
    """n if the node is the square root of a whole number n, else 0."""
    match node:
        case Power(Number(value), exponent) if exponent == Fraction(1, 2):
            return int(value) if value.denominator == 1 else 0
    return 0


#: What is left of zero after rounding: sin(pi) is 1.2e-16 in float64.
CANCELLED = 1e-12


def constant_polynomial_value(polynomial: Polynomial) -> float:
    """The value of a constant."""
    with np.errstate(all="ignore"):
        value = float(evaluate_expression(polynomial_expression(polynomial), NUMPY, {}))
    if not math.isfinite(value) or abs(value) > MAX_NUMBER:
        shown = expression_text(polynomial_expression(polynomial))[:60]
        raise Unusable(f"{shown} is not a finite number below {MAX_NUMBER:g}")
    return value


def is_zero_polynomial(polynomial: Polynomial) -> bool:
    """Whether it is the constant zero, as far as float64 can tell."""
    if polynomial_as_rational(polynomial) is not None or not is_constant_polynomial(polynomial):
        return not polynomial
    terms = [
        constant_polynomial_value({monomial: coefficient})
        for monomial, coefficient in polynomial.items()
    ]
    oscillations = [
        constant_polynomial_value(monomial_of(base))
        for base, _ in next(iter(polynomial))
        if len(terms) == 1 and isinstance(base.node, Call) and base.node.function in ("sin", "cos")
    ]
    cancels = abs(sum(terms)) <= CANCELLED * sum(map(abs, terms))
    return cancels or any(abs(value) < CANCELLED for value in oscillations)


def is_nonnegative_polynomial(polynomial: Polynomial) -> bool:
    """Whether it is plainly nowhere negative: a sum of positive multiples of such terms."""
    return all(
        coefficient > 0 and all(n % 2 == 0 or _is_nonnegative(base) for base, n in monomial)
        for monomial, coefficient in polynomial.items()
    )


def _is_nonnegative(base: Generator) -> bool:
    if base.constant:
        return constant_polynomial_value(monomial_of(base)) >= 0
    if base.is_group:
        return is_nonnegative_polynomial(base.parts[0])
    match base.node:
        case Call(function, _):
            return FUNCTIONS[function].values != "any"
        case Power(_, exponent):
            return exponent.denominator > 1
    return False


def is_smooth_polynomial(polynomial: Polynomial) -> bool:
    """Whether it is analytic, so that it vanishes almost nowhere unless it is zero."""
    return not any(
        (isinstance(part, Call) and FUNCTIONS[part.function].kink)
        or (isinstance(part, Power) and part.exponent.denominator > 1)
        for monomial in polynomial
        for base, _ in monomial
        for part in walk_expression(base.node)
    )


def monomial_of(base: Generator) -> Polynomial:
    """A generator as a polynomial."""
    return {((base, 1),): Fraction(1)}


def exp_of_polynomial(x: Polynomial) -> Polynomial:
    """exp of a polynomial."""
    if not x:
        return constant_polynomial(1)
    result = generator_polynomial(Call("exp", (polynomial_expression(x),)), x)
    if is_constant_polynomial(x):
        constant_polynomial_value(result)
    return result


def abs_of_generator(base: Generator) -> Polynomial:
    """The absolute value of a generator."""
    plain = monomial_of(base)
    if base.constant and constant_polynomial_value(plain) < 0:
        return {((base, 1),): Fraction(-1)}
    return (
        plain
        if is_nonnegative_polynomial(plain)
        else generator_polynomial(Call("abs", (base.node,)), plain)
    )


def sign_of_monomial(monomial: Monomial) -> Polynomial:
    """The sign of a monomial: positive factors and even powers do not count."""
    front, kept = Fraction(1), {}
    for base, n in monomial:
        if base.constant:
            front *= 1 if n % 2 == 0 or constant_polynomial_value(monomial_of(base)) > 0 else -1
        elif isinstance(base.node, Variable):
            kept[base] = n % 2
        elif not (
            isinstance(base.node, Call) and FUNCTIONS[base.node.function].values == "positive"
        ):
            even = 0 if is_smooth_polynomial(monomial_of(base)) else 2
            kept[base] = (1 if n % 2 else even) * (1 if n > 0 else -1)
    x: Polynomial = {monomial_of_exponents(kept): Fraction(1)}
    if not any(kept.values()):
        return constant_polynomial(front)
    return {((Generator(Call("sign", (polynomial_expression(x),)), (x,)), 1),): front}
