"""Products and powers of normal forms, and the laws that generators obey in them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from fractions import Fraction

from giantstep.language.expressions.language import MAX_EXPONENT, MAX_NUMBER
from giantstep.language.expressions.polynomial import (
    MAX_EXPANSION,
    MAX_TERMS,
    Generator,
    Monomial,
    Polynomial,
    Unusable,
    abs_of_generator,
    add_polynomials,
    checked_coefficient,
    constant_polynomial,
    constant_polynomial_value,
    exp_of_polynomial,
    generator_polynomial,
    is_constant_polynomial,
    is_hermite_polynomial,
    is_nonnegative_polynomial,
    is_short_coefficient,
    is_smooth_polynomial,
    is_zero_polynomial,
    leading_coefficient,
    monomial_of,
    monomial_of_exponents,
    polynomial_as_rational,
    polynomial_expression,
    scaled_polynomial,
    shortest_polynomial,
    sign_of_monomial,
    written_coefficient,
)
from giantstep.language.expressions.printing import expression_text
from giantstep.language.expressions.tree import Call, Hermite, Node, Number, Power

Exponents = dict[Generator, int]
_HALF = Fraction(1, 2)
#: Products of two terms, and terms of joined exponents, that one expression may take: at most
#: about a second.
MAX_WORK = 3_000
#: Characters of an exponential that take as long to join as one term.
PRINTED = 50


@dataclass
class _Workbench:
    """What is at hand while one expression is brought to normal form."""

    expansions: dict[Monomial, Polynomial] = field(default_factory=dict)
    normal_forms: dict[Node, Polynomial] = field(default_factory=dict)
    work: int = 0

    def spend(self, products: int) -> None:
        self.work += products
        if self.work > MAX_WORK:
            raise Unusable("it takes too long to multiply out: use lower powers or fewer terms")


_workbench: ContextVar[_Workbench] = ContextVar("workbench")


@contextmanager
def expression_workbench() -> Iterator[None]:
    """The context in which products and powers are computed."""
    token = _workbench.set(_Workbench())
    try:
        yield
    finally:
        _workbench.reset(token)


def known_normal_forms() -> dict[Node, Polynomial]:
    """The parts of the expression that were brought to normal form already."""
    return _workbench.get().normal_forms


def polynomial_product(factors: Iterable[tuple[Polynomial, int]]) -> Polynomial:
    """The product of polynomials to whole powers, multiplied out where that stays short."""
    coefficient, exponents, vanishes = Fraction(1), Exponents(), False
    for polynomial, n in factors:
        if n < 0 and is_zero_polynomial(polynomial):
            raise Unusable("it divides by zero")
        if polynomial:
            coefficient *= _multiply_in(exponents, polynomial, n)
        elif n > 0:
            vanishes = True
    if vanishes:
        return {}
    coefficient *= _apply_laws(exponents)
    return scaled_polynomial(_multiplied_out(exponents), coefficient)


def _multiplied_out(exponents: Exponents) -> Polynomial:
    for base, n in exponents.items():
        if base.constant and abs(n) > 1:
            _check_size(constant_polynomial_value(monomial_of(base)), n)
    return _expansion(monomial_of_exponents(exponents))


def _expansion(monomial: Monomial) -> Polynomial:
    """The monomial, its groups multiplied out if that is short."""
    done = _workbench.get().expansions
    if monomial not in done:
        done[monomial] = _expanded(monomial)
    return done[monomial]


def _expanded(monomial: Monomial) -> Polynomial:
    unexpanded: Polynomial = {monomial: Fraction(1)}
    groups = [(g.parts[0], n) for g, n in monomial if g.is_group and n > 0]
    size = math.prod(math.comb(len(polynomial) + n - 1, n) for polynomial, n in groups)
    if not groups or size > MAX_EXPANSION:
        return unexpanded
    rest = tuple((g, n) for g, n in monomial if not (g.is_group and n > 0))
    expanded: Polynomial = {rest: Fraction(1)}
    for polynomial, n in groups:
        for _ in range(n):
            expanded = _multiply(expanded, polynomial)
            if len(expanded) > MAX_EXPANSION:
                return unexpanded
    return expanded if _is_short_polynomial(expanded) else unexpanded


def _is_short_polynomial(polynomial: Polynomial) -> bool:
    return (
        is_hermite_polynomial(polynomial) and len(shortest_polynomial(polynomial)[0]) <= MAX_TERMS
    )


def _multiply(left: Polynomial, right: Polynomial) -> Polynomial:
    _workbench.get().spend(len(left) * len(right))
    pieces: list[Polynomial] = []
    for monomial, coefficient in left.items():
        for other, factor in right.items():
            exponents = Exponents(monomial)
            for base, n in other:
                exponents[base] = exponents.get(base, 0) + n
            number = coefficient * factor * _apply_laws(exponents)
            pieces.append(scaled_polynomial(_multiplied_out(exponents), number))
    return add_polynomials(*pieces)


def _multiply_in(exponents: Exponents, polynomial: Polynomial, n: int) -> Fraction:
    """Multiply the exponents by a polynomial to the n; returns the number left in front."""
    if len(polynomial) > 1:
        first = leading_coefficient(polynomial)
        monic = scaled_polynomial(polynomial, 1 / first)
        monomial: Monomial = (
            (Generator(polynomial_expression(monic), (monic,), is_group=True), 1),
        )
    else:
        ((monomial, first),) = polynomial.items()
    for base, exponent in monomial:
        exponents[base] = exponents.get(base, 0) + exponent * n
    return _whole_power(first, n)


def _whole_power(base: Fraction, n: int) -> Fraction:
    """A number to a whole power, refused before it grows large."""
    if abs(n) > 1:
        _check_size(float(base), n)
    return checked_coefficient(base**n)


def _check_size(base: float, n: int) -> None:
    if base == 0 or abs(n * math.log10(abs(base))) > math.log10(MAX_NUMBER):
        raise Unusable(f"a constant in it is not between {1 / MAX_NUMBER:g} and {MAX_NUMBER:g}")


def _apply_laws(exponents: Exponents) -> Fraction:
    """Simplify within one monomial until nothing changes; returns a number to multiply with."""
    coefficient = Fraction(1)
    for _ in range(8 if any(base.has_laws for base in exponents) else 0):
        before = dict(exponents)
        for law in (_join_roots, _join_exponentials, _join_signs, _reduce_powers):
            coefficient *= law(exponents)
        if exponents == before:
            break
    return coefficient


def _calls(exponents: Exponents, function: str) -> Exponents:
    return {
        base: n
        for base, n in exponents.items()
        if n and isinstance(base.node, Call) and base.node.function == function
    }


def _join_exponentials(exponents: Exponents) -> Fraction:
    """exp(a)**m * exp(b)**n = exp(m*a + n*b)"""
    found = _calls(exponents, "exp")
    if not found or list(found.values()) == [1]:
        return Fraction(1)
    for base in found:
        del exponents[base]
    total = add_polynomials(
        *(scaled_polynomial(base.parts[0], Fraction(n)) for base, n in found.items())
    )
    # Each is printed whole, with all that is nested in it.
    _workbench.get().spend(len(total) + sum(len(base.text) for base in found) // PRINTED)
    return _multiply_in(exponents, exp_of_polynomial(total), 1)


def _join_signs(exponents: Exponents) -> Fraction:
    """sign(a)*sign(b) = sign(a*b) for monomials; sign(a)**2 = 1 where a is almost never 0."""
    found = _calls(exponents, "sign")
    joined = []
    for base, n in found.items():
        if is_smooth_polynomial(base.parts[0]):
            exponents[base] = n % 2
            if n % 2 and len(base.parts[0]) == 1:
                joined.append(base)
        elif n > 2:
            exponents[base] = 2 - n % 2
    if len(joined) < 2:
        return Fraction(1)
    inside: Exponents = {}
    for base in joined:
        del exponents[base]
        _multiply_in(inside, base.parts[0], 1)
    return _multiply_in(exponents, sign_of_monomial(monomial_of_exponents(inside)), 1)


def _reduce_powers(exponents: Exponents) -> Fraction:
    """step(a)**n = step(a), |a|**2 = a**2, and powers of fractional powers.

    Odd powers of |a| are left alone if a is a sum: multiplying it out would not be simpler.
    """
    coefficient = Fraction(1)
    for base, n in list(exponents.items()):
        match base.node:
            case Call("step", _) if n > 1:
                exponents[base] = 1
            case Call("abs", _) if n and (n % 2 == 0 or (n > 1 and _is_monomial(base.parts[0]))):
                exponents[base] = n % 2
                coefficient *= _multiply_in(exponents, base.parts[0], n - n % 2)
            case Power(inner, q) if n not in (-1, 0, 1) and not isinstance(inner, Number):
                inside = base.parts[0]
                if (q * n).denominator > 1 or is_nonnegative_polynomial(inside):
                    del exponents[base]
                    coefficient *= _multiply_in(exponents, polynomial_power(inside, q * n), 1)
    return coefficient


def _is_monomial(polynomial: Polynomial) -> bool:
    return len(polynomial) == 1 and not any(base.is_group for base, _ in next(iter(polynomial)))


def _join_roots(exponents: Exponents) -> Fraction:
    """r**p * r**q = r**(p+q) and sqrt(r)*sqrt(s) = sqrt(r*s) for rational numbers r, s."""
    roots: dict[Fraction, Fraction] = {}
    coefficient, under_root = Fraction(1), Fraction(1)
    for base, n in list(exponents.items()):
        if not isinstance(base.node, Power) or not isinstance(base.node.base, Number):
            continue
        number, q = base.node.base.value, base.node.exponent * n
        del exponents[base]
        if q.denominator == 2:
            coefficient *= _whole_power(number, math.floor(q))
            under_root *= number
        else:
            roots[number] = roots.get(number, Fraction(0)) + q
    for number, q in [*roots.items(), (under_root, _HALF)]:
        coefficient *= _multiply_in(exponents, _number_power(number, q), 1)
    return coefficient


def _number_power(base: Fraction, q: Fraction) -> Polynomial:
    """A positive rational number to a rational power: r**n * r**f with 0 <= f < 1."""
    n = math.floor(q)
    base = checked_coefficient(base)
    number, fraction = _whole_power(base, n), q - n
    if fraction == 0:
        return constant_polynomial(number)
    if fraction == _HALF:
        outside, squarefree = _polynomial_square_factor(base)
        if not is_short_coefficient(squarefree):
            outside, squarefree = _polynomial_square_factor(written_coefficient(base))
        base, number = Fraction(squarefree), checked_coefficient(number * outside)
    # What stays under the root is written out, and must be the same when read again.
    base = written_coefficient(base)
    if base == 1:
        return constant_polynomial(number)
    return scaled_polynomial(
        generator_polynomial(Power(Number(base), fraction), constant_polynomial(base)), number
    )


def _polynomial_square_factor(value: Fraction) -> tuple[Fraction, int]:
    """``outside`` and ``n`` with sqrt(value) = outside * sqrt(n), n a small whole number."""
    outside, n = Fraction(1, value.denominator), value.numerator * value.denominator
    root = math.isqrt(n)
    if root * root == n:
        return outside * root, 1
    for divisor in range(2, 1000):
        while n % divisor**2 == 0:
            n //= divisor**2
            outside *= divisor
        if divisor**2 > n:
            break
    return outside, n


def polynomial_power(base: Polynomial, q: Fraction) -> Polynomial:
    """A polynomial to a rational power."""
    number = polynomial_as_rational(base)
    if number == 0 and q > 0:
        return {}
    if is_zero_polynomial(base):
        raise Unusable("it divides by zero")
    if abs(q) > MAX_EXPONENT and number not in (1, -1):
        size = f" {float(q):g}" if abs(q) < MAX_NUMBER else ""
        raise Unusable(f"the exponent{size} is beyond {MAX_EXPONENT}")
    if q.denominator == 1:
        return polynomial_product([(base, int(q) if number not in (1, -1) else int(q) % 2)])
    if is_constant_polynomial(base) and constant_polynomial_value(base) < 0:
        raise Unusable(
            f"{expression_text(polynomial_expression(base))[:60]} is negative and has no real "
            f"power {q}"
        )
    if number is not None:
        return _number_power(number, q)
    return _power_root(base, q)


def _power_root(base: Polynomial, q: Fraction) -> Polynomial:
    """A polynomial to a fractional power; positive factors are taken out."""
    first = abs(leading_coefficient(base))
    if first != 1:
        return polynomial_product(
            [(_number_power(first, q), 1), (_power_root(scaled_polynomial(base, 1 / first), q), 1)]
        )
    if len(base) > 1 or not is_nonnegative_polynomial(base):
        return _root_generator(base, q)
    factors = []
    for part, n in next(iter(base)):
        inside = abs_of_generator(part)
        if isinstance(part.node, Call) and part.node.function == "exp":
            factors.append((exp_of_polynomial(scaled_polynomial(part.parts[0], n * q)), 1))
        elif (n * q).denominator == 1:
            factors.append((inside, int(n * q)))
        else:
            factors.append((_root_generator(inside, n * q), 1))
    return polynomial_product(factors)


def _root_generator(base: Polynomial, q: Fraction) -> Polynomial:
    if abs(q) > MAX_EXPONENT:
        raise Unusable(f"an exponent in it is beyond {MAX_EXPONENT}")
    root = Generator(Power(polynomial_expression(base), abs(q)), (base,))
    if root.constant:
        for part in (base, monomial_of(root)):
            constant_polynomial_value(part)
    return {((root, 1 if q > 0 else -1),): Fraction(1)}


def hermite_of_polynomial(degree: int, x: Polynomial) -> Polynomial:
    """He_k of a polynomial, multiplied out where that stays short."""
    before, last = constant_polynomial(1), x
    if degree == 0:
        return before
    if math.comb(len(x) + degree - 1, degree) > MAX_EXPANSION:
        return _kept_hermite(degree, x)
    for k in range(1, degree):
        lower = scaled_polynomial(before, Fraction(-k))
        before, last = last, add_polynomials(_multiply(last, x), lower)
    return last if _is_short_polynomial(last) else _kept_hermite(degree, x)


def _kept_hermite(degree: int, x: Polynomial) -> Polynomial:
    sign = Fraction(1 if leading_coefficient(x) > 0 else -1)
    x = scaled_polynomial(x, sign)
    return scaled_polynomial(
        generator_polynomial(Hermite(degree, polynomial_expression(x)), x), sign**degree
    )
