"""Labels that move continuously with one direction only; the others act through finite classes.

In h1**2 + sign(h1*h2*h3) the signs of h2 and h3 choose one of two functions of h1, its branches.
Each branch is cut at kinks and critical points into monotone pieces. Given y, the moving direction
is one of the preimages z_i of y on all branches, with probability proportional to
phi(z_i) / |g'(z_i)| times the probability of the branch. Averages over y are integrals over h, cut
where the number of preimages changes; a flat piece is an atom of y.
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
from jaxtyping import Float, Int

from giantstep.channels.label_law import LabelMoments
from giantstep.language.expressions.kinks import (
    expression_atoms,
    expression_kinks,
    expressions_by_variables,
    joint_expression_values,
)
from giantstep.language.expressions.normal import normal_form
from giantstep.language.expressions.polynomial import polynomial_expression
from giantstep.language.expressions.tree import (
    Call,
    Node,
    Number,
    Product,
    Sum,
    expression_children,
    expression_variables,
    expression_with_children,
    replaced_expression,
)
from giantstep.language.targets.integration import (
    TargetBlock,
    is_target_integrable,
    target_hermite_tables,
)
from giantstep.language.targets.target import Target
from giantstep.numerics.grids import GaussianGrid
from giantstep.numerics.hermite import MultiIndex, hermite_primitives, hermite_values, multi_indices
from giantstep.numerics.pieces import Function, Pieces, monotone_pieces
from giantstep.numerics.quadrature import gauss_legendre

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


def single_label_branch(function: Function, kinks: Sequence[float], degree: int) -> Branches:
    """A label that depends on one direction only."""
    indices = multi_indices(1, degree)
    return Branches((Branch(function, kinks, np.ones(len(indices))),), 0, indices)


def label_branches(target: Target, degree: int) -> Branches | None:
    """The branches of a target; None if it is not of this kind.

    >>> found = label_branches(Target("h1**2 + sign(h1*h2*h3)"), 2)
    >>> sorted(float(branch.function(np.array(2.0))) for branch in found.branches)
    [3.0, 5.0]
    """
    tree = _label_with_split_signs(target.tree)
    every, moving = expression_atoms(tree)
    if len(moving) != 1 or not (name := moving.pop()).startswith("h"):
        return None
    atoms = [atom for atom in every if expression_variables(atom) - {name}]
    groups = expressions_by_variables(atoms)
    if any(name in expression_variables(atom) for atom in atoms) or not all(
        is_target_integrable(TargetBlock.of(tuple(group))) for group in groups
    ):
        return None
    classes = [_label_classes(group, degree) for group in groups]
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
        branch = polynomial_expression(normal_form(replaced_expression(tree, known)))
        moments[branch] = moments.get(branch, np.zeros(len(indices))) + product
    return Branches(
        tuple(
            Branch(
                TargetBlock((branch,), (name,)).on_line,
                expression_kinks(branch, (name,)).positions[name],
                product,
            )
            for branch, product in moments.items()
        ),
        int(name[1:]) - 1,
        indices,
        sum(part.error for part in classes),
    )


def _label_with_split_signs(node: Node) -> Node:
    """sign(a*b) as sign(a)*sign(b), and step(a*b) as (1 + sign(a)*sign(b))/2, everywhere."""
    below = [_label_with_split_signs(child) for child in expression_children(node)]
    if not (isinstance(node, Call) and below and isinstance(below[0], Product)):
        return expression_with_children(node, below)
    signs = Product(tuple(Call("sign", (factor,)) for factor in below[0].factors))
    if node.function == "step":
        half = Number(Fraction(1, 2))
        return Sum((half, Product((half, *signs.factors))))
    return signs if node.function == "sign" else expression_with_children(node, below)


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


def _label_classes(atoms: Sequence[Node], degree: int) -> _Classes:
    block, values = TargetBlock.of(tuple(atoms)), joint_expression_values(atoms)

    def indicators(grid: GaussianGrid, _: np.ndarray) -> list[np.ndarray]:
        points = grid.points()
        labels = np.stack([TargetBlock((atom,), block.names)(points) for atom in atoms], axis=-1)
        return [1.0 * np.all(labels == row, axis=-1) for row in values]

    table, error = target_hermite_tables(block, degree, indicators)
    axes = tuple(int(name[1:]) - 1 for name in block.names[: block.latent])
    return _Classes(tuple(atoms), values, axes, table, error)


MAX_PIECES = 80
#: Nodes in all, shared by the intervals between cuts (8 to 60 each).
NODES = 6000


def label_preimage_moments(branches: Branches, nodes: int = NODES) -> LabelMoments | None:
    """E[He_j(h) | y] at quadrature nodes of the law of y; None if the label oscillates too much.

    >>> from giantstep.channels.label_law.branches import single_label_branch
    >>> moments = label_preimage_moments(single_label_branch(lambda h: h**2, [], degree=2))
    >>> zeta = moments.moments[0, :, 2] / moments.mass
    >>> round(float(moments.mass @ zeta**2 / 2), 10)
    1.0
    """
    every = [branch.pieces for branch in branches.branches]
    if sum(map(len, every)) > MAX_PIECES:
        return None
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        cells = [_flat_labels(branches, every), _continuous_label_moments(branches, every, nodes)]
    moments = np.concatenate(cells, axis=0)
    moments[:, 0] = np.maximum(moments[:, 0], 0.0)
    keep = moments[:, 0] > 0
    moments = moments[keep] / moments[keep, 0].sum()
    return LabelMoments(
        branches.indices, moments[:, 0], moments[None], "preimages", error=branches.error
    )


def _flat_labels(branches: Branches, every: Sequence[Pieces]) -> Float[np.ndarray, "atoms indices"]:
    """The moments on the values that are taken on whole intervals."""
    values, rows = [], []
    for branch, pieces in zip(branches.branches, every, strict=True):
        flat, powers = pieces.flat, branches.powers
        high, low = (
            hermite_primitives(ends, max(powers)) for ends in (pieces.high[flat], pieces.low[flat])
        )
        values.append(np.round(pieces.at_low[flat], 12))
        rows.append((high - low)[powers].T * branch.moments)
    distinct, which = np.unique(np.concatenate(values), return_inverse=True)
    moments = np.zeros((len(distinct), len(branches.indices)))
    np.add.at(moments, which, np.concatenate(rows))
    return moments


def _continuous_label_moments(
    branches: Branches, every: Sequence[Pieces], count: int
) -> Float[np.ndarray, "nodes indices"]:
    """The moments at labels of positive density: nodes of all branches, weighted."""
    ends = [value[~pieces.flat] for pieces in every for value in (pieces.bottom, pieces.top)]
    special = _distinct_labels(np.concatenate(ends))
    cuts = [_label_intervals(pieces, special) for pieces in every]
    total = sum(len(low) for low, _, _ in cuts)
    powers = branches.powers
    if not total:
        return np.zeros((0, len(powers)))
    unit, weight = gauss_legendre(int(np.clip(count // total, 8, 60)))
    angle = np.pi * (unit + 1) / 2
    found = []
    for number, (low, high, owner) in enumerate(cuts):
        half = (high - low)[:, None] / 2
        nodes = (low[:, None] + half * (1 - np.cos(angle))).ravel()
        lengths = (half * (np.pi / 2) * weight * np.sin(angle)).ravel()
        density = np.exp(-(nodes**2) / 2) / math.sqrt(2 * math.pi)
        own = np.repeat(owner, len(unit))
        labels = every[number].function(nodes)
        given = np.zeros((len(nodes), len(powers)))
        for other, (branch, pieces) in enumerate(zip(branches.branches, every, strict=True)):
            bottom, top = (_snapped_labels(end, special) for end in (pieces.bottom, pieces.top))
            reached = (labels[:, None] > bottom) & (labels[:, None] < top) & ~pieces.flat
            if other == number:
                reached[np.arange(len(own)), own] = False
            node, piece = np.nonzero(reached)
            roots = pieces.solve(piece, labels[node])
            if other == number:
                # A node is a preimage of its own label, also where the slope vanishes.
                node = np.concatenate([node, np.arange(len(nodes))])
                roots = np.concatenate([roots, nodes])
            along = np.zeros((len(nodes), max(powers) + 1))
            np.add.at(
                along, node, (_label_density(branch, roots) * hermite_values(roots, max(powers))).T
            )
            given += along[:, powers] * branch.moments
        mass = lengths * density * branches.branches[number].moments[0]
        told = np.where(np.isfinite(given[:, :1]) & (given[:, :1] > 0), given / given[:, :1], 0.0)
        found.append(np.nan_to_num(mass[:, None] * told))
    return np.concatenate(found)


def _label_intervals(
    pieces: Pieces, special: Float[np.ndarray, " values"]
) -> tuple[Float[np.ndarray, " n"], Float[np.ndarray, " n"], Int[np.ndarray, " n"]]:
    """The pieces that are not flat, cut where the label is special: low and high ends, piece."""
    bottom, top = _snapped_labels(pieces.bottom, special), _snapped_labels(pieces.top, special)
    inside = (special > bottom[:, None]) & (special < top[:, None]) & ~pieces.flat[:, None]
    owner, which = np.nonzero(inside)
    cuts = pieces.solve(owner, special[which])
    found = []
    for piece in np.flatnonzero(~pieces.flat):
        fixed = np.arange(math.ceil(pieces.low[piece]), pieces.high[piece])
        edges = np.unique([pieces.low[piece], *cuts[owner == piece], *fixed, pieces.high[piece]])
        edges = edges[np.diff(edges, prepend=-np.inf) > 1e-7]
        found += [(a, b, piece) for a, b in itertools.pairwise(edges)]
    low, high, pieces_of = np.array(found).reshape(-1, 3).T
    return low, high, pieces_of.astype(int)


def _distinct_labels(values: np.ndarray) -> np.ndarray:
    """The sorted values, those that differ by rounding only counted once."""
    ordered = np.sort(values)
    return ordered[np.diff(ordered, prepend=-np.inf) > 1e-10 * (1 + np.abs(ordered))]


def _snapped_labels(values: np.ndarray, special: np.ndarray) -> np.ndarray:
    """Each value replaced by the special value that it equals up to rounding."""
    if not len(special):
        return values
    return special[np.argmin(np.abs(values[:, None] - special), axis=1)]


def _label_density(branch: Branch, z: np.ndarray) -> np.ndarray:
    """phi(z) / |g'(z)|, the derivative by differences of fourth order that stay off the kinks."""
    function: Function = branch.function
    step = np.full(z.shape, 1e-3)
    for kink in branch.kinks:
        step = np.minimum(step, np.abs(z - kink) / 2.5)
    step = np.maximum(step, 1e-13)
    slope = (
        8 * (function(z + step) - function(z - step))
        - (function(z + 2 * step) - function(z - 2 * step))
    ) / (12 * step)
    return np.exp(-(z**2) / 2) / np.abs(slope)
