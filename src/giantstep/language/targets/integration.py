"""Gaussian integrals of expressions: which rule, at which resolution, with which error.

Smooth functions go to Gauss-Hermite first. Kinks at fixed positions of an axis are panel edges of
a product of Gauss-Legendre rules; kinks on other surfaces cut every line of the last axis. The
resolution grows until two successive rules agree; their difference is the error that is reported.

``tanh(h1) + ... + tanh(h9)`` or ``sign(h1*h2*h3*h4*h5)`` needs no integral in nine or five
dimensions: expectations of products of functions of different variables factorise.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Inexact, Shaped

from giantstep.language.expressions.evaluate import NUMPY, evaluate_expression
from giantstep.language.expressions.kinks import (
    Kinks,
    expression_kink_surfaces,
    expression_kinks,
    expressions_by_variables,
)
from giantstep.language.expressions.tree import (
    Call,
    Node,
    Product,
    Sum,
    Variable,
    expression_variables,
    replaced_expression,
)
from giantstep.language.targets.target import Target
from giantstep.numerics.grids import (
    Function,
    GaussianGrid,
    aligned_grid,
    grid_split_at_surfaces,
    hermite_grid,
    rotated_function,
)
from giantstep.numerics.linear_algebra import is_permutation_matrix

#: Terms of an expanded sum; beyond it the target counts as not separable.
MAX_TERMS = 64

Factors = tuple[Node, ...]


def separated_target(node: Node) -> tuple[Factors, ...] | None:
    """The node as a sum of products of factors, or None if that takes too many terms.

    >>> from giantstep.language.expressions.tree import Variable
    >>> h1, h2 = Variable("h1"), Variable("h2")
    >>> len(separated_target(Sum((h1, Call("sign", (Product((h1, h2)),)))))[1])
    2
    """
    try:
        return _target_terms(node)
    except _TooManyTerms:
        return None


class _TooManyTerms(Exception):
    pass


def _target_terms(node: Node) -> tuple[Factors, ...]:
    match node:
        case Sum(terms):
            found = tuple(itertools.chain.from_iterable(_target_terms(term) for term in terms))
        case Product(factors):
            parts = [_target_terms(factor) for factor in factors]
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


def target_factors(factors: Factors) -> tuple[float, tuple[Factors, ...]]:
    """The constant factors multiplied, and the others grouped so that groups share no variable."""
    moving = [factor for factor in factors if expression_variables(factor)]
    constant = [
        float(evaluate_expression(x, NUMPY, {})) for x in factors if not expression_variables(x)
    ]
    return math.prod(constant), tuple(map(tuple, expressions_by_variables(moving)))


def renamed_target(node: Node, names: Mapping[str, str]) -> Node:
    """The same tree with some variables renamed."""
    return replaced_expression(node, {Variable(old): Variable(new) for old, new in names.items()})


#: Two rules agree if they differ by less than this, relative to the largest number computed, for
#: one, two, and more axes.
AGREEMENT = (1e-12, 1e-12, 1e-9)
#: Largest number of nodes of one rule.
MAX_POINTS = 3_200_000
#: Largest number of axes of a tensor product: with kinks, and for smooth functions.
MAX_AXES, MAX_SMOOTH_AXES = 3, 5

#: Gauss-Hermite orders, then (panel length, order) of Gauss-Legendre panels, by number of axes.
_HERMITE_ORDERS = {1: (64, 96), 2: (48, 64), 3: (32, 40), 4: (24, 32), 5: (12, 16)}
_PANELS = {
    1: ((1.0, 16), (1.0, 24), (0.5, 24), (0.25, 24), (0.1, 24)),
    2: ((3.34, 16), (3.34, 24), (1.67, 24), (0.84, 24), (0.42, 24)),
    3: ((3.34, 12), (3.34, 16), (3.34, 24)),
}


@dataclass(frozen=True)
class TargetBlock:
    """A product of expressions as a function on R^D: the variables in the order of ``names``."""

    factors: Factors
    names: tuple[str, ...]

    @classmethod
    def of(cls, factors: Factors) -> TargetBlock:
        """The block on its own variables: latent directions first, noises last."""
        names = frozenset().union(*[expression_variables(factor) for factor in factors])
        return cls(factors, tuple(sorted(names, key=lambda name: (name[0], int(name[1:])))))

    @property
    def latent(self) -> int:
        """Number of latent directions among the axes."""
        return sum(name.startswith("h") for name in self.names)

    def __call__(self, points: Float[np.ndarray, "... D"]) -> Float[np.ndarray, " ..."]:
        values = {name: points[..., axis] for axis, name in enumerate(self.names)}
        with np.errstate(all="ignore"):
            product = functools.reduce(
                lambda left, node: left * evaluate_expression(node, NUMPY, values),
                self.factors,
                1.0,
            )
        return np.broadcast_to(product, points.shape[:-1])

    def on_line(self, h: Float[np.ndarray, " ..."]) -> Float[np.ndarray, " ..."]:
        """The values of a block of one variable."""
        return self(h[..., None])

    @functools.cached_property
    def _found_kinks(self) -> Kinks:
        return expression_kinks(Product(self.factors), self.names)

    @property
    def kinks(self) -> tuple[tuple[float, ...], ...]:
        """Positions on each axis of the kinks that lie at a fixed value of one variable."""
        return tuple(self._found_kinks.positions[name] for name in self.names)

    @property
    def aligned(self) -> bool:
        """Whether those are all the kinks."""
        return self._found_kinks.aligned

    @property
    def smooth(self) -> bool:
        """Whether there are no kinks."""
        return self.aligned and not any(self.kinks)

    @functools.cached_property
    def surfaces(self) -> tuple[Function, ...]:
        """Functions u on R^D: the block is smooth away from u = 0."""
        return tuple(TargetBlock((node,), self.names) for node in self.surface_nodes)

    @functools.cached_property
    def surface_nodes(self) -> tuple[Node, ...]:
        """The same as expressions."""
        return expression_kink_surfaces(self.factors)


@functools.lru_cache(maxsize=256)
def target_block(target: Target) -> TargetBlock:
    """The target as one block on R^(r+m): latent directions, then in-label noises."""
    latent = tuple(f"h{i + 1}" for i in range(target.rank))
    return TargetBlock((target.tree,), latent + tuple(f"z{i + 1}" for i in range(target.noises)))


def is_target_integrable(block: TargetBlock) -> bool:
    """Whether a tensor product of rules can integrate the block."""
    return len(block.names) <= (MAX_SMOOTH_AXES if block.smooth else MAX_AXES)


def integrate_target(
    block: TargetBlock,
    functional: Callable[[GaussianGrid, np.ndarray], Inexact[np.ndarray, " ..."]],
    frame: Float[np.ndarray, "D D"] | None = None,
    agreement: float | None = None,
) -> tuple[Inexact[np.ndarray, " ..."], float, str]:
    """The functional's value, its error and the rule used.

    ``functional(grid, values)`` returns an array from the block's values on the grid's nodes. With
    a ``frame`` (orthonormal rows) the grid is in that frame's coordinates. ``agreement`` is the
    relative difference of two rules at which the finer one is good enough.
    """
    if agreement is None:
        agreement = AGREEMENT[min(len(block.names), 3) - 1]
    if frame is not None and is_permutation_matrix(frame):
        # Kinks along the axes stay along them.
        names = tuple(block.names[axis] for axis in np.argmax(frame, axis=1))
        block, frame = TargetBlock(block.factors, names), None
    function = block if frame is None else rotated_function(block, frame)
    previous, best = None, None
    for method, grid in _rules(block, frame):
        if np.prod(grid.shape) > MAX_POINTS and best is not None:
            break
        value = functional(grid, function(grid.points()))
        if previous is not None:
            error = float(np.max(np.abs(value - previous)))
            if best is None or error <= best[1]:
                best = (value, error, method)
            if error <= agreement * np.max(np.abs(value)):
                break
        previous = value
    assert best is not None
    return best


def target_norms_within(
    rank: int, degree: int
) -> tuple[Float[np.ndarray, " ..."], Bool[np.ndarray, " ..."]]:
    """sqrt(j!) as an array over multi-indices j, and whether j_1 + j_2 + ... <= degree."""
    roots = np.sqrt([math.factorial(k) for k in range(degree + 1)])
    norms = functools.reduce(np.multiply.outer, [roots] * rank, np.array(1.0))
    total = functools.reduce(np.add.outer, [np.arange(degree + 1)] * rank, np.array(0))
    return np.asarray(norms), np.asarray(total <= degree)


def target_hermite_tables(
    block: TargetBlock,
    degree: int,
    family: Callable[[GaussianGrid, np.ndarray], Iterable[np.ndarray]],
    agreement: float | None = None,
) -> tuple[Shaped[np.ndarray, "family ..."], float]:
    """E[f He_j(h)], j up to a degree in all, for functions f; and the error over sqrt(j!).

    ``family(grid, values)`` gives the functions at the grid's nodes. An array over j has zeros
    beyond the degree.
    """
    rank, noises = block.latent, len(block.names) - block.latent
    norms, within = target_norms_within(rank, degree)
    degrees = [degree] * rank + [0] * noises

    def tables(grid: GaussianGrid, values: np.ndarray) -> np.ndarray:
        found = [grid.contract(function, degrees) for function in family(grid, values)]
        return np.stack(found).reshape(-1, *norms.shape) / norms * within

    found, error, _ = integrate_target(block, tables, agreement=agreement)
    return found * norms, error


def _rules(block: TargetBlock, frame: np.ndarray | None) -> Iterator[tuple[str, GaussianGrid]]:
    axes = len(block.names)
    if block.smooth:
        for order in _HERMITE_ORDERS[axes]:
            yield f"Gauss-Hermite, order {order}", hermite_grid(axes, order)
    for length, order in _PANELS.get(axes, ()):
        grid = target_grid(block, length, order, frame)
        if block.aligned and frame is None:
            yield f"Gauss-Legendre, {grid.shape[0]} nodes per axis, split at kinks", grid
        else:
            yield f"Gauss-Legendre, {axes} axes one inside the other, split at kinks", grid


def target_grid(
    block: TargetBlock, length: float, order: int, frame: Float[np.ndarray, "D D"] | None = None
) -> GaussianGrid:
    """Gauss-Legendre panels of at most this length, split where the block has kinks."""
    if block.aligned and frame is None:
        return aligned_grid(block.kinks, length, order)
    return grid_split_at_surfaces(_surfaces_by_axis(block, frame), length, order)


def _surfaces_by_axis(block: TargetBlock, frame: np.ndarray | None) -> list[list[Function]]:
    """For each axis the kink surfaces that depend on it and on axes before it only."""
    by_axis: list[list[Function]] = [[] for _ in block.names]
    if frame is not None:
        by_axis[-1] = [rotated_function(surface, frame) for surface in block.surfaces]
        return by_axis
    for node in block.surface_nodes:
        last = max(block.names.index(name) for name in expression_variables(node))
        by_axis[last].append(TargetBlock((node,), block.names[: last + 1]))
    return by_axis
