"""From tree to text that the parser reads back, and to LaTeX; directions in words."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

import numpy as np
from jaxtyping import Float

from giantstep.language.expressions.language import FUNCTIONS
from giantstep.language.expressions.tree import (
    Call,
    Hermite,
    Node,
    Number,
    Pi,
    Power,
    Product,
    Sum,
    Variable,
    sum_expression,
)
from giantstep.numerics.linear_algebra import Rows

_HALF = Fraction(1, 2)


def expression_text(node: Node) -> str:
    """The text of a tree in normal form.

    >>> expression_text(Sum((Variable("h1"), Product((Number(Fraction(-1, 3)), Variable("h2"))))))
    'h1 - h2/3'
    """
    match node:
        case Number(value):
            return _expression_number_text(value)
        case Pi():
            return "pi"
        case Variable(name):
            return name
        case Sum(terms):
            return _signed_sum([expression_text(term) for term in terms])
        case Product() | Power():
            return _product_text(node)
        case Hermite(degree, argument):
            return f"He{degree}({expression_text(argument)})"
        case Call(function, arguments):
            return f"{function}({', '.join(expression_text(argument) for argument in arguments)})"
    raise TypeError(f"not a node in normal form: {node!r}")


def _signed_sum(pieces: list[str]) -> str:
    signed = (f" - {p[1:]}" if p.startswith("-") else f" + {p}" for p in pieces[1:])
    return pieces[0] + "".join(signed)


def short_expression_text(node: Node) -> str:
    """The text of a tree, cut off for an error message."""
    text = expression_text(node)
    return text if len(text) <= 50 else text[:47] + "..."


def _expression_number_text(value: Fraction) -> str:
    """A rational number: decimal if it ends within 15 digits, else a fraction.

    >>> _expression_number_text(Fraction(1, 4)), _expression_number_text(Fraction(-1, 3))
    ('0.25', '-1/3')
    """
    decimal = _decimal_text(value)
    return decimal if decimal is not None else f"{value.numerator}/{value.denominator}"


def _decimal_text(value: Fraction) -> str | None:
    """The exact decimal text of a rational number, if it has a short one."""
    whole = str(value.numerator) if value.denominator == 1 else None
    if whole and len(whole) <= 18:
        return whole
    text = repr(float(value)).replace("e+", "e").replace("e-0", "e-")
    if Fraction(text) == value:
        return text
    return whole if whole and len(whole) <= 36 else None


def _split_product(node: Node) -> tuple[Fraction, list[Node], list[Node]]:
    """The number in front, the other factors above the bar, and those below it."""
    number = Fraction(1)
    above: list[Node] = []
    below: list[Node] = []
    for factor in node.factors if isinstance(node, Product) else (node,):
        match factor:
            case Number(value):
                number *= value
            case Power(base, exponent) if exponent < 0:
                below.append(base if exponent == -1 else Power(base, -exponent))
            case _:
                above.append(factor)
    return number, above, below


def _product_text(node: Node) -> str:
    number, above, below = _split_product(node)
    pieces = [_factor_text(factor) for factor in above]
    divisors = [_factor_text(factor) for factor in below]
    size = abs(number)
    decimal = _decimal_text(size)
    if decimal is None:
        decimal = str(size.numerator)
        divisors.insert(0, str(size.denominator))
    if decimal != "1" or not pieces:
        pieces.insert(0, decimal)
    sign = "-" if number < 0 else ""
    return sign + "*".join(pieces) + "".join(f"/{divisor}" for divisor in divisors)


def _factor_text(node: Node) -> str:
    match node:
        case Power(base, exponent) if exponent == _HALF:
            return f"sqrt({expression_text(base)})"
        case Power(base, exponent):
            text = _expression_number_text(exponent)
            raised = f"({text})" if "/" in text else text
            return f"{_closed_expression_text(base)}**{raised}"
    return _closed_expression_text(node)


def _closed_expression_text(node: Node) -> str:
    text = expression_text(node)
    match node:
        case Power(_, exponent):
            closed = exponent == _HALF
        case Number():
            closed = text.replace(".", "").isdigit()
        case _:
            closed = not isinstance(node, Sum | Product)
    return text if closed else f"({text})"


def expression_latex(node: Node) -> str:
    r"""The tree as LaTeX, for mathematics mode.

    >>> expression_latex(Product((Hermite(3, Variable("h1")), Variable("h2"))))
    '\\mathrm{He}_{3}(h_{1})\\, h_{2}'
    """
    match node:
        case Number(value):
            return _latex_number(value)
        case Pi():
            return r"\pi"
        case Variable(name):
            return f"{name[0]}_{{{name[1:]}}}" if name[1:].isdigit() else name
        case Sum(terms):
            return _signed_sum([expression_latex(term) for term in terms])
        case Product() | Power():
            return _latex_product(node)
        case Hermite(degree, argument):
            return rf"\mathrm{{He}}_{{{degree}}}{_latex_expression_in_brackets(argument)}"
        case Call("abs", (argument,)):
            return rf"\left|{expression_latex(argument)}\right|"
        case Call("step", (argument,)):
            return rf"\mathbf{{1}}\{{{_latex_expression_inequality(argument)}\}}"
        case Call("exp", (argument,)) if "frac" not in (inside := expression_latex(argument)):
            return f"e^{{{inside}}}"
        case Call(function, arguments) if FUNCTIONS[function].many_arguments:
            inside = ",\\, ".join(expression_latex(argument) for argument in arguments)
            return rf"{FUNCTIONS[function].latex}\left({inside}\right)"
        case Call(function, (argument,)):
            name = FUNCTIONS[function].latex or rf"\operatorname{{{function}}}"
            return name + _latex_expression_in_brackets(argument)
    raise TypeError(f"not a node in normal form: {node!r}")


def _latex_number(value: Fraction) -> str:
    decimal = _decimal_text(value)
    if decimal is None:
        sign = "-" if value < 0 else ""
        return rf"{sign}\frac{{{abs(value.numerator)}}}{{{value.denominator}}}"
    mantissa, _, exponent = decimal.partition("e")
    return rf"{mantissa} \cdot 10^{{{exponent}}}" if exponent else mantissa


def _latex_expression_in_brackets(node: Node) -> str:
    inside = expression_latex(node)
    return f"({inside})" if isinstance(node, Variable) else rf"\left({inside}\right)"


def _latex_expression_inequality(node: Node) -> str:
    """``step(a - 1)`` reads a > 1; ``step(1 - a)`` reads a < 1."""
    terms = node.terms if isinstance(node, Sum) else (node,)
    constant = [term.value for term in terms if isinstance(term, Number)]
    others = tuple(term for term in terms if not isinstance(term, Number))
    bound = -constant[0] if constant else Fraction(0)
    left = expression_latex(sum_expression(others))
    if all(expression_latex(term).startswith("-") for term in others):
        flipped = " + ".join(expression_latex(term)[1:] for term in others)
        return f"{flipped} < {_latex_number(-bound)}"
    return f"{left} > {_latex_number(bound)}"


def _latex_product(node: Node) -> str:
    number, above, below = _split_product(node)
    sign, size = ("-" if number < 0 else ""), abs(number)
    upper = [_latex_factor(factor, alone=len(above) == 1) for factor in above]
    lower = [_latex_factor(factor, alone=len(below) == 1) for factor in below]
    if _decimal_text(size) is None:
        lower.insert(0, str(size.denominator))
        size = Fraction(size.numerator)
    if size != 1 or not upper:
        upper.insert(0, _latex_number(size))
    if lower:
        return rf"{sign}\frac{{{_latex_join(upper)}}}{{{_latex_join(lower)}}}"
    return sign + _latex_join(upper)


def _latex_join(factors: list[str]) -> str:
    return r"\, ".join(factors)


def _latex_factor(node: Node, alone: bool) -> str:
    match node:
        case Power(base, exponent) if exponent == _HALF:
            return rf"\sqrt{{{expression_latex(base)}}}"
        case Power(base, exponent):
            in_bars = isinstance(base, Call) and base.function == "abs"
            closed = in_bars or isinstance(base, Variable | Pi) or base == Number(abs(_whole(base)))
            inside = expression_latex(base) if closed else rf"\left({expression_latex(base)}\right)"
            return rf"{inside}^{{{_latex_number(exponent)}}}"
        case Sum() if not alone:
            return rf"\left({expression_latex(node)}\right)"
    return expression_latex(node)


def _whole(node: Node) -> Fraction:
    return node.value if isinstance(node, Number) and node.value.denominator == 1 else Fraction(-1)


def direction_text(row: Float[np.ndarray, " r"]) -> str:
    """One unit vector as a combination of h1..hr.

    >>> direction_text(np.array([1.0, -1.0, 0.0]) / 2**0.5)
    '(h1 - h2)/sqrt(2)'
    """
    used = np.flatnonzero(np.abs(row) > 5e-3)
    smallest = np.min(np.abs(row[used]))
    whole = row / smallest
    squares = int(np.round(np.sum(np.round(whole) ** 2)))
    if np.allclose(whole, np.round(whole), atol=2e-2) and squares <= 20:
        text = _combined_expression((int(np.round(whole[i])), f"h{i + 1}") for i in used)
        if squares == 1:
            return text
        root = round(squares**0.5)
        return f"({text})/" + (str(root) if root**2 == squares else f"sqrt({squares})")
    return _combined_expression((round(float(row[i]), 3), f"h{i + 1}") for i in used)


def _combined_expression(parts: Iterable[tuple[float, str]]) -> str:
    text = ""
    for number, name in parts:
        size = "" if abs(number) == 1 else f"{abs(number):g}*"
        sign = (" - " if text else "-") if number < 0 else (" + " if text else "")
        text += f"{sign}{size}{name}"
    return text


def directions_text(rows: Rows) -> str:
    """Several directions, separated by commas; `nothing` if there are none.

    >>> directions_text(np.eye(3)[:2])
    'h1, h2'
    """
    return ", ".join(direction_text(row) for row in rows) or "nothing"
