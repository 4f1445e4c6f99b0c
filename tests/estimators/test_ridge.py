"""Ridge regression by generalised cross-validation, against scikit-learn and brute force."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.linear_model import Ridge

from giantstep.estimators.ridge import Decomposition, ridge
from giantstep.estimators.stack import shuffled_folds, simplex_weights


def problem(rows: int, columns: int) -> tuple[np.ndarray, np.ndarray]:
    generator = np.random.default_rng(rows + columns)
    features = generator.standard_normal((rows, columns)) + 2.0
    return features, features[:, 0] + 0.5 * generator.standard_normal(rows)


@pytest.mark.parametrize(("rows", "columns"), [(40, 5), (20, 60)])
def test_the_fit_is_ridge_regression(rows: int, columns: int) -> None:
    features, labels = problem(rows, columns)
    found = Decomposition.of(features)
    fit = found.fit(labels)
    peer = Ridge(alpha=fit.ridge * found.scale**2).fit(features, labels)
    assert_allclose(fit.coefficients, peer.coef_, rtol=1e-8, atol=1e-10)
    assert_allclose(fit.predict(features), peer.predict(features), rtol=1e-8)


@pytest.mark.parametrize(("rows", "columns"), [(40, 5), (20, 60)])
def test_held_out_predictions_are_those_of_refits(rows: int, columns: int) -> None:
    features, labels = problem(rows, columns)
    found = Decomposition.of(features)
    fit = found.fit(labels)
    blocks = shuffled_folds(rows, 4, np.random.default_rng(0))
    fast = found.held_out(fit, labels, blocks)
    for block in blocks:
        rest = np.setdiff1d(np.arange(rows), block)
        peer = Ridge(alpha=fit.ridge * found.scale**2, tol=1e-12).fit(features[rest], labels[rest])
        assert_allclose(fast[block], peer.predict(features[block]), rtol=1e-10, atol=1e-10)


def test_leave_one_out_is_a_block_of_one() -> None:
    features, labels = problem(15, 30)
    found = Decomposition.of(features)
    fit = found.fit(labels)
    fast = found.held_out(fit, labels, [[i] for i in range(15)])
    for row in range(15):
        rest = np.delete(np.arange(15), row)
        peer = Ridge(alpha=fit.ridge * found.scale**2, tol=1e-12).fit(features[rest], labels[rest])
        assert_allclose(fast[row], peer.predict(features[[row]])[0], rtol=1e-10, atol=1e-10)


def test_replaced_labels_give_the_fit_without_the_block() -> None:
    features, labels = problem(30, 8)
    found = Decomposition.of(features)
    fit = found.fit(labels)
    block = np.arange(6)
    replaced = labels.copy()
    replaced[block] = found.held_out(fit, labels, [block])[block]
    without = found.fit(replaced, grid=np.array([fit.ridge]))
    peer = Ridge(alpha=fit.ridge * found.scale**2, tol=1e-12).fit(features[6:], labels[6:])
    assert_allclose(without.coefficients, peer.coef_, rtol=1e-9, atol=1e-12)


def test_interpolation_is_refused() -> None:
    features, labels = problem(20, 60)
    assert ridge(features, labels).freedom <= 0.97 * 20


def test_a_tiny_expert_does_not_drown_the_others() -> None:
    generator = np.random.default_rng(0)
    labels = generator.standard_normal(200)
    good, tiny = 0.8 * labels, 1e-3 * (labels + generator.standard_normal(200))
    weights = simplex_weights(np.column_stack([good, tiny]), labels)
    assert weights[0] > 0.99
    assert weights.sum() <= 1 + 1e-9
    assert (weights >= 0).all()
