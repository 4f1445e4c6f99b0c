"""The sizes of a run on a tree, refused before anything is computed or its cost is told."""

from __future__ import annotations

from typing import NamedTuple

from giantstep.errors import SettingsError
from giantstep.problem import TreeProblem
from giantstep.settings.three_layer import ThreeLayer

#: Their second layer is one unit, which starts as a regression of the labels: of several branches
#: that finds the sum, in which nothing tells them apart.
ONE_BRANCH = ("second-layer", "joint")


class TreeSizes(NamedTuple):
    """Dimension, leaves of all branches, and directions that a first layer is told to keep."""

    dim: int
    leaves: int
    directions: int


def tree_sizes(problem: TreeProblem, settings: ThreeLayer) -> TreeSizes:
    """The sizes that a problem and settings give; directions to be counted are those of the tree.

    >>> tree_sizes(TreeProblem("tree-he2"), ThreeLayer(dim=64))
    TreeSizes(dim=64, leaves=8, directions=8)
    """
    dim = settings.dim
    if dim is None:
        raise SettingsError("dim is missing: a simulation needs --dim, the dimension of the inputs")
    branches, leaves = problem.target.sizes(dim)
    if branches > 1 and settings.scenario in ONE_BRANCH:
        raise SettingsError(
            f"branches = {branches} with scenario = {settings.scenario}: its second layer has one "
            "unit, for one branch; use scenario lazy, first-layer, adam or authors"
        )
    directions = branches * leaves
    if settings.leaves not in (None, "auto"):
        directions = settings.leaves.count(dim, "leaves")
    if directions > dim:
        raise SettingsError(f"leaves = {directions} is more than dim = {dim}: lower --leaves")
    return TreeSizes(dim, branches * leaves, directions)
