"""Labels that move continuously with one direction only; the others act through finite classes.

In h1**2 + sign(h1*h2*h3) the signs of h2 and h3 choose one of two functions of h1, its branches.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from jaxtyping import Float

from giantstep.numerics.grids import GaussianGrid
from giantstep.numerics.hermite import MultiIndex, multi_indices
from giantstep.numerics.monotone import Function, Pieces, monotone_pieces
from giantstep.targets.evaluate import NUMPY, evaluate
from giantstep.targets.expression import Target
from giantstep.targets.integration import Block, integrable, integrate
from giantstep.targets.kinks import find_kinks
from giantstep.targets.labels import joint_values, sharing_variables
from giantstep.targets.language import FUNCTIONS
from giantstep.targets.normal import normal_form
from giantstep.targets.polynomial import to_tree
from giantstep.targets.tree import (
    Call,
    Node,
    Number,
    Product,
    Sum,
    Variable,
    children,
    replaced,
    variables,
    with_children,
)

#: More classes of the other directions than this are not treated one by one.
MAX_CLASSES = 64


@dataclass(frozen=True, eq=False)
class Branch:
    """A function of one direction, its kinks, and E[1{class} He_j] of the other directions."""

    function: Function
    kinks: Sequence[float]
    moments: Float[np.ndarray, " indices"]

    @functools.cached_property
    def pieces(self) -> Pieces:
        """The intervals on which the function is monotone or flat."""
        return monotone_pieces(self.function, self.kinks)


@dataclass(frozen=True, eq=False)
class Branches:
    """The branches of a label; ``axis`` is the direction with which it moves.

    ``indices`` are multi-indices of all directions; a branch's moments leave ``axis`` out.
    ``error`` bounds the errors of those moments, divided by sqrt(j!).
    """

    branches: tuple[Branch, ...]
    axis: int
    indices: tuple[MultiIndex, ...]
    error: float = 0.0

    @property
    def powers(self) -> list[int]:
        """The degree of each multi-index in the direction with which the label moves."""
        return [index[self.axis] for index in self.indices]


def single_branch(function: Function, kinks: Sequence[float], degree: int) -> Branches:
    """A label that depends on one direction only."""
    indices = multi_indices(1, degree)
    return Branches((Branch(function, kinks, np.ones(len(indices))),), 0, indices)


def branches_of(target: Target, degree: int) -> Branches | None:
    """The branches of a target; None if it is not of this kind.

    >>> found = branches_of(Target("h1**2 + sign(h1*h2*h3)"), 2)
    >>> sorted(float(branch.function(np.array(2.0))) for branch in found.branches)
    [3.0, 5.0]
    """
    tree = _with_split_signs(target.tree)
    moving = _outside_of_classes(tree)
    if len(moving) != 1 or not (name := moving.pop()).startswith("h"):
        return None
    atoms = _atoms(tree, name)
    groups = sharing_variables(atoms)
    if any(name in variables(atom) for atom in atoms) or not all(
        integrable(Block.of(tuple(group))) for group in groups
    ):
        return None
    classes = [_classes(group, degree) for group in groups]
    if math.prod(len(part.values) for part in classes) > MAX_CLASSES:
        return None
    indices = multi_indices(target.rank, degree)
    moments: dict[Node, np.ndarray] = {}
    for choice in itertools.product(*(range(len(part.values)) for part in classes)):
        known: dict[Node, Node] = {}
        product = np.ones(len(indices))
        for part, row in zip(classes, choice, strict=True):
            known |= part.known(row)
            product = product * part.on(indices)[row]
        # In normal form, so that classes with the same branch are joined.
        branch = to_tree(normal_form(replaced(tree, known)))
        moments[branch] = moments.get(branch, np.zeros(len(indices))) + product
    return Branches(
        tuple(
            Branch(
                _on_line(Block((branch,), (name,))),
                find_kinks(branch, (name,)).positions[name],
                product,
            )
            for branch, product in moments.items()
        ),
        int(name[1:]) - 1,
        indices,
        sum(part.error for part in classes),
    )


def _on_line(block: Block) -> Function:
    return lambda h: block(h[..., None])


def _with_split_signs(node: Node) -> Node:
    """sign(a*b) as sign(a)*sign(b), and step(a*b) as (1 + sign(a)*sign(b))/2, everywhere."""
    below = [_with_split_signs(child) for child in children(node)]
    if not (isinstance(node, Call) and below and isinstance(below[0], Product)):
        return with_children(node, below)
    signs = Product(tuple(Call("sign", (factor,)) for factor in below[0].factors))
    if node.function == "step":
        half = Number(Fraction(1, 2))
        return Sum((half, Product((half, *signs.factors))))
    return signs if node.function == "sign" else with_children(node, below)


def _outside_of_classes(node: Node) -> set[str]:
    """The variables with which the value moves, not counting signs and steps."""
    if isinstance(node, Variable):
        return {node.name}
    if isinstance(node, Call) and FUNCTIONS[node.function].finite:
        return set()
    return set().union(*(_outside_of_classes(child) for child in children(node)))


def _atoms(node: Node, name: str) -> list[Node]:
    """The topmost signs and steps that depend on other variables than the named one."""
    if isinstance(node, Call) and FUNCTIONS[node.function].finite:
        return [node] if variables(node) - {name} else []
    found = [atom for child in children(node) for atom in _atoms(child, name)]
    return list(dict.fromkeys(found))


@dataclass(frozen=True, eq=False)
class _Classes:
    """Signs and steps that share variables: their joint values, and moments on each of them."""

    atoms: tuple[Node, ...]
    values: Float[np.ndarray, "classes atoms"]
    axes: tuple[int, ...]
    table: Float[np.ndarray, "classes ..."]
    error: float

    def known(self, row: int) -> dict[Node, Node]:
        """The atoms' values in one class, as numbers."""
        values = [Number(Fraction(float(value))) for value in self.values[row]]
        return dict(zip(self.atoms, values, strict=True))

    def on(self, indices: Sequence[MultiIndex]) -> Float[np.ndarray, "classes indices"]:
        """E[1{class} He_j], j reduced to the directions on which the classes depend."""
        places: list[Any] = [[index[axis] for index in indices] for axis in self.axes]
        return self.table[(slice(None), *places)] if places else self.table[:, None]


def _classes(atoms: Sequence[Node], degree: int) -> _Classes:
    block, values = Block.of(tuple(atoms)), joint_values(atoms)
    rank, noises = block.latent, len(block.names) - block.latent
    norms = functools.reduce(
        np.multiply.outer,
        [np.sqrt([math.factorial(k) for k in range(degree + 1)])] * rank,
        np.array(1.0),
    )

    def tables(grid: GaussianGrid, _: np.ndarray) -> np.ndarray:
        points = grid.points()
        known = {name: points[..., axis] for axis, name in enumerate(block.names)}
        labels = np.stack([evaluate(atom, NUMPY, known) for atom in atoms], axis=-1)
        rows = [
            grid.contract(1.0 * np.all(labels == row, axis=-1), [degree] * rank + [0] * noises)
            for row in values
        ]
        return np.stack([row.reshape((degree + 1,) * rank) / norms for row in rows])

    table, error, _ = integrate(block, tables)
    axes = tuple(int(name[1:]) - 1 for name in block.names[:rank])
    return _Classes(tuple(atoms), values, axes, table * norms, error)
