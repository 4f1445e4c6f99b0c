"""What can be told of a normal form at a glance, and the functions that products lead to."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from giantstep.targets.evaluate import NUMPY, evaluate
from giantstep.targets.language import FUNCTIONS, MAX_NUMBER
from giantstep.targets.polynomial import (
    Generator,
    Monomial,
    Polynomial,
    Unusable,
    constant,
    generator,
    is_constant,
    monomial_of,
    rational,
    to_tree,
)
from giantstep.targets.printing import to_text
from giantstep.targets.tree import Call, Power, Variable, walk

#: What is left of zero after rounding: sin(pi) is 1.2e-16 in float64.
CANCELLED = 1e-12
_POSITIVE = ("exp", "softplus", "sigmoid", "Phi")


def value_of(polynomial: Polynomial) -> float:
    """The value of a constant."""
    with np.errstate(all="ignore"):
        value = float(evaluate(to_tree(polynomial), NUMPY, {}))
    if not math.isfinite(value) or abs(value) > MAX_NUMBER:
        shown = to_text(to_tree(polynomial))[:60]
        raise Unusable(f"{shown} is not a finite number below {MAX_NUMBER:g}")
    return value


def is_zero(polynomial: Polynomial) -> bool:
    """Whether it is the constant zero, as far as float64 can tell."""
    if rational(polynomial) is not None or not is_constant(polynomial):
        return not polynomial
    terms = [value_of({monomial: coefficient}) for monomial, coefficient in polynomial.items()]
    oscillations = [
        value_of(alone(base))
        for base, _ in next(iter(polynomial))
        if len(terms) == 1 and isinstance(base.node, Call) and base.node.function in ("sin", "cos")
    ]
    cancels = abs(sum(terms)) <= CANCELLED * sum(map(abs, terms))
    return cancels or any(abs(value) < CANCELLED for value in oscillations)


def is_nonnegative(polynomial: Polynomial) -> bool:
    """Whether it is plainly nowhere negative: a sum of positive multiples of such terms."""
    return all(
        coefficient > 0 and all(n % 2 == 0 or _is_nonnegative(base) for base, n in monomial)
        for monomial, coefficient in polynomial.items()
    )


def _is_nonnegative(base: Generator) -> bool:
    if base.constant:
        return value_of(alone(base)) >= 0
    if base.is_group:
        return is_nonnegative(base.parts[0])
    match base.node:
        case Call(function, _):
            return FUNCTIONS[function].nonnegative
        case Power(_, exponent):
            return exponent.denominator > 1
    return False


def is_smooth(polynomial: Polynomial) -> bool:
    """Whether it is analytic, so that it vanishes almost nowhere unless it is zero."""
    return not any(
        (isinstance(part, Call) and FUNCTIONS[part.function].kink)
        or (isinstance(part, Power) and part.exponent.denominator > 1)
        for monomial in polynomial
        for base, _ in monomial
        for part in walk(base.node)
    )


def alone(base: Generator) -> Polynomial:
    """A generator as a polynomial."""
    return {((base, 1),): Fraction(1)}


def exp_of(x: Polynomial) -> Polynomial:
    """exp of a polynomial."""
    if not x:
        return constant(1)
    result = generator(Call("exp", (to_tree(x),)), x)
    if is_constant(x):
        value_of(result)
    return result


def abs_of(base: Generator) -> Polynomial:
    """The absolute value of a generator."""
    plain = alone(base)
    if base.constant and value_of(plain) < 0:
        return {((base, 1),): Fraction(-1)}
    return plain if is_nonnegative(plain) else generator(Call("abs", (base.node,)), plain)


def sign_of(monomial: Monomial) -> Polynomial:
    """The sign of a monomial: positive factors and even powers do not count."""
    front, kept = Fraction(1), {}
    for base, n in monomial:
        if base.constant:
            front *= 1 if n % 2 == 0 or value_of(alone(base)) > 0 else -1
        elif isinstance(base.node, Variable):
            kept[base] = n % 2
        elif not (isinstance(base.node, Call) and base.node.function in _POSITIVE):
            even = 0 if is_smooth(alone(base)) else 2
            kept[base] = (1 if n % 2 else even) * (1 if n > 0 else -1)
    x: Polynomial = {monomial_of(kept): Fraction(1)}
    if not any(kept.values()):
        return constant(front)
    return {((Generator(Call("sign", (to_tree(x),)), (x,)), 1),): front}
