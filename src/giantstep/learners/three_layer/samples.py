"""Samples of a tree, their sizes, and what training on them leaves behind."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from giantstep.errors import SettingsError
from giantstep.language.problem import Labelled, TreeProblem
from giantstep.numerics.cost import needed_dim
from giantstep.settings.three_layer import ThreeLayer

#: Their second layer is one unit, which starts as a regression of the labels: of several branches
#: that finds the sum, in which nothing tells them apart.
ONE_BRANCH = ("second-layer", "joint")


class TreeSizes(NamedTuple):
    """Dimension, leaves of all branches, and directions that a first layer is told to keep."""

    dim: int
    leaves: int
    directions: int


def simulated_tree_sizes(problem: TreeProblem, settings: ThreeLayer) -> TreeSizes:
    """The sizes that a problem and settings give; directions to be counted are those of the tree.

    >>> simulated_tree_sizes(TreeProblem("tree-he2"), ThreeLayer(dim=64))
    TreeSizes(dim=64, leaves=8, directions=8)
    """
    dim = needed_dim(settings.dim)
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


class TreeData(NamedTuple):
    """Samples to learn from, samples to measure with, and the number of leaves in all.

    What is latent in a sample are the values of its branches.
    """

    train: Labelled
    test: Labelled
    leaves: int


def draw_tree_data(
    problem: TreeProblem, samples: int, test_samples: int, dim: int, rng: np.random.Generator
) -> TreeData:
    """Draw the signs of a tree, and samples of it."""
    branches, leaves = problem.target.sizes(dim)
    signs = rng.choice([-1.0, 1.0], (branches, leaves))
    both = [_draw_samples(problem, count, dim, signs, rng) for count in (samples, test_samples)]
    return TreeData(both[0], both[1], branches * leaves)


def _draw_samples(
    problem: TreeProblem, count: int, dim: int, signs: np.ndarray, rng: np.random.Generator
) -> Labelled:
    tree, x = problem.target, rng.standard_normal((count, dim))
    z = x[:, : signs.size].reshape(count, *signs.shape)
    noise = np.sqrt(problem.noise) * rng.standard_normal(count) if problem.noise else 0.0
    clean = np.broadcast_to(np.asarray(tree.numpy(z, signs), dtype=float), (count,))
    return Labelled(x, tree.branch_values(z, signs), clean, clean + noise)


class NetworkAnswer(NamedTuple):
    """A network at the test samples: its outputs, and what its last hidden layer hands on.

    ``inner`` is the output u of the second layer, or several of them; for a network that has no
    layer with few outputs, the output of the network itself.
    """

    output: Float[np.ndarray, " m"]
    inner: Float[np.ndarray, "m ..."]


class Trained(NamedTuple):
    """Answers network by network, spans of the first layer, and directions that it kept."""

    answers: tuple[NetworkAnswer, ...]
    spans: tuple[float, ...]
    directions: int


def alignment(inner: Float[np.ndarray, "m ..."], branches: Float[np.ndarray, "m b"]) -> float:
    """Multiple correlation of u with the branches; the median where there are several u.

    >>> h = np.array([[1.0], [2.0], [3.0]])
    >>> round(alignment(-h[:, 0], h), 12)
    1.0
    """
    columns = branches - branches.mean(axis=0)
    basis = np.linalg.qr(columns)[0]
    u = inner.reshape(len(inner), -1)
    u = u - u.mean(axis=0)
    length = np.maximum(np.linalg.norm(u, axis=0), 1e-300)
    return float(np.median(np.linalg.norm(basis.T @ u, axis=0) / length))
