"""Ridge regression by generalised cross-validation, against scikit-learn and brute force."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.linear_model import Ridge

from giantstep.estimators.laplace import BANDWIDTHS, RIDGES, fit_laplace
from giantstep.estimators.ridge import Decomposition
from giantstep.estimators.stack import shuffled_folds, simplex_weights
from giantstep.estimators.tridiagonal import Tridiagonal, ridge


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


@pytest.mark.parametrize(("rows", "columns"), [(40, 1), (40, 5), (40, 40), (20, 60), (2, 3)])
def test_the_fit_without_eigenvectors_is_the_same(rows: int, columns: int) -> None:
    features, labels = problem(rows, columns)
    slow, fast = (kind.of(features) for kind in (Decomposition, Tridiagonal))
    assert_allclose(fast.squares, slow.squares, rtol=1e-9)
    for one, other in zip(fast.fit(labels, spent=1.0), slow.fit(labels, spent=1.0), strict=True):
        assert_allclose(one, other, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("start", [None, (0, 14), (14, 0)])
@pytest.mark.parametrize("noise", [0.01, 1.0])
def test_the_kernel_of_least_brute_force_leave_one_out_error_is_found(
    noise: float, start: tuple[int, int] | None
) -> None:
    generator = np.random.default_rng(3)
    inputs = generator.standard_normal((25, 3))
    labels = np.sin(inputs[:, 0]) + noise * generator.standard_normal(25)
    found = fit_laplace(inputs, labels, np.eye(3), start)
    distances = np.linalg.norm(inputs[:, None] - inputs, axis=2)
    middle = np.median(distances[np.triu_indices(25, 1)])
    centred = labels - labels.mean()
    errors = np.empty((len(BANDWIDTHS), len(RIDGES)))
    for position, level in np.ndindex(errors.shape):
        kernel = np.exp(-distances / (BANDWIDTHS[position] * middle))
        missed = []
        for row in range(25):
            rest = np.delete(np.arange(25), row)
            inner = kernel[np.ix_(rest, rest)] + RIDGES[level] * np.eye(24)
            missed.append(centred[row] - kernel[row, rest] @ np.linalg.solve(inner, centred[rest]))
        errors[position, level] = np.mean(np.square(missed))
    best, level = np.unravel_index(errors.argmin(), errors.shape)
    assert found.levels == tuple(errors.argmin(axis=1))
    assert found.bandwidth == pytest.approx(BANDWIDTHS[best] * middle)
    kernel = np.exp(-distances / found.bandwidth) + RIDGES[level] * np.eye(25)
    assert_allclose(found.dual, np.linalg.solve(kernel, centred), rtol=1e-8, atol=1e-10)
    fast = found.dual / np.diag(np.linalg.inv(kernel))
    assert_allclose(np.mean(fast**2), errors[best, level], rtol=1e-10)
