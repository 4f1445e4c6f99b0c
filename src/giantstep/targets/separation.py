"""Targets of many variables that are sums of products of functions of few variables each.

``tanh(h1) + ... + tanh(h9)`` or ``sign(h1*h2*h3*h4*h5)`` needs no integral in nine or five
dimensions: expectations of products of functions of different variables factorise.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction

from giantstep.targets.evaluate import NUMPY, evaluate
from giantstep.targets.language import FUNCTIONS
from giantstep.targets.tree import (
    Call,
    Node,
    Number,
    Power,
    Product,
    Sum,
    Variable,
    replaced,
    variables,
    walk,
)

#: Terms of an expanded sum; beyond it the target counts as not separable.
MAX_TERMS = 64

Factors = tuple[Node, ...]


def separated(node: Node) -> tuple[Factors, ...] | None:
    """The node as a sum of products of factors, or None if that takes too many terms.

    >>> from giantstep.targets.tree import Variable
    >>> h1, h2 = Variable("h1"), Variable("h2")
    >>> len(separated(Sum((h1, Call("sign", (Product((h1, h2)),)))))[1])
    2
    """
    try:
        return _terms(node)
    except _TooManyTerms:
        return None


class _TooManyTerms(Exception):
    pass


def _terms(node: Node) -> tuple[Factors, ...]:
    match node:
        case Sum(terms):
            found = tuple(itertools.chain.from_iterable(_terms(term) for term in terms))
        case Product(factors):
            parts = [_terms(factor) for factor in factors]
            if math.prod(map(len, parts)) > MAX_TERMS:
                raise _TooManyTerms
            found = tuple(
                tuple(itertools.chain.from_iterable(choice)) for choice in itertools.product(*parts)
            )
        case Call("sign" | "abs" as name, (Product(factors),)):
            found = (tuple(Call(name, (factor,)) for factor in factors),)
        case _:
            found = ((node,),)
    if len(found) > MAX_TERMS:
        raise _TooManyTerms
    return found


def components(factors: Iterable[Node]) -> tuple[float, tuple[Factors, ...]]:
    """The constant factors multiplied, and the others grouped so that groups share no variable."""
    constant = 1.0
    groups: list[tuple[frozenset[str], Factors]] = []
    for factor in factors:
        names = variables(factor)
        if not names:
            constant *= float(evaluate(factor, NUMPY, {}))
            continue
        touching = [group for group in groups if group[0] & names]
        groups = [group for group in groups if not group[0] & names]
        merged = frozenset(names).union(*[group[0] for group in touching])
        groups.append((merged, (*itertools.chain.from_iterable(g[1] for g in touching), factor)))
    return constant, tuple(factors for _, factors in groups)


def renamed(node: Node, names: Mapping[str, str]) -> Node:
    """The same tree with some variables renamed."""
    return replaced(node, {Variable(old): Variable(new) for old, new in names.items()})


def kink_surfaces(nodes: Sequence[Node]) -> tuple[Node, ...]:
    """Expressions u such that the nodes are smooth away from the surfaces u = 0."""
    found: dict[Node, None] = {}
    for part in itertools.chain.from_iterable(walk(node) for node in nodes):
        match part:
            case Call(name, (argument,)) if FUNCTIONS[name].kink:
                candidates = [argument]
            case Call(name, arguments) if FUNCTIONS[name].kink:
                minus = Number(Fraction(-1))
                candidates = [
                    Sum((a, Product((minus, b)))) for a, b in itertools.combinations(arguments, 2)
                ]
            case Power(base, exponent) if exponent < 0 or exponent.denominator != 1:
                candidates = [base]
            case _:
                candidates = []
        for candidate in candidates:
            factors = candidate.factors if isinstance(candidate, Product) else (candidate,)
            found |= dict.fromkeys(factor for factor in factors if variables(factor))
    return tuple(found)
