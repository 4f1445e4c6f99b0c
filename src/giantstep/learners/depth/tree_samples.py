"""Samples of a tree. Its leaves are the first axes: every first layer starts isotropically."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from giantstep.problem import TreeProblem


class TreeSamples(NamedTuple):
    """Inputs x, values h of the branches, labels without their noise, and labels with it."""

    inputs: Float[np.ndarray, "n d"]
    branches: Float[np.ndarray, "n b"]
    clean: Float[np.ndarray, " n"]
    labels: Float[np.ndarray, " n"]


class TreeData(NamedTuple):
    """Samples to learn from, samples to measure with, and the number of leaves in all."""

    train: TreeSamples
    test: TreeSamples
    leaves: int


def draw_tree_data(
    problem: TreeProblem, samples: int, test_samples: int, dim: int, rng: np.random.Generator
) -> TreeData:
    """Draw the signs of a tree, and samples of it."""
    branches, leaves = problem.target.sizes(dim)
    signs = rng.choice([-1.0, 1.0], (branches, leaves))
    both = [_samples(problem, count, dim, signs, rng) for count in (samples, test_samples)]
    return TreeData(both[0], both[1], branches * leaves)


def _samples(
    problem: TreeProblem, count: int, dim: int, signs: np.ndarray, rng: np.random.Generator
) -> TreeSamples:
    tree, x = problem.target, rng.standard_normal((count, dim))
    z = x[:, : signs.size].reshape(count, *signs.shape)
    noise = np.sqrt(problem.noise) * rng.standard_normal(count) if problem.noise else 0.0
    clean = np.broadcast_to(np.asarray(tree.numpy(z, signs), dtype=float), (count,))
    return TreeSamples(x, tree.branch_values(z, signs), clean, clean + noise)
