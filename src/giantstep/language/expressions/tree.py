"""The expression tree: nine kinds of frozen node, and the ways to walk over them.

Subtraction, division, negation and comparisons have no node of their own: the parser writes
``a - b`` as ``a + (-1)*b``, ``a / b`` as ``a * b**(-1)``, ``a < b`` as ``step(b - a)`` and
``a <= b`` as ``1 - step(a - b)``, with ``step(x)`` equal to 1 for ``x > 0`` and to 0 otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any


@dataclass(frozen=True, slots=True)
class Number:
    """An exact rational number."""

    value: Fraction


@dataclass(frozen=True, slots=True)
class Pi:
    """The constant pi."""


@dataclass(frozen=True, slots=True)
class Variable:
    """A latent direction ``h1``, an in-label noise ``z1``, or the argument of a function."""

    name: str


class _Inner:
    """A node with nodes below it: its hash, which walks over all of them, is computed once."""

    __slots__ = ("_hash",)
    _hash: int


@dataclass(frozen=True, slots=True)
class Sum(_Inner):
    """A sum of two or more terms."""

    terms: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Product(_Inner):
    """A product of two or more factors."""

    factors: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Power(_Inner):
    """A base to a constant rational exponent."""

    base: Node
    exponent: Fraction


@dataclass(frozen=True, slots=True)
class Exponential(_Inner):
    """A base to an exponent that is not a number; the normal form rewrites it with ``exp``."""

    base: Node
    exponent: Node


@dataclass(frozen=True, slots=True)
class Hermite(_Inner):
    """The probabilists' Hermite polynomial of one degree."""

    degree: int
    argument: Node


@dataclass(frozen=True, slots=True)
class Call(_Inner):
    """A named function of one or more arguments."""

    function: str
    arguments: tuple[Node, ...]


Node = Number | Pi | Variable | Sum | Product | Power | Exponential | Hermite | Call


def _remembered_expression_hash(whole_hash: Callable[[Any], int]) -> Callable[[Any], int]:
    def remembered(self: _Inner) -> int:
        try:
            return self._hash
        except AttributeError:
            object.__setattr__(self, "_hash", whole_hash(self))
            return self._hash

    return remembered


for _kind in (Sum, Product, Power, Exponential, Hermite, Call):
    _kind.__hash__ = _remembered_expression_hash(_kind.__hash__)  # type: ignore[assignment, method-assign]


def expression_children(node: Node) -> tuple[Node, ...]:
    """The nodes directly below."""
    match node:
        case Sum(terms):
            return terms
        case Product(factors):
            return factors
        case Call(_, arguments):
            return arguments
        case Power(base, _):
            return (base,)
        case Exponential(base, exponent):
            return (base, exponent)
        case Hermite(_, argument):
            return (argument,)
    return ()


def expression_with_children(node: Node, below: Sequence[Node]) -> Node:
    """The same kind of node over other nodes, given in the order of :func:`expression_children`."""
    match node:
        case Sum():
            return Sum(tuple(below))
        case Product():
            return Product(tuple(below))
        case Call(function, _):
            return Call(function, tuple(below))
        case Power(_, exponent):
            return Power(below[0], exponent)
        case Exponential():
            return Exponential(below[0], below[1])
        case Hermite(degree, _):
            return Hermite(degree, below[0])
    return node


def sum_expression(terms: Sequence[Node]) -> Node:
    """The sum of the terms; a single one is itself."""
    return Sum(tuple(terms)) if len(terms) > 1 else terms[0]


def replaced_expression(node: Node, new: Mapping[Node, Node]) -> Node:
    """The tree with some subtrees replaced by others."""
    if node in new:
        return new[node]
    return expression_with_children(
        node, [replaced_expression(child, new) for child in expression_children(node)]
    )


def walk_expression(node: Node) -> Iterator[Node]:
    """The node and everything below it, parents first."""
    waiting = [node]
    while waiting:
        current = waiting.pop()
        yield current
        waiting.extend(expression_children(current))


def expression_variables(node: Node) -> frozenset[str]:
    """The names of the variables that the node depends on."""
    return frozenset(part.name for part in walk_expression(node) if isinstance(part, Variable))
