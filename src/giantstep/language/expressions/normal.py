"""The normal form: equal targets become the same polynomial over the same generators.

Recognised as equal: whatever the laws of polynomials make equal (order, brackets, like terms,
Hermite polynomials against powers), as long as products have a short expansion; and the laws
exp(a)exp(b) = exp(a+b), |a||b| = |ab|, |a|^2 = a^2, sign(a)sign(b) = sign(ab), step(a)^2 =
step(a), the parity of odd and even functions, the scaling of sign, step, relu and abs by a
positive number, square roots of rational numbers, and arithmetic of rational numbers, which is
exact. Equality is meant almost everywhere: h1/h1 is 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from giantstep.language.expressions.arithmetic import (
    expression_workbench,
    hermite_of_polynomial,
    known_normal_forms,
    polynomial_power,
    polynomial_product,
)
from giantstep.language.expressions.language import FUNCTIONS, MAX_EXPONENT
from giantstep.language.expressions.polynomial import (
    Polynomial,
    Unusable,
    abs_of_generator,
    add_polynomials,
    constant_polynomial,
    constant_polynomial_value,
    exp_of_polynomial,
    generator_polynomial,
    is_constant_polynomial,
    is_nonnegative_polynomial,
    is_zero_polynomial,
    leading_coefficient,
    monomial_of,
    polynomial_as_rational,
    polynomial_expression,
    scaled_polynomial,
    sign_of_monomial,
    written_coefficient,
)
from giantstep.language.expressions.printing import expression_text
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
)


def normal_form(node: Node) -> Polynomial:
    """The polynomial over generators that the tree is equal to."""
    with expression_workbench():
        return _normal_form_once(node)


def _normal_form_once(node: Node) -> Polynomial:
    """The normal form of a part, computed once: roots of roots ask for the same part twice."""
    known = known_normal_forms()
    if node not in known:
        known[node] = _computed_normal_form(node)
    return known[node]


def _computed_normal_form(node: Node) -> Polynomial:
    match node:
        case Number(value):
            return constant_polynomial(value)
        case Pi() | Variable():
            return generator_polynomial(node)
        case Sum(terms):
            return add_polynomials(*(_normal_form_once(term) for term in terms))
        case Product():
            return polynomial_product(_flat_product(node))
        case Power(base, exponent):
            return _power(base, constant_polynomial(exponent))
        case Exponential(base, exponent):
            return _power(base, _normal_form_once(exponent))
        case Hermite(degree, argument):
            return hermite_of_polynomial(degree, _normal_form_once(argument))
        case Call(function, arguments):
            return _call(function, [_normal_form_once(argument) for argument in arguments])
    raise TypeError(f"not a node: {node!r}")


def _flat_product(node: Node) -> list[tuple[Polynomial, int]]:
    """The factors with their whole exponents, powers of powers and of products undone."""
    match node:
        case Product(factors):
            return [flat for factor in factors for flat in _flat_product(factor)]
        case Power(base, exponent) if _is_moderate_exponent(exponent):
            return [(polynomial, n * int(exponent)) for polynomial, n in _flat_product(base)]
        case Exponential(base, exponent):
            number = polynomial_as_rational(_normal_form_once(exponent))
            if number is not None:
                return (
                    _flat_product(Power(base, number))
                    if _is_moderate_exponent(number)
                    else [(polynomial_power(_normal_form_once(base), number), 1)]
                )
    return [(_normal_form_once(node), 1)]


def _is_moderate_exponent(exponent: Fraction) -> bool:
    return exponent.denominator == 1 and abs(exponent) <= MAX_EXPONENT


def _power(base: Node, exponent: Polynomial) -> Polynomial:
    number = polynomial_as_rational(exponent)
    if number is not None and _is_moderate_exponent(number):
        return polynomial_product(_flat_product(Power(base, number)))
    if number is not None:
        return _fractional_power(base, number)
    inside = _normal_form_once(base)
    if (
        not is_constant_polynomial(inside)
        or is_zero_polynomial(inside)
        or constant_polynomial_value(inside) < 0
    ):
        raise Unusable(
            "an exponent must be a number unless its base is a positive number: "
            "write exp(h2*log(|h1|)) for |h1|**h2"
        )
    return exp_of_polynomial(
        polynomial_product([(exponent, 1), (_constant_call("log", inside), 1)])
    )


def _fractional_power(base: Node, exponent: Fraction) -> Polynomial:
    """Even powers under a root are undone before they are multiplied out: sqrt(a**2) = |a|."""
    factors = _flat_product(base)
    if any(n % 2 for _, n in factors):
        return polynomial_power(_normal_form_once(base), exponent)
    return polynomial_product(
        (polynomial_power(_call("abs", [x]), n * exponent), 1) for x, n in factors
    )


def _call(function: str, arguments: Sequence[Polynomial]) -> Polynomial:
    """A function of polynomials, simplified by what is known of the function."""
    facts = FUNCTIONS[function]
    if facts.many_arguments:
        return _extreme_expression(function, arguments)
    (x,) = arguments
    if is_zero_polynomial(x) and facts.zero is not None:
        return constant_polynomial(facts.zero)
    if is_constant_polynomial(x):
        return _constant_call(function, x)
    first, front = leading_coefficient(x), Fraction(1)
    if facts.homogeneous is not None:
        x = scaled_polynomial(x, 1 / abs(first))
        front = abs(first) ** facts.homogeneous
    if first < 0 and facts.parity != "none":
        x = scaled_polynomial(x, Fraction(-1))
        front = -front if facts.parity == "odd" else front
    if function in ("abs", "relu") and is_nonnegative_polynomial(x):
        return scaled_polynomial(x, front)
    if len(x) == 1 and function == "sign":
        return scaled_polynomial(sign_of_monomial(next(iter(x))), front)
    if len(x) == 1 and function == "abs":
        factors = next(iter(x))
        return scaled_polynomial(
            polynomial_product(
                (monomial_of(g) if n % 2 == 0 else abs_of_generator(g), n) for g, n in factors
            ),
            front,
        )
    return scaled_polynomial(
        generator_polynomial(Call(function, (polynomial_expression(x),)), x), front
    )


def _constant_call(function: str, x: Polynomial) -> Polynomial:
    number = polynomial_as_rational(x)
    if number is not None and not FUNCTIONS[function].kink:
        # log(1 + 1e-20) is written log(1), which is 0.
        x = constant_polynomial(written_coefficient(number))
    value, facts = constant_polynomial_value(x), FUNCTIONS[function]
    parity, sign = facts.parity, 1.0 if value > 0 else -1.0
    if facts.homogeneous is not None:
        at_sign = Fraction(float(facts.numpy(sign)))
        return (
            scaled_polynomial(x, at_sign * int(sign))
            if facts.homogeneous
            else constant_polynomial(at_sign)
        )
    if function == "log" and (value < 0 or is_zero_polynomial(x)):
        raise Unusable(
            f"log({expression_text(polynomial_expression(x))[:60]}) is not a real number"
        )
    if function == "log" and polynomial_as_rational(x) == 1:
        return {}
    if parity != "none" and leading_coefficient(x) < 0:
        flipped = _constant_call(function, scaled_polynomial(x, Fraction(-1)))
        return scaled_polynomial(flipped, Fraction(-1 if parity == "odd" else 1))
    result = generator_polynomial(Call(function, (polynomial_expression(x),)), x)
    constant_polynomial_value(result)
    return result


def _extreme_expression(function: str, arguments: Sequence[Polynomial]) -> Polynomial:
    """min and max: nested ones joined, equal arguments once, numbers compared."""
    joined: dict[str, Polynomial] = {}
    for argument in arguments:
        for part in _nested_expression(function, argument):
            joined[expression_text(polynomial_expression(part))] = part
    others = [joined[text] for text in sorted(joined) if not is_constant_polynomial(joined[text])]
    constants = [joined[text] for text in sorted(joined) if is_constant_polynomial(joined[text])]
    if constants:
        others.append((max if function == "max" else min)(constants, key=constant_polynomial_value))
    if len(others) == 1:
        return others[0]
    if len(others) == 2 and not others[1]:
        sign = Fraction(1 if function == "max" else -1)
        return scaled_polynomial(_call("relu", [scaled_polynomial(others[0], sign)]), sign)
    return generator_polynomial(
        Call(function, tuple(polynomial_expression(part) for part in others)), *others
    )


def _nested_expression(function: str, argument: Polynomial) -> tuple[Polynomial, ...]:
    if len(argument) == 1:
        ((monomial, coefficient),) = argument.items()
        if coefficient == 1 and len(monomial) == 1 and monomial[0][1] == 1:
            base = monomial[0][0]
            if isinstance(base.node, Call) and base.node.function == function:
                return base.parts
    return (argument,)
