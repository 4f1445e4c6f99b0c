"""Ridge regression by generalised cross-validation, against scikit-learn and brute force."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.linear_model import Ridge

from giantstep.estimators.laplace import BANDWIDTHS, RIDGES, fit_laplace
from giantstep.estimators.stack import shuffled_folds, stack_simplex_weights
from giantstep.numerics.ridge.path import GRID, MOST_FREEDOM, PathFit
from giantstep.numerics.ridge.scaled import FixedRidge, ScaledRidge, Tridiagonal, ridge


def problem(rows: int, columns: int) -> tuple[np.ndarray, np.ndarray]:
    generator = np.random.default_rng(rows + columns)
    features = generator.standard_normal((rows, columns)) + 2.0
    return features, features[:, 0] + 0.5 * generator.standard_normal(rows)


def peer(fit: PathFit, features: np.ndarray, labels: np.ndarray, scale: float) -> Ridge:
    """Scikit-learn's fit at the same ridge, for features that are not divided by ``scale``."""
    return Ridge(alpha=fit.ridge * scale**2, tol=1e-12).fit(features, labels)


@pytest.mark.parametrize(("rows", "columns"), [(40, 1), (40, 5), (40, 40), (20, 60), (2, 3)])
def test_the_fit_is_ridge_regression_at_the_least_gcv_score(rows: int, columns: int) -> None:
    features, labels = problem(rows, columns)
    scaled = ScaledRidge.of(features)
    fit = Tridiagonal.of(scaled).fit(labels, spent=1.0)
    left, values, _ = np.linalg.svd(scaled.features, full_matrices=False)
    kept = values**2 > 1e-12 * values[0] ** 2
    shares = values[kept] ** 2 / (values[kept] ** 2 + rows * GRID[:, None])
    centred = labels - labels.mean()
    errors = [
        np.sum((centred - left[:, kept] @ (s * (left[:, kept].T @ centred))) ** 2) for s in shares
    ]
    freedom = 2.0 + shares.sum(axis=1)
    fits = freedom <= MOST_FREEDOM * rows
    scores = np.divide(
        rows * np.array(errors), (rows - freedom) ** 2, where=fits, out=np.full(len(GRID), np.inf)
    )
    # Where every ridge interpolates, the largest one is the safest.
    best = int(np.argmin(scores)) if fits.any() else len(GRID) - 1
    assert fit.ridge == rows * GRID[best]
    score = scores[best] if fits.any() else np.inf
    assert_allclose([fit.score, fit.freedom], [score, freedom[best] - 1.0], rtol=1e-8)
    sklearns = peer(fit, features, labels, scaled.scale)
    assert_allclose(fit.coefficients, sklearns.coef_, rtol=1e-8, atol=1e-10)
    assert_allclose(fit.predict(features), sklearns.predict(features), rtol=1e-8)
    assert_allclose(fit.residuals, labels - fit.predict(features), rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize(("rows", "columns"), [(40, 5), (20, 60)])
def test_a_ridge_without_a_solution_spoils_no_other(rows: int, columns: int) -> None:
    """All ridges are solved for at once; at a negative one the matrix is not positive definite."""
    features, labels = problem(rows, columns)
    reduced = Tridiagonal.of(ScaledRidge.of(features))
    alone = reduced.fit(labels, grid=np.array([0.5, 3.0]))
    for beside in ([-100.0, 0.5, 3.0], [0.5, -100.0, 3.0]):
        fit = reduced.fit(labels, grid=np.array(beside))
        assert (fit.ridge, fit.score, fit.freedom) == (alone.ridge, alone.score, alone.freedom)
        assert_allclose(fit.coefficients, alone.coefficients, rtol=1e-12)
    hopeless = reduced.fit(labels, grid=np.array([-100.0]))
    assert np.isinf(hopeless.score)


@pytest.mark.parametrize(("rows", "columns"), [(40, 5), (20, 60)])
def test_weights_of_rows_are_those_of_scikit_learn(rows: int, columns: int) -> None:
    features, labels = problem(rows, columns)
    weights = np.random.default_rng(1).uniform(0.1, 3, rows)
    weights /= weights.mean()
    scaled = ScaledRidge.of(features, np.sqrt(weights))
    fit = Tridiagonal.of(scaled).fit(labels)
    sklearns = Ridge(alpha=fit.ridge * scaled.scale**2, tol=1e-12)
    sklearns.fit(features, labels, weights)
    assert_allclose(fit.coefficients, sklearns.coef_, rtol=1e-7, atol=1e-10)
    assert_allclose(fit.residuals, labels - sklearns.predict(features), rtol=1e-7, atol=1e-9)
    fixed = FixedRidge.of(scaled, fit.ridge, scaled.gram())
    residuals = fixed.fit(labels).residuals
    assert_allclose(
        fixed.errors_without(np.array([3]), residuals), fixed.leave_one_out(labels)[3:4]
    )
    for block in (np.array([3]), np.arange(3, 13)):
        rest = np.delete(np.arange(rows), block)
        sklearns.fit(features[rest], labels[rest], weights[rest])
        refitted = labels[block] - sklearns.predict(features[block])
        assert_allclose(fixed.errors_without(block, residuals), refitted, rtol=1e-7)


@pytest.mark.parametrize("folds", [4, 40])
@pytest.mark.parametrize(("rows", "columns"), [(40, 5), (40, 60)])
def test_fits_without_a_block_are_refits(rows: int, columns: int, folds: int) -> None:
    """Blocks of a fold, and of one row: leave-one-out."""
    features, labels = problem(rows, columns)
    scaled = ScaledRidge.of(features)
    fixed = FixedRidge.of(scaled, 0.01 * rows, scaled.gram())
    for block in shuffled_folds(rows, folds, np.random.default_rng(0)):
        fit = fixed.without(block, labels)
        rest = np.setdiff1d(np.arange(rows), block)
        sklearns = peer(fit, features[rest], labels[rest], scaled.scale)
        assert_allclose(fit.coefficients, sklearns.coef_, rtol=1e-9, atol=1e-10)
        assert_allclose(fit.predict(features), sklearns.predict(features), rtol=1e-10, atol=1e-10)
        if len(block) == 1:
            left_out = labels[block] - fit.predict(features[block])
            assert_allclose(fixed.leave_one_out(labels)[block], left_out, rtol=1e-8, atol=1e-10)


def test_interpolation_is_refused() -> None:
    features, labels = problem(20, 60)
    assert ridge(features, labels).freedom <= 0.97 * 20


def test_a_tiny_expert_does_not_drown_the_others() -> None:
    generator = np.random.default_rng(0)
    labels = generator.standard_normal(200)
    good, tiny = 0.8 * labels, 1e-3 * (labels + generator.standard_normal(200))
    weights = stack_simplex_weights(np.column_stack([good, tiny]), labels)
    assert weights[0] > 0.99
    assert weights.sum() <= 1 + 1e-9
    assert (weights >= 0).all()


@pytest.mark.parametrize("start", [0, 7, 14])
@pytest.mark.parametrize("noise", [0.01, 1.0])
def test_the_kernel_of_least_brute_force_leave_one_out_error_is_found(
    noise: float, start: int
) -> None:
    generator = np.random.default_rng(3)
    inputs = generator.standard_normal((25, 3))
    labels = np.sin(inputs[:, 0]) + noise * generator.standard_normal(25)
    found = fit_laplace(inputs, labels, np.eye(3), start=start)
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
    assert found.choice == (BANDWIDTHS[best], level)
    assert found.bandwidth == pytest.approx(BANDWIDTHS[best] * middle)
    kernel = np.exp(-distances / found.bandwidth) + RIDGES[level] * np.eye(25)
    assert_allclose(found.dual, np.linalg.solve(kernel, centred), rtol=1e-8, atol=1e-10)
    fast = found.dual / np.diag(np.linalg.inv(kernel))
    assert_allclose(np.mean(fast**2), errors[best, level], rtol=1e-10)
    again = fit_laplace(inputs, labels, np.eye(3), choice=found.choice)
    assert_allclose(again.dual, found.dual, rtol=1e-12)
