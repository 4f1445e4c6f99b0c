"""Where a target is not smooth, and the values of one that takes finitely many."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from giantstep.language.expressions.evaluate import NUMPY, evaluate_expression, expression_on_line
from giantstep.language.expressions.integrability import expression_vanishes, singular_expression
from giantstep.language.expressions.language import FUNCTIONS
from giantstep.language.expressions.normal import normal_form
from giantstep.language.expressions.polynomial import (
    Monomial,
    Polynomial,
    add_polynomials,
    polynomial_expression,
    scaled_polynomial,
)
from giantstep.language.expressions.tree import (
    Call,
    Node,
    Variable,
    expression_children,
    expression_variables,
    walk_expression,
)
from giantstep.numerics.grids import thinned
from giantstep.numerics.quadrature import CUTOFF
from giantstep.numerics.solve import bisected, narrowed_minima

#: Kinks are looked for on a grid that avoids round numbers.
_GRID = np.linspace(-CUTOFF, CUTOFF, 4000)


@dataclass(frozen=True)
class Kinks:
    """Positions on each axis, and whether that is all of them."""

    positions: dict[str, tuple[float, ...]]
    aligned: bool


def expression_kinks(tree: Node, names: Sequence[str]) -> Kinks:
    """The kinks, jumps and integrable poles of a tree in normal form."""
    found: dict[str, set[float]] = {name: set() for name in names}
    aligned = True
    for argument, may_touch in _kink_expressions(tree):
        for factor in _separated(argument):
            node = polynomial_expression(factor)
            inside = sorted(expression_variables(node))
            if len(inside) == 1:
                found[inside[0]].update(_expression_roots(node, inside[0], may_touch))
            elif inside and expression_vanishes(node, inside):
                aligned = False
    return Kinks({name: tuple(thinned(found[name], 1e-9).tolist()) for name in names}, aligned)


def expression_kink_surfaces(nodes: Sequence[Node], singular: bool = True) -> tuple[Node, ...]:
    """Expressions u such that the nodes are smooth away from the surfaces u = 0.

    Without the ``singular`` ones, bases of roots, logarithms and denominators, those of kinks and
    jumps alone.
    """
    sources = itertools.chain.from_iterable(_kink_expressions(node) for node in nodes)
    kept = (argument for argument, is_singular in sources if singular or not is_singular)
    factors = [
        polynomial_expression(factor) for argument in kept for factor in _separated(argument)
    ]
    return tuple(dict.fromkeys(factor for factor in factors if expression_variables(factor)))


def _kink_expressions(tree: Node) -> Iterator[tuple[Polynomial, bool]]:
    """Expressions at whose zeros the tree is not smooth; and whether touching zero is enough."""
    for part in dict.fromkeys(walk_expression(tree)):
        match part:
            case Call(function, arguments) if FUNCTIONS[function].many_arguments:
                for first, second in itertools.combinations(map(normal_form, arguments), 2):
                    yield add_polynomials(first, scaled_polynomial(second, Fraction(-1))), False
            case Call(function, (argument,)) if FUNCTIONS[function].kink:
                yield normal_form(argument), False
            case _ if (base := singular_expression(part)) is not None:
                yield normal_form(base), True


def _separated(polynomial: Polynomial) -> Iterator[Polynomial]:
    """Factors of one variable each, as far as they split off, then the rest."""
    names = {
        name
        for monomial in polynomial
        for g, _ in monomial
        for name in expression_variables(g.node)
    }
    for name in sorted(names):
        factors = _split_off(polynomial, name)
        if factors is not None:
            yield factors[0]
            polynomial = factors[1]
    yield polynomial


def _split_off(polynomial: Polynomial, name: str) -> tuple[Polynomial, Polynomial] | None:
    """p(h) = q(h_name) * rest(h), if the table of its coefficients has rank one."""
    table: dict[Monomial, Polynomial] = {}
    for monomial, coefficient in polynomial.items():
        own = tuple((g, n) for g, n in monomial if name in expression_variables(g.node))
        if any(len(expression_variables(g.node)) > 1 for g, _ in own):
            return None
        rest = tuple((g, n) for g, n in monomial if name not in expression_variables(g.node))
        table.setdefault(own, {})[rest] = coefficient
    first = next(iter(table.values()))
    pivot, value = next(iter(first.items()))
    ratios = {own: row.get(pivot, Fraction(0)) / value for own, row in table.items()}
    if all(row == scaled_polynomial(first, ratios[own]) for own, row in table.items()):
        return ratios, first
    return None


def _expression_roots(node: Node, name: str, may_touch: bool) -> list[float]:
    """The sign changes of a function of one variable; if asked, also where it touches zero."""
    values = expression_on_line(node, name, _GRID)
    signs = np.sign(values)
    before = np.flatnonzero((signs[1:] != signs[:-1]) & ~np.isnan(signs[1:] + signs[:-1]))
    low, high = _GRID[before], _GRID[before + 1]
    low, high = bisected(
        lambda x: np.sign(expression_on_line(node, name, x)) != signs[before], low, high, 55
    )
    crossings = [_rounded_kink(x) for x in (low + high) / 2]
    return crossings + (_expression_touches_zero(node, name, np.abs(values)) if may_touch else [])


def _expression_touches_zero(node: Node, name: str, size: np.ndarray) -> list[float]:
    left, middle, right = size[:-2], size[1:-1], size[2:]
    lowest = np.flatnonzero((middle <= left) & (middle <= right) & (left > 0) & (right > 0))
    position = narrowed_minima(
        lambda x: np.abs(expression_on_line(node, name, x)), _GRID[lowest], _GRID[lowest + 2]
    )
    # A minimum is only known to the square root of the rounding error.
    zero = np.abs(expression_on_line(node, name, position)) < 1e-12
    return [_rounded_kink(x, digits=4, error=1e-7) for x in position[zero]]


def _rounded_kink(x: float, digits: int = 6, error: float = 1e-9) -> float:
    """The nearby short decimal, if the root is one up to rounding errors."""
    short = round(float(x), digits)
    return short + 0.0 if abs(short - x) < error else float(x)


#: More values than this are not listed.
MAX_VALUES = 256
_POINTS = 4000


def discrete_expression_values(tree: Node) -> tuple[float, ...] | None:
    """The sorted values if the tree takes finitely many, else None.

    That they are finitely many is read off the tree. Which of them occur is found out by
    evaluating its signs and steps on many points, jointly where they share variables and
    independently where they do not.
    """
    atoms, rest = expression_atoms(tree)
    if rest:
        return None
    combinations = [joint_expression_values(group) for group in expressions_by_variables(atoms)]
    if np.prod([len(rows) for rows in combinations], dtype=float) > 100 * MAX_VALUES:
        return None
    flat = [atom for group in expressions_by_variables(atoms) for atom in group]
    table = np.array([np.concatenate(rows) for rows in itertools.product(*combinations)])
    known = {atom: table[:, i] for i, atom in enumerate(flat)}
    with np.errstate(all="ignore"):
        values = np.broadcast_to(evaluate_expression(tree, NUMPY, {}, known), len(table))
    distinct = np.unique(np.round(values, 12))
    return tuple(float(v) + 0.0 for v in distinct) if len(distinct) <= MAX_VALUES else None


def expression_atoms(node: Node) -> tuple[list[Node], set[str]]:
    """The topmost signs and steps, and the variables that are used outside of them."""
    if isinstance(node, Variable):
        return [], {node.name}
    if isinstance(node, Call) and FUNCTIONS[node.function].finite:
        return [node], set()
    below = [expression_atoms(child) for child in expression_children(node)]
    atoms = dict.fromkeys(atom for found, _ in below for atom in found)
    return list(atoms), set().union(*(rest for _, rest in below))


def expressions_by_variables(atoms: Sequence[Node]) -> list[list[Node]]:
    """The atoms in groups: those in different groups depend on different variables."""
    groups: list[list[Node]] = []
    for atom in atoms:
        names = expression_variables(atom)
        joined = [g for g in groups if any(names & expression_variables(other) for other in g)]
        groups = [g for g in groups if g not in joined]
        groups.append([other for g in joined for other in g] + [atom])
    return groups


def joint_expression_values(atoms: Sequence[Node]) -> np.ndarray:
    """The distinct rows of joint values that occur."""
    names = sorted({name for atom in atoms for name in expression_variables(atom)})
    random = np.random.default_rng(0)
    cloud = (
        random.standard_normal((3, _POINTS, len(names))) * np.array([1.0, 2.0, 4.0])[:, None, None]
    )
    box = random.uniform(-9.0, 9.0, (_POINTS, len(names)))
    points = np.concatenate([*cloud, box])
    at = {name: points[:, i] for i, name in enumerate(names)}
    with np.errstate(all="ignore"):
        columns = [evaluate_expression(atom, NUMPY, at) for atom in atoms]
    return np.unique(np.stack(columns, axis=1), axis=0)
