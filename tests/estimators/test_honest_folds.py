"""Predictions for held-out rows know nothing about the labels of these rows."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from giantstep.datasets import make_multi_index
from giantstep.estimators.experts import (
    FixedFeatures,
    StackSizes,
    expert_columns,
    expert_names,
    fit_experts,
)
from giantstep.estimators.tails import TailScaler

SIZES = StackSizes(directions=2, neurons=30, width=60, updates=2, kernel=True)


def held_out(inputs: np.ndarray, labels: np.ndarray, block: np.ndarray, chosen: FixedFeatures):
    """Every expert's predictions in the block, at the ridges that ``chosen`` found on all rows."""
    rest = np.setdiff1d(np.arange(len(labels)), block)
    fixed = chosen._replace(labels=labels)
    experts = fit_experts(
        inputs[rest],
        labels[rest],
        SIZES,
        np.random.default_rng(1),
        fixed.without(block),
        TailScaler.of(inputs, 3.0),
    )
    return expert_columns(experts.predict(inputs[block]), SIZES, len(block))


@pytest.fixture(scope="module")
def predictions() -> dict[str, np.ndarray]:
    """Those in a block as labels are drawn, with others in the block, and with others elsewhere."""
    inputs, labels, _ = make_multi_index("h1 + h1*h2", dim=4, samples=160, noise=0.1)
    labels = labels - labels.mean()
    chosen = FixedFeatures.of(inputs, labels, SIZES, np.random.default_rng(0))
    block, elsewhere = np.arange(10, 42), np.arange(60, 92)
    found = {"drawn": held_out(inputs, labels, block, chosen)}
    for name, rows in (("in the block", block), ("elsewhere", elsewhere)):
        other = labels.copy()
        other[rows] = 3 * labels[rows][::-1] + 1
        found[name] = held_out(inputs, other, block, chosen)
    return found


def test_labels_of_a_block_do_not_reach_its_predictions(predictions: dict) -> None:
    """Whatever stands in the block as labels, each expert predicts the same there."""
    drawn = predictions["drawn"]
    assert drawn.shape == (32, len(list(expert_names(SIZES))))
    assert np.all(drawn.std(axis=0) > 0.1)
    assert_allclose(drawn, predictions["in the block"], atol=1e-8)


def test_labels_of_other_rows_do(predictions: dict) -> None:
    """The same change outside of the block is seen by all experts."""
    assert np.all(np.abs(predictions["drawn"] - predictions["elsewhere"]).max(axis=0) > 0.1)
