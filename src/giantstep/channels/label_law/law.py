"""What a target's labels say about its directions: E[1{y in cell} He_j(h)], by the best method.

What a label tells about the directions depends on which inputs share it, not on how it is written:
tanh(h1*h2) tells what h1*h2 tells, and that does not saturate. And a target of two combinations of
its directions is written in those.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from giantstep.channels.label_law import LabelMoments
from giantstep.channels.label_law.branches import (
    NODES,
    label_branches,
    label_preimage_moments,
    single_label_branch,
)
from giantstep.channels.label_law.noisy import (
    LABEL_ORDER,
    noisy_label_moments,
    smeared_label_classes,
)
from giantstep.channels.label_law.slices import (
    Effort,
    Slicing,
    reordered_label,
    sliced_label_moments,
)
from giantstep.errors import TargetError
from giantstep.language.expressions.language import FUNCTIONS
from giantstep.language.expressions.normal import normal_form
from giantstep.language.expressions.polynomial import (
    Unusable,
    is_nonnegative_polynomial,
    polynomial_expression,
)
from giantstep.language.expressions.printing import expression_text
from giantstep.language.expressions.tree import (
    Call,
    Node,
    Number,
    Power,
    Product,
    Sum,
    Variable,
    expression_variables,
    replaced_expression,
    walk_expression,
)
from giantstep.language.targets.expansion import target_expansion
from giantstep.language.targets.hermite import target_subspace
from giantstep.language.targets.integration import (
    TargetBlock,
    is_target_integrable,
    target_block,
    target_factors,
    target_hermite_tables,
)
from giantstep.language.targets.target import Target
from giantstep.numerics.grids import GaussianGrid
from giantstep.numerics.hermite import MultiIndex, multi_indices


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
    core = _label_in_used_directions(target)
    return core if noise > 0 else LabelCore(_undone_label_function(core.target), core.rows)


@functools.lru_cache(maxsize=256)
def _undone_label_function(target: Target) -> Target:
    """The smallest expression of which the target is a strictly monotone function.

    >>> _undone_label_function(Target("3*tanh(h1*h2)**3 + tanh(h1*h2) - 1"))
    Target('h1*h2')
    >>> _undone_label_function(Target("h1**2"))
    Target('h1**2')
    """
    names = expression_variables(target.tree)
    candidates = [
        node for node in set(walk_expression(target.tree)) if expression_variables(node) == names
    ]
    for node in sorted(
        candidates, key=lambda node: (sum(1 for _ in walk_expression(node)), expression_text(node))
    ):
        if _label_slope(target.tree, node):
            try:
                return Target(expression_text(_bare_label_expression(node)))
            except TargetError:  # not square integrable, as an argument of tanh may be
                continue
    return target


@functools.lru_cache(maxsize=256)
def _label_in_used_directions(target: Target) -> LabelCore:
    """The target as a function of coordinates in its used subspace."""
    used = target_subspace(target)
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
        text = expression_text(
            polynomial_expression(normal_form(replaced_expression(target.tree, new)))
        )
        return LabelCore(Target(text), used)
    except (TargetError, Unusable):  # too long to be written down
        return LabelCore(target, np.eye(target.rank))


def _label_slope(node: Node, inner: Node) -> int | None:
    """+1 or -1 if the node rises or falls strictly with the inner one, 0 if it is constant."""
    if node == inner:
        return 1
    if not expression_variables(node):
        return 0
    match node:
        case Sum(terms):
            found = {_label_slope(term, inner) for term in terms} - {0}
            return found.pop() if len(found) == 1 else None
        case Product(factors):
            moving = [factor for factor in factors if expression_variables(factor)]
            if len(moving) > 1:
                return None
            inside, sign = _label_slope(moving[0], inner), np.sign(target_factors(factors)[0])
            return None if inside is None else inside * int(sign)
        case Call(function, (argument,)) if FUNCTIONS[function].rising:
            return _label_slope(argument, inner)
        case Power(base, exponent) if exponent > 0 and _odd_label(exponent):
            return _label_slope(base, inner)
        case Power(base, exponent) if exponent.denominator > 1 or is_nonnegative_polynomial(
            normal_form(base)
        ):
            below = _label_slope(base, inner)
            return below if below is None or exponent > 0 else -below
    return None


def _odd_label(exponent: Fraction) -> bool:
    return exponent.denominator == 1 and exponent.numerator % 2 == 1


def _bare_label_expression(node: Node) -> Node:
    """The node without constant terms and factors, and without a common odd power of all factors.

    So 2*h1**3*h2**3 becomes h1*h2.
    """
    match node:
        case Sum(parts) | Product(parts) if any(not expression_variables(part) for part in parts):
            moving = tuple(part for part in parts if expression_variables(part))
            return _bare_label_expression(type(node)(moving) if len(moving) > 1 else moving[0])
        case Product(factors):
            powers = {x.exponent if isinstance(x, Power) else Fraction(1) for x in factors}
            if len(powers) == 1 and powers != {1} and all(p > 0 and _odd_label(p) for p in powers):
                return Product(tuple(x.base for x in factors if isinstance(x, Power)))
    return node


#: Degree up to which sampled moments are kept.
SAMPLED_DEGREE = 6
MAX_SAMPLED_INDICES = 500
#: Moments kept of each class of labels.
MAX_CLASS_INDICES = 20_000


class Resolution(NamedTuple):
    """How finely labels are sampled on up to two axes, on three and on more; and the degree."""

    efforts: tuple[Effort, Effort, Effort]
    degree: int


#: Many moments on few cells, to find directions.
BROAD = Resolution(
    (Effort(800, 200, 100, 2), Effort(1000, 150, 80, 2), Effort(4000, 120, 64, 2)), SAMPLED_DEGREE
)
#: Few moments on many cells, for thresholds: a first look, and a closer one.
FINE = Resolution(
    (Effort(500, 500, 500, 6), Effort(400, 500, 300, 6), Effort(1500, 200, 200, 6)), 2
)
FINER = Resolution(
    (Effort(1200, 500, 500, 6), Effort(2000, 300, 300, 6), Effort(8000, 200, 200, 6)), 2
)


def label_moments(
    target: Target,
    noise: float = 0.0,
    degree: int = 8,
    resolution: Resolution = BROAD,
    seed: int = 0,
) -> LabelMoments:
    """The moments of h on cells of the label y = g(h, z) + sqrt(noise) xi.

    Their ``frame`` says in which coordinates: those of a simpler target that tells the same.

    Classes of labels by exact sums; labels that move with one direction by preimages, or by grids
    if there is noise; everything else by random lines (Monte Carlo in independent replicas).

    >>> label_moments(Target("He4(h1)")).method
    'preimages'
    """
    core = label_core(target, noise=noise)
    found = _cached_label_moments(core.target, float(noise), degree, resolution, seed)
    coarse = found.coarse and replace(found.coarse, frame=core.rows)
    return replace(found, frame=core.rows, coarse=coarse)


@functools.lru_cache(maxsize=64)
def _cached_label_moments(
    target: Target, noise: float, degree: int, resolution: Resolution, seed: int
) -> LabelMoments:
    exact = exact_label_moments(target, degree, noise)
    if exact is not None:
        return exact
    degree = min(degree, resolution.degree)
    while degree > 2 and math.comb(target.rank + degree, degree) > MAX_SAMPLED_INDICES:
        degree -= 1
    problem = _label_view(target) if noise == 0 else _label_with_noise(_label_view(target), noise)
    effort = resolution.efforts[min(max(problem.axes - 2, 0), 2)]
    return sliced_label_moments(problem, degree, effort, seed)


@functools.lru_cache(maxsize=64)
def exact_label_moments(target: Target, degree: int, noise: float) -> LabelMoments | None:
    """The same in the target's own coordinates; None where labels would have to be sampled."""
    branches = None
    if target.rank == 1 and not target.noises:
        branches = single_label_branch(target_block(target).on_line, target.kinks[0], degree)
    elif target.discrete_values is None:
        branches = label_branches(target, _label_class_degree(target, degree))
    if target.discrete_values is not None and (branches is None or noise > 0):
        return _label_class_moments(target, noise, degree)
    if branches is None:
        return None
    if noise > 0:
        coarse = noisy_label_moments(branches, noise, LABEL_ORDER - 2)
        found = noisy_label_moments(branches, noise)
    else:
        coarse = label_preimage_moments(branches, NODES // 4)
        found = label_preimage_moments(branches)
    return found and replace(found, coarse=coarse)


def _label_class_degree(target: Target, degree: int) -> int:
    """The degree up to which all moments of a class of labels are kept."""
    while math.comb(target.rank + degree, degree) > MAX_CLASS_INDICES:
        degree -= 1
    return degree


def _label_view(target: Target) -> Slicing:
    """The target as a function of its directions, then of its noises."""
    block = target_block(target)
    return Slicing(block, block.latent, block.kinks, () if block.aligned else block.surfaces)


def _label_with_noise(view: Slicing, noise: float) -> Slicing:
    """Label noise as one more noise inside the label."""
    deviation = math.sqrt(noise)

    def noisy(points: np.ndarray) -> np.ndarray:
        return view.function(points[..., :-1]) + deviation * points[..., -1]

    surfaces = tuple(reordered_label(surface, slice(-1)) for surface in view.surfaces)
    return Slicing(noisy, view.latent, (*view.kinks, ()), surfaces)


def _label_class_moments(target: Target, noise: float, degree: int) -> LabelMoments | None:
    values = target.discrete_values
    assert values is not None
    indices = multi_indices(target.rank, _label_class_degree(target, degree))
    if len(values) == 2:
        found = _two_label_classes(target, values, indices)
    elif is_target_integrable(target_block(target)):
        found = _label_classes_by_quadrature(target_block(target), values, indices)
    else:
        return None
    if found is None:
        return None
    moments, error = found
    if noise > 0:
        return smeared_label_classes(values, indices, moments, noise, error=error)
    kept = moments[:, 0] > 1e-12
    method = "exact sums over classes"
    return LabelMoments(indices, moments[kept, 0], moments[None, kept], method, error=error)


def _two_label_classes(
    target: Target, values: tuple[float, ...], indices: tuple[MultiIndex, ...]
) -> tuple[Float[np.ndarray, "classes indices"], float] | None:
    """Indicators of two classes are linear functions of the label itself; None if it is sampled."""
    low, high = values
    found = target_expansion(target, sum(indices[-1]))
    if found.sampled:
        return None
    of_label = np.array([found.coefficients.get(j, 0.0) for j in indices])
    of_one = np.array([float(not any(j)) for j in indices])
    moments = np.stack([high * of_one - of_label, of_label - low * of_one]) / (high - low)
    return moments, found.error / (high - low)


def _label_classes_by_quadrature(
    block: TargetBlock, values: tuple[float, ...], indices: tuple[MultiIndex, ...]
) -> tuple[Float[np.ndarray, "classes indices"], float]:
    def indicators(_: GaussianGrid, labels: np.ndarray) -> list[np.ndarray]:
        return [1.0 * (np.abs(labels - value) < 1e-9) for value in values]

    table, error = target_hermite_tables(block, sum(indices[-1]), indicators)
    return table[(slice(None), *np.array(indices).T)], error
