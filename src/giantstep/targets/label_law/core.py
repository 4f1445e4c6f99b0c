"""A simpler target whose labels tell exactly the same.

What a label tells about the directions depends on which inputs share it, not on how it is written:
tanh(h1*h2) tells what h1*h2 tells, and that does not saturate. And a target of two combinations of
its directions is written in those.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from jaxtyping import Float

from giantstep.errors import TargetError
from giantstep.targets.evaluate import NUMPY, evaluate
from giantstep.targets.expression import Target
from giantstep.targets.language import FUNCTIONS
from giantstep.targets.normal import normal_form
from giantstep.targets.polynomial import Unusable, to_tree
from giantstep.targets.printing import to_text
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
from giantstep.targets.used_subspace import used_subspace

#: Functions that rise strictly wherever they are defined.
RISING = frozenset({"tanh", "erf", "sigmoid", "softplus", "exp", "log", "Phi"})


@dataclass(frozen=True, eq=False)
class LabelCore:
    """A simpler target, and its directions as orthonormal rows in those of the given one."""

    target: Target
    rows: Float[np.ndarray, "m r"]


def label_core(target: Target, *, noise: float = 0.0) -> LabelCore:
    """The simplest target whose labels, with noise of the given variance, tell the same.

    >>> core = label_core(Target("tanh(4*h1*h3 + 4*h2*h3)"))
    >>> core.target, core.rows.round(3).tolist()
    (Target('h1*h2'), [[0.707, 0.707, 0.0], [0.0, 0.0, 1.0]])
    """
    # Noise is added after the outer function: with it the outer function matters.
    core = _in_used_directions(target)
    return core if noise > 0 else LabelCore(undone(core.target), core.rows)


@functools.lru_cache(maxsize=256)
def undone(target: Target) -> Target:
    """The smallest expression of which the target is a strictly monotone function.

    >>> undone(Target("3*tanh(h1*h2)**3 + tanh(h1*h2) - 1"))
    Target('h1*h2')
    >>> undone(Target("h1**2"))
    Target('h1**2')
    """
    names = variables(target.tree)
    candidates = [node for node in set(walk(target.tree)) if variables(node) == names]
    for node in sorted(candidates, key=_size):
        if _direction(target.tree, node):
            try:
                return Target(to_text(_bare(node)))
            except TargetError:  # not square integrable, as an argument of tanh may be
                continue
    return target


@functools.lru_cache(maxsize=256)
def _in_used_directions(target: Target) -> LabelCore:
    """The target as a function of coordinates in its used subspace."""
    used = used_subspace(target)
    if len(used) == target.rank:
        return LabelCore(target, np.eye(target.rank))
    new: dict[Node, Node] = {
        Variable(f"h{axis + 1}"): Sum(
            tuple(
                Product((Number(Fraction(float(entry))), Variable(f"h{row + 1}")))
                for row, entry in enumerate(used[:, axis])
            )
        )
        for axis in range(target.rank)
    }
    try:
        text = to_text(to_tree(normal_form(replaced(target.tree, new))))
        return LabelCore(Target(text), used)
    except (TargetError, Unusable):  # too long to be written down
        return LabelCore(target, np.eye(target.rank))


def _size(node: Node) -> tuple[int, str]:
    return sum(1 for _ in walk(node)), to_text(node)


def _direction(node: Node, inner: Node) -> int | None:
    """+1 or -1 if the node rises or falls strictly with the inner one, 0 if it is constant."""
    if node == inner:
        return 1
    if not variables(node):
        return 0
    match node:
        case Sum(terms):
            found = {_direction(term, inner) for term in terms} - {0}
            return found.pop() if len(found) == 1 else None
        case Product(factors):
            moving = [factor for factor in factors if variables(factor)]
            if len(moving) > 1:
                return None
            inside, sign = _direction(moving[0], inner), np.sign(_constant(factors))
            return None if inside is None else inside * int(sign)
        case Call(function, (argument,)) if function in RISING:
            return _direction(argument, inner)
        case Power(base, exponent) if exponent > 0 and (_is_odd(exponent) or _never_negative(base)):
            return _direction(base, inner)
        case Power(base, _) if _never_negative(base):
            below = _direction(base, inner)
            return None if below is None else -below
    return None


def _is_odd(exponent: Fraction) -> bool:
    return exponent.denominator == 1 and exponent.numerator % 2 == 1


def _never_negative(node: Node) -> bool:
    match node:
        case Call(function, _):
            return FUNCTIONS[function].nonnegative
        case Power(base, exponent):
            # A fractional power is defined for bases that are never negative only.
            return exponent.denominator > 1 or not _is_odd(exponent) or _never_negative(base)
        case Sum(parts) | Product(parts):
            return all(_never_negative(part) for part in parts)
    return not variables(node) and bool(evaluate(node, NUMPY, {}) >= 0)


def _constant(factors: Sequence[Node]) -> float:
    return math.prod(float(evaluate(x, NUMPY, {})) for x in factors if not variables(x))


def _bare(node: Node) -> Node:
    """The node without constant terms and factors, and without a common odd power of all factors.

    So 2*h1**3*h2**3 becomes h1*h2.
    """
    match node:
        case Sum(parts) | Product(parts) if any(not variables(part) for part in parts):
            moving = tuple(part for part in parts if variables(part))
            return _bare(type(node)(moving) if len(moving) > 1 else moving[0])
        case Product(factors):
            powers = {x.exponent if isinstance(x, Power) else Fraction(1) for x in factors}
            if len(powers) == 1 and powers != {1} and all(p > 0 and _is_odd(p) for p in powers):
                return Product(tuple(x.base for x in factors if isinstance(x, Power)))
    return node
