"""Predictions for held-out rows know nothing about the labels of these rows."""

from __future__ import annotations

import numpy as np
from numpy.testing import assert_allclose

from giantstep.datasets import make_multi_index
from giantstep.estimators.experts import FixedFeatures, Sizes, columns, fit_experts, names

SIZES = Sizes(directions=2, neurons=30, width=60, updates=2, kernel=True)


def held_out(inputs: np.ndarray, labels: np.ndarray, block: np.ndarray, chosen: FixedFeatures):
    """Every expert's predictions in the block, at the ridges that ``chosen`` found on all rows."""
    rest = np.setdiff1d(np.arange(len(labels)), block)
    fixed = chosen._replace(labels=labels)
    experts = fit_experts(
        inputs[rest], labels[rest], SIZES, np.random.default_rng(1), fixed.without(block)
    )
    return columns(experts.predict(inputs[block]), SIZES, len(block))


def test_labels_of_a_block_do_not_reach_its_predictions() -> None:
    """Whatever stands in the block as labels, each expert predicts the same there."""
    inputs, labels, _ = make_multi_index("h1 + h1*h2", dim=4, samples=160, noise=0.1)
    labels = labels - labels.mean()
    chosen = FixedFeatures.of(inputs, labels, SIZES, np.random.default_rng(0))
    block = np.arange(10, 42)
    other = labels.copy()
    other[block] = 3 * labels[block][::-1] + 1
    first, second = (held_out(inputs, y, block, chosen) for y in (labels, other))
    assert first.shape == (len(block), len(list(names(SIZES))))
    assert np.all(first.std(axis=0) > 0.1)
    assert_allclose(first, second, atol=1e-8)


def test_labels_of_other_rows_do() -> None:
    """The same change outside of the block is seen by all experts."""
    inputs, labels, _ = make_multi_index("h1 + h1*h2", dim=4, samples=160, noise=0.1)
    labels = labels - labels.mean()
    chosen = FixedFeatures.of(inputs, labels, SIZES, np.random.default_rng(0))
    block = np.arange(10, 42)
    other = labels.copy()
    other[60:92] = 3 * labels[60:92][::-1] + 1
    first, second = (held_out(inputs, y, block, chosen) for y in (labels, other))
    assert np.all(np.abs(first - second).max(axis=0) > 0.1)
