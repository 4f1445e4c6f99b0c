from __future__ import annotations

import numpy as np
import pytest

from giantstep.errors import SettingsError
from giantstep.numerics.ridge.large import ridge_sums
from giantstep.numerics.ridge.path import GCV, RidgePath, ridge_or_gcv

RIDGES = [1e-3, 0.1, 5.0]


def data(samples: int, width: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    features = rng.standard_normal((samples, width)) + 0.7
    return features, features[:, 0] - 2 * features[:, 1] + 3 + 0.3 * rng.standard_normal(samples)


def solved(
    features: np.ndarray, labels: np.ndarray, ridge: float, intercept: bool, new: np.ndarray
) -> np.ndarray:
    """Predictions by the normal equations, the intercept an unpenalised column of ones."""
    columns, points, penalty = features, new, ridge * np.eye(features.shape[1])
    if intercept:
        columns = np.hstack([features, np.ones((len(features), 1))])
        points = np.hstack([new, np.ones((len(new), 1))])
        penalty = np.pad(penalty, (0, 1))
    return points @ np.linalg.solve(columns.T @ columns + penalty, columns.T @ labels)


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("shape", [(40, 7), (9, 30)])
def test_a_path_is_every_ridge_solved_alone(shape: tuple[int, int], intercept: bool) -> None:
    features, labels = data(*shape)
    new, _ = data(25, shape[1], seed=1)
    path = RidgePath.fit(features, labels, intercept=intercept)
    for i, ridge in enumerate(RIDGES):
        expected = solved(features, labels, ridge, intercept, new)
        np.testing.assert_allclose(path.predict(new, RIDGES)[i], expected, rtol=1e-8, atol=1e-8)
        residual = labels - solved(features, labels, ridge, intercept, features)
        assert path.train_error(RIDGES)[i] == pytest.approx(np.mean(residual**2), rel=1e-6)


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("shape", [(40, 7), (9, 30), (12, 12)])
def test_leave_one_out_is_leaving_one_out(shape: tuple[int, int], intercept: bool) -> None:
    features, labels = data(*shape)
    path = RidgePath.fit(features, labels, intercept=intercept)
    for i, ridge in enumerate(RIDGES):
        left_out = [
            solved(np.delete(features, k, 0), np.delete(labels, k), ridge, intercept, row[None])[0]
            for k, row in enumerate(features)
        ]
        error = np.mean((np.array(left_out) - labels) ** 2)
        assert path.leave_one_out(RIDGES)[i] == pytest.approx(error, rel=1e-6)


@pytest.mark.parametrize("intercept", [False, True])
def test_leave_one_out_of_an_interpolator_does_not_vanish(intercept: bool) -> None:
    features, labels = data(10, 40)
    path = RidgePath.fit(features, labels, intercept=intercept)
    tiny, none = path.leave_one_out([1e-7, 0.0])
    assert path.train_error(0.0)[0] == pytest.approx(0, abs=1e-12)
    assert tiny > 0.1
    assert none == pytest.approx(tiny, rel=1e-4)


def test_generalised_cross_validation() -> None:
    features, labels = data(50, 8)
    ridge = 2.0
    hat = features @ np.linalg.solve(features.T @ features + ridge * np.eye(8), features.T)
    residual = labels - hat @ labels
    expected = np.mean(residual**2) / (1 - np.trace(hat) / 50) ** 2
    path = RidgePath.fit(features, labels)
    assert path.gcv(ridge)[0] == pytest.approx(expected, rel=1e-10)
    assert path.degrees_of_freedom(ridge)[0] == pytest.approx(np.trace(hat), rel=1e-10)
    centred = RidgePath.fit(features, labels, intercept=True)
    plain = np.sum(centred.eigenvalues / (centred.eigenvalues + ridge))
    assert centred.degrees_of_freedom(ridge)[0] == pytest.approx(plain + 1)


@pytest.mark.parametrize("intercept", [False, True])
def test_streamed_sums_give_the_same_path(intercept: bool) -> None:
    features, labels = data(300, 12)
    parts = np.array_split(np.arange(300), 7)
    sums, _ = ridge_sums((features[part].astype(np.float32), labels[part]) for part in parts)
    held = RidgePath.fit(features.astype(np.float32), labels, intercept=intercept)
    streamed = RidgePath.solve(sums, intercept=intercept)
    np.testing.assert_allclose(
        streamed.coefficients(RIDGES), held.coefficients(RIDGES), rtol=1e-9, atol=1e-10
    )
    np.testing.assert_allclose(streamed.train_error(RIDGES), held.train_error(RIDGES), rtol=1e-9)
    np.testing.assert_allclose(streamed.gcv(RIDGES), held.gcv(RIDGES), rtol=1e-9)
    with pytest.raises(SettingsError, match="leave-one-out"):
        streamed.leave_one_out(0.1)


def test_twin_features_and_no_ridge_give_the_least_norm() -> None:
    features, labels = data(30, 5)
    doubled = np.hstack([features, features])
    coefficients = RidgePath.fit(doubled, labels).coefficients(0.0)[0]
    np.testing.assert_allclose(coefficients, np.linalg.pinv(doubled) @ labels, atol=1e-9)


@pytest.mark.parametrize("ridge", [-1.0, float("nan"), float("inf")])
def test_a_bad_ridge_is_refused(ridge: float) -> None:
    with pytest.raises(SettingsError, match="ridge"):
        RidgePath.fit(*data(10, 3)).coefficients(ridge)


def test_cross_validation_tries_no_ridge_below_the_rounding_of_the_features() -> None:
    """Labels without noise ask for the least ridge: in single precision, not for a tiny one."""
    rng = np.random.default_rng(0)
    features = rng.standard_normal((60, 8)).astype(np.float32)
    labels = features.astype(np.float64) @ rng.standard_normal(8)
    sums, precision = ridge_sums([(features, labels)])
    least = float(np.finfo(np.float32).eps)
    for path in (RidgePath.fit(features, labels), RidgePath.solve(sums, precision=precision)):
        assert least <= ridge_or_gcv(path, GCV) / path.eigenvalues[-1] < 2 * least
    double = RidgePath.fit(features.astype(np.float64), labels)
    assert ridge_or_gcv(double, GCV) / double.eigenvalues[-1] < least
