"""From tokens to tree: a Pratt parser. Nothing is ever evaluated as Python."""

from __future__ import annotations

import difflib
import functools
import math
import re
from fractions import Fraction
from typing import NoReturn

from giantstep.errors import TargetError
from giantstep.language.expressions.language import (
    ABBREVIATIONS,
    FUNCTIONS,
    MAX_CHARACTERS,
    MAX_DEPTH,
    MAX_DIGITS,
    MAX_HERMITE,
    MAX_INDEX,
    MAX_NUMBER,
    MAX_WRITTEN_OUT,
    SPELLINGS,
)
from giantstep.language.expressions.tokens import Token, tokenise_expression
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
    replaced_expression,
    walk_expression,
)

_DIRECTIONS = frozenset(f"{letter}{i}" for letter in "hz" for i in range(1, MAX_INDEX + 1))

COMPARISON, ADDITION, MULTIPLICATION, SIGN, POWER = 10, 20, 30, 40, 50
_BINDING = {
    **dict.fromkeys(("<", "<=", ">", ">="), COMPARISON),
    **dict.fromkeys(("+", "-"), ADDITION),
    **dict.fromkeys(("*", "/"), MULTIPLICATION),
    **dict.fromkeys(("**", "^"), POWER),
}
_MINUS_ONE = Number(Fraction(-1))
_ONE = Number(Fraction(1))


def parse_expression(text: str, letters: tuple[str, ...] = (), noun: str = "target") -> Node:
    """Read an expression in h1.. and z1.., or in a few ``letters``.

    >>> parse_expression("2*h1")
    Product(factors=(Number(value=Fraction(2, 1)), Variable(name='h1')))
    """
    return _Parser(text, letters, noun).whole()


def is_plain_expression(text: str) -> bool:
    """Whether a target that can be read is written as the language writes it.

    >>> is_plain_expression("h1*h2"), is_plain_expression("x1*x2"), is_plain_expression("2h1")
    (True, False, False)
    """
    parser = _Parser(text, (), "target")
    parser.whole()
    framed = not text.strip().startswith(parser.tokens[0].typed)
    return not (parser.juxtaposed or framed or any(token.pasted for token in parser.tokens))


def quoted_expression(text: str) -> str:
    """The text on one line, in quotes, shortened in the middle if it is long."""
    shown = text if len(text) <= 60 else f"{text[:40]}...{text[-15:]}"
    return ascii(shown)


class _Parser:
    def __init__(self, text: str, letters: tuple[str, ...], noun: str):
        self.text, self.letters, self.noun = text, letters, noun
        self.example = letters[-1] if letters else "h1"
        self.depth = 0
        if len(text) > MAX_CHARACTERS:
            self.fail(f"it is too long, {len(text)} characters; at most {MAX_CHARACTERS} are read")
        if not text.strip():
            self.fail(f"it is empty: write an expression such as {self.example} + He3(h1)*h2")
        self.tokens = tokenise_expression(text, self.fail, directions=not letters)
        self.position = 0
        #: Bars that are open inside the innermost parenthesis: the next bar closes one.
        self.bars = 0
        self.juxtaposed = False

    def fail(self, problem: str, place: Token | int | None = None) -> NoReturn:
        start = place.start if isinstance(place, Token) else place
        where = "" if start is None else f" (character {start + 1})"
        raise TargetError(f"{self.noun} {quoted_expression(self.text)}: {problem}{where}")

    @property
    def current(self) -> Token:
        return self.tokens[self.position]

    def advance(self) -> Token:
        token = self.current
        self.position += 1
        return token

    def expect(self, symbol: str, opened: Token) -> None:
        if self.current.kind == "symbol" and self.current.text == symbol:
            self.advance()
        elif self.current.kind == "end":
            name = "bar" if symbol == "|" else "parenthesis"
            self.fail(f"the {name} {opened.typed!a} is never closed", opened)
        else:
            self.fail(self.misplaced(self.current), self.current)

    def misplaced(self, token: Token) -> str:
        if token.text in {")", ","}:
            return f"{token.typed!a} has no opening parenthesis"
        before = self.tokens[self.position - 1]
        return f"an operator is missing between {before.typed!a} and {token.typed!a}"

    def whole(self) -> Node:
        node = self.expression(0)
        if self.current.kind != "end":
            self.fail(self.misplaced(self.current), self.current)
        return node

    def expression(self, binding: int) -> Node:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            self.fail(f"it is nested more than {MAX_DEPTH} deep")
        left = self.operand()
        operator = None
        while (power := self.binding()) > binding:
            operator = self.times(operator) if self.multiplies() else self.advance()
            # Powers associate to the right, everything else to the left.
            right = self.expression(power - 1 if power == POWER else power)
            left = self.combine(operator, left, right)
            if power == COMPARISON and _BINDING.get(self.current.text) == COMPARISON:
                self.fail("comparisons cannot be chained: write (0 < h1)*(h1 < 1)", self.current)
        self.depth -= 1
        return left

    def multiplies(self) -> bool:
        """Whether the next factor stands there without a sign, as in ``2h1``."""
        token = self.current
        return token.kind == "name" or token.text == "(" or (token.text == "|" and not self.bars)

    def binding(self) -> int:
        return MULTIPLICATION if self.multiplies() else _BINDING.get(self.current.text, 0)

    def times(self, before: Token | None) -> Token:
        if before is not None and before.text == "/":
            self.fail("1/2h1 can mean (1/2)*h1 or 1/(2*h1): write the one you mean", self.current)
        self.juxtaposed = True
        return Token("symbol", "*", self.current.start, "")

    def inside(self, opened: Token, closing: str) -> Node:
        """The expression up to the closing parenthesis or bar."""
        outside, self.bars = self.bars, self.bars + 1 if closing == "|" else 0
        node = self.expression(0)
        self.expect(closing, opened)
        self.bars = outside
        return node

    def combine(self, operator: Token, left: Node, right: Node) -> Node:
        match operator.text:
            case "+":
                return _parsed_sum(left, right)
            case "-":
                return _parsed_sum(left, _negative(right))
            case "*":
                return _parsed_product(left, right)
            case "/":
                return _parsed_product(left, Power(right, Fraction(-1)))
            case "<" | ">" | "<=" | ">=":
                large, small = (left, right) if operator.text in (">", "<=") else (right, left)
                above = Call("step", (_parsed_sum(large, _negative(small)),))
                return above if operator.text in "<>" else _parsed_sum(_ONE, _negative(above))
        return Exponential(left, right)

    def operand(self) -> Node:
        token = self.advance()
        match token.kind, token.text:
            case "number", _:
                return self.number(token)
            case "name", _:
                return self.name(token)
            case "symbol", "(":
                return self.inside(token, ")")
            case "symbol", "|":
                return Call("abs", (self.inside(token, "|"),))
            case "symbol", "-":
                return _negative(self.expression(SIGN))
            case "symbol", "+":
                return self.expression(SIGN)
            case "end", _:
                self.fail(
                    f"it ends where a number, a variable such as {self.example} or '(' must be"
                )
        self.fail(f"a number, a variable or '(' must stand before {token.typed!a}", token)

    def number(self, token: Token) -> Node:
        size = float(token.text) if len(token.text) <= MAX_DIGITS else math.inf
        zero = not re.search("[1-9]", re.split("[eE]", token.text)[0])
        if not ((zero and size == 0) or 1 / MAX_NUMBER <= size <= MAX_NUMBER):
            self.fail(
                f"the number {quoted_expression(token.text)} is too long, or not between "
                f"{1 / MAX_NUMBER:g} and {MAX_NUMBER:g}",
                token,
            )
        return Number(Fraction(0) if zero else Fraction(token.text))

    def name(self, token: Token) -> Node:
        name = token.text
        called = self.current.kind == "symbol" and self.current.text == "("
        short = ABBREVIATIONS.get(name)
        meant = (
            self.noun == "loss" if short is not None and short.only_losses else name in SPELLINGS
        )
        if meant or name in FUNCTIONS:
            if not called:
                example = f"He(3, {self.example})" if name == "He" else f"{name}({self.example})"
                self.fail(f"{ascii(token.typed)[1:-1]} is a function: write {example}", token)
            return self.call(token)
        node = Pi() if name == "pi" else self.resolve(token)
        if called:
            shown = ascii(token.typed)[1:-1]
            self.fail(f"{shown} is not a function: write {shown}*(...)", token)
        return node

    def resolve(self, token: Token) -> Node:
        name = token.text
        if self.letters:
            if name in self.letters:
                return Variable(name)
            self.unknown(token, self.letters)
        if name == "h":
            return Variable("h1")
        if name not in _DIRECTIONS:
            self.unknown(token, ("h1", "h2", "z1"))
        return Variable(name)

    def unknown(self, token: Token, names: tuple[str, ...]) -> NoReturn:
        typed = ascii(token.typed)[1:-1]
        if re.fullmatch("He[0-9]+", token.text):
            self.fail(
                f"Hermite polynomials end at He{MAX_HERMITE}, not {quoted_expression(typed)}", token
            )
        if not self.letters and (match := re.fullmatch("([hz])[0-9]*", token.text)):
            letter = typed[0] if typed[0] in "xX" else match[1]
            first, last = f"{letter}1", f"{letter}{MAX_INDEX}"
            if "[" in typed:
                first, last = f"{letter}[0]", f"{letter}[{MAX_INDEX - 1}]"
            self.fail(f"write {first} to {last}, not {quoted_expression(typed)}", token)
        if len(self.letters) > 1 and len(token.text) == 1:
            known_letters = " and ".join(names)
            self.fail(
                f"the name {quoted_expression(token.typed)} is unknown: write {known_letters}",
                token,
            )
        # A noise is never suggested: who types another letter means a direction.
        names_meant = [name for name in names if name != "z1"]
        known = {name.lower(): name for name in (*FUNCTIONS, *SPELLINGS, "pi", *names_meant)}
        near = difflib.get_close_matches(token.text.lower(), known, n=1, cutoff=0.5)
        language = f"the language has {' '.join((*names, 'pi', *FUNCTIONS, 'sqrt'))}, He2 to He20"
        hint = f"did you mean {known[near[0]]}?" if near else language
        self.fail(f"the name {quoted_expression(token.typed)} is unknown: {hint}", token)

    def call(self, token: Token) -> Node:
        opened = self.advance()
        outside, self.bars = self.bars, 0
        arguments = [self.expression(0)]
        while self.current.text == ",":
            self.advance()
            arguments.append(self.expression(0))
        self.expect(")", opened)
        self.bars = outside
        name, count = token.text, len(arguments)
        many = name in FUNCTIONS and FUNCTIONS[name].many_arguments
        short = ABBREVIATIONS.get(name)
        wanted = 2 if many or name == "He" else 1
        optional = short is not None and short.constant is not None
        if count < wanted or (count > wanted + optional and not many):
            more = " or more" if many else " or 2" if optional else ""
            self.fail(f"{name} takes {wanted}{more} argument(s), not {count}", token)
        if name == "He":
            return Hermite(self.degree(arguments[0], token), arguments[1])
        if name == "sqrt":
            return Power(arguments[0], Fraction(1, 2))
        if name in FUNCTIONS:
            return Call(name, tuple(arguments))
        if short is not None:
            constant = arguments[1] if count > 1 else Number(short.constant or Fraction(0))
            given: dict[Node, Node] = {Variable("x"): arguments[0], Variable("a"): constant}
            whole = replaced_expression(_abbreviated_expression(name), given)
            if sum(1 for _ in walk_expression(whole)) > MAX_WRITTEN_OUT:
                self.fail(f"{name} is nested too deeply: it stands for {short.text}", token)
            return whole
        return Hermite(int(name.removeprefix("He")), arguments[0])

    def degree(self, node: Node, token: Token) -> int:
        if isinstance(node, Number) and node.value in range(MAX_HERMITE + 1):
            return int(node.value)
        self.fail(
            f"the degree k in He(k, ...) must be a whole number from 0 to {MAX_HERMITE}", token
        )


@functools.cache
def _abbreviated_expression(name: str) -> Node:
    return parse_expression(ABBREVIATIONS[name].text, ("x", "a"))


def _parsed_sum(left: Node, right: Node) -> Node:
    terms = left.terms if isinstance(left, Sum) else (left,)
    return Sum((*terms, right))


def _parsed_product(left: Node, right: Node) -> Node:
    factors = left.factors if isinstance(left, Product) else (left,)
    return Product((*factors, right))


def _negative(node: Node) -> Node:
    return Product((_MINUS_ONE, node))
