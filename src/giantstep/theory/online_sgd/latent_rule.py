"""Nodes on the target's directions, with edges where the label changes its sign."""

from __future__ import annotations

import functools
import itertools

import numpy as np

from giantstep.errors import NoTheory
from giantstep.language.inputs import Gaussian, checked_input_law
from giantstep.language.problem import Problem
from giantstep.language.targets.integration import TargetBlock, target_block
from giantstep.numerics.grids import CUTOFF, is_above_surface, line_crossings
from giantstep.numerics.quadrature import Rule, gauss_hermite, split_gaussian, tensor_rule

#: By number of axes: Gauss-Hermite order, then order, length and reach of Gauss-Legendre panels.
_SMOOTH = {1: (80, 64), 2: (40, 32), 3: (22, 18)}
_PANELS = {
    1: ((20, 0.75, 9.0), (16, 1.0, 9.0)),
    2: ((12, 2.0, 8.0), (9, 2.0, 8.0)),
    3: ((8, 3.0, 7.0), (6, 3.0, 7.0)),
}
#: Nodes that weigh less are left out.
NEGLIGIBLE = 1e-18
#: Values of the other variables at which signs of the label are looked for along an axis, and
#: how closely.
_ELSEWHERE, _SPACING = (0.6, 1.1), 0.005


def check_isotropic(problem: Problem, what: str) -> None:
    """Refuse inputs under which equations of motion do not close in the overlaps."""
    why = "the equations close in the overlaps by isotropy"
    checked_input_law(problem.inputs, (Gaussian,), what, NoTheory, why)


@functools.lru_cache(maxsize=16)
def motion_rule(problem: Problem, *, label_signs: bool, noise_axis: bool, fine: bool) -> Rule:
    """A rule on the directions, the noises inside the label and, if asked, the label noise.

    With ``label_signs`` panels end where the label changes its sign, as far as that happens at
    fixed values of one variable.
    """
    block = target_block(problem.target)
    count = len(block.names) + noise_axis
    if count > 3:
        raise NoTheory(
            f"target = {problem.target.text!r}: equations of one neuron are solved for at most 3 "
            "directions and noises together"
        )
    number = 0 if fine else 1
    edges = [set(kinks) for kinks in block.kinks]
    if label_signs:
        edges = [own | _motion_sign_changes(block, axis) for axis, own in enumerate(edges)]
    if block.smooth and not label_signs:
        axes = [gauss_hermite(_SMOOTH[count][number])] * len(block.names)
    else:
        order, length, reach = _PANELS[count][number]
        axes = [split_gaussian(sorted(own), order, reach, length) for own in edges]
    if noise_axis:
        axes = [*axes, gauss_hermite(24 if fine else 18)]
    return tensor_rule(axes).without_rare(NEGLIGIBLE)


def _motion_sign_changes(block: TargetBlock, axis: int) -> set[float]:
    """Roots of the label along an axis that do not depend on the size of the other variables."""
    others = len(block.names) - 1
    found: set[float] = set()

    def label(points: np.ndarray) -> np.ndarray:
        """The label where the axis, along which lines run, is the last coordinate."""
        return block(np.insert(points[..., :-1], axis, points[..., -1], axis=-1))

    for signs in itertools.product((-1.0, 1.0), repeat=others):
        sizes = np.array(_ELSEWHERE[: 1 + bool(others)])
        lines = np.array(signs) * sizes[:, None]
        above = functools.partial(is_above_surface, label)
        roots = line_crossings([above], lines, spacing=_SPACING)
        if np.allclose(roots, roots[0], atol=1e-9):
            found |= {round(float(root), 12) for root in roots[0] if abs(root) < CUTOFF}
    return found
