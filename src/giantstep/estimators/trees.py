"""Extremely randomised trees, kept as plain arrays: a model file then holds nothing but numbers."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int
from sklearn import config_context
from sklearn.tree import ExtraTreeRegressor

from giantstep.numerics.ridge.scaled import Roots

#: Most and fewest trees, fewest rows in a leaf, and the share of columns tried at a cut.
MOST, FEWEST, LEAF, SHARE = 60, 30, 2, 0.5
#: Rows of all trees together: a tree of many rows is the better one, and costs more.
ROWS = 50_000


class Trees(NamedTuple):
    """Nodes of all trees one after the other; a leaf is its own child."""

    roots: Int[np.ndarray, " trees"]
    columns: Int[np.ndarray, " nodes"]
    cuts: Float[np.ndarray, " nodes"]
    children: Int[np.ndarray, "2 nodes"]
    values: Float[np.ndarray, " nodes"]
    depth: int

    def predict(self, inputs: Float[np.ndarray, "n d"]) -> Float[np.ndarray, " n"]:
        """The mean over trees of the value in a row's leaf."""
        # Cuts were compared with single precision, and must be again.
        rows = inputs.astype(np.float32)
        nodes = np.tile(self.roots, (len(rows), 1))
        for _ in range(self.depth):
            seen = np.take_along_axis(rows, self.columns[nodes], axis=1)
            nodes = self.children[(seen > self.cuts[nodes]).astype(int), nodes]
        return self.values[nodes].mean(axis=1)


def fit_random_trees(
    inputs: Float[np.ndarray, "n d"],
    labels: Float[np.ndarray, " n"],
    generator: np.random.Generator,
    roots: Roots = 1.0,
) -> Trees:
    """Grow the trees."""
    rows = inputs.astype(np.float32)
    weights = None if isinstance(roots, float) else roots**2

    # One source of random numbers for all trees: seeding takes a third of a small tree's time.
    source = np.random.RandomState(int(generator.integers(2**31)))

    def grow() -> Any:
        tree = ExtraTreeRegressor(min_samples_leaf=LEAF, max_features=SHARE, random_state=source)
        # Checks and copies of a forest take as long as the growing.
        return tree.fit(rows, labels, sample_weight=weights, check_input=False).tree_

    count = int(np.clip(ROWS // len(rows), FEWEST, MOST))
    with config_context(skip_parameter_validation=True):
        grown = [grow() for _ in range(count)]
    roots = np.cumsum([0, *(tree.node_count for tree in grown[:-1])])
    own = np.concatenate(
        [first + np.arange(t.node_count) for first, t in zip(roots, grown, strict=True)]
    )
    columns = np.concatenate([tree.feature for tree in grown])
    leaf = columns < 0
    children = [
        np.concatenate([first + getattr(t, side) for first, t in zip(roots, grown, strict=True)])
        for side in ("children_left", "children_right")
    ]
    return Trees(
        roots,
        np.where(leaf, 0, columns),
        np.concatenate([tree.threshold for tree in grown]),
        np.where(leaf, own, np.stack(children)),
        np.concatenate([tree.value[:, 0, 0] for tree in grown]),
        max(tree.max_depth for tree in grown),
    )
