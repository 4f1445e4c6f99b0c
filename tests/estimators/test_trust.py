"""How far to trust a fit: intervals, the error of its score, forecasts, signs and steadiness."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose
from pandas import DataFrame
from scipy.stats import binom
from sklearn.linear_model import RidgeCV

from giantstep.datasets import make_multi_index
from giantstep.errors import GiantstepError, SettingsError
from giantstep.estimators import GiantStepClassifier, GiantStepRegressor
from giantstep.estimators import forecast as forecasts
from giantstep.estimators.forecast import Slope, forecast_fit_error

SMALL: dict[str, Any] = {
    "max_directions": 2,
    "n_neurons": 40,
    "width": 40,
    "kernel": False,
    "agop_steps": 0,
}
#: Independent tables on which coverage is counted.
TABLES = 20


@pytest.fixture(scope="module")
def fits() -> list[tuple[GiantStepRegressor, np.ndarray, np.ndarray]]:
    """Fits to 120 rows each, with rows to test them on."""
    found = []
    for seed in range(TABLES):
        X, y, _ = make_multi_index("h1 + abs(h2)", dim=5, samples=620, noise=0.3, random_state=seed)
        found.append((GiantStepRegressor(**SMALL).fit(X[:120], y[:120]), X[120:], y[120:]))
    return found


def test_intervals_hold_new_labels_as_often_as_they_say(fits: list[Any]) -> None:
    shares, widths = [], []
    for model, X, y in fits:
        values, interval = model.predict(X, return_interval=0.9)
        assert_allclose(values, model.predict(X))
        low, high = interval.T
        shares.append(np.mean((low <= y) & (y <= high)))
        widths.append(np.mean(high - low) / y.std())
    error = np.std(shares, ddof=1) / np.sqrt(TABLES)
    # Two points are told apart here.
    assert error < 0.01
    assert 0.88 <= np.mean(shares) <= 0.93
    # A constant interval that holds 90 % of the labels is 3.3 deviations wide.
    assert np.mean(widths) < 2.6
    model, X, _ = fits[0]
    narrow, wide = (np.ptp(model.predict(X[:9], return_interval=p)[1], axis=1) for p in (0.5, 0.95))
    assert np.all(narrow < wide)
    with pytest.raises(SettingsError, match="return_interval = 90"):
        model.predict(X, return_interval=90)


def test_the_score_comes_with_an_error_that_covers_the_test_score(fits: list[Any]) -> None:
    inside = [abs(m.oof_score_ - m.score(X, y)) < 1.645 * m.oof_score_sem_ for m, X, y in fits]
    # A true coverage of 90 % gives fewer than this once in a thousand times; 60 % mostly does.
    least = binom.ppf(0.001, TABLES, 0.9)
    assert np.sum(inside) >= least
    assert binom.cdf(least - 1, TABLES, 0.6) > 0.5


def test_signs_rise_and_directions_are_found_again(fits: list[Any]) -> None:
    model = fits[0][0]
    indices, labels = model._indices, model._labels
    moments = [np.corrcoef(index, labels)[0, 1] for index in indices.T]
    assert max(moments) > 0.5
    assert np.all(model.stability_ <= 1 + 1e-12)
    assert model.stability_.max() > 0.9
    assert model.evidence_ > 5
    assert sum(model.weights_.values()) <= 1 + 1e-9
    # The curve that is drawn is the link, within the data, and its band is no decoration.
    at, value, error = model._curves[0]
    assert at[0] == pytest.approx(indices[:, 0].min())
    assert np.ptp(value) > 3 * error.mean() > 0


def test_noise_has_no_evidence() -> None:
    generator = np.random.default_rng(0)
    X, y = generator.standard_normal((200, 5)), generator.standard_normal(200)
    model = GiantStepRegressor(**SMALL).fit(X, y)
    assert model.evidence_ < 3
    assert abs(model.oof_score_) < 3 * model.oof_score_sem_ + 0.05


@pytest.mark.parametrize("samples", [400, 800])
def test_the_forecast_of_ridge_is_what_more_rows_give(samples: int) -> None:
    """40 columns, 200 rows: the ratio of the errors at 2n and 4n, over twenty tables."""
    ratios = []
    for seed in range(TABLES):
        X, y, _ = make_multi_index("h1", dim=40, samples=2800, noise=1.0, random_state=seed)

        def error(rows: int, X: np.ndarray = X, y: np.ndarray = y) -> float:
            model = RidgeCV(np.logspace(-1, 3, 17)).fit(X[:rows], y[:rows])
            return float(np.mean((y[800:] - model.predict(X[800:])) ** 2))

        found = forecast_fit_error(X[:200], y[:200], samples)
        truth = error(samples) / error(200)
        ratios.append((found["ratio"][0], truth, found["ratio_low"][0], found["ratio_high"][0]))
    said, truth, low, high = np.array(ratios).T
    # Nearer to the truth than to say that nothing changes, by more than a half.
    assert np.median(np.abs(said / truth - 1)) < 0.5 * np.median(np.abs(1 / truth - 1))
    assert np.mean(truth) < 0.95
    assert np.sum((low <= truth) & (truth <= high)) >= binom.ppf(0.001, TABLES, 0.9)


def test_the_forecast_of_a_fit_says_what_it_rests_on() -> None:
    X, y, _ = make_multi_index("h1 + h1**2/2", dim=6, samples=160, noise=0.2)
    model = GiantStepRegressor(**SMALL, folds=2).fit(X, y)
    found = model.learning_curve()
    assert found["samples"].tolist() == [320, 640]
    assert np.all(found["ratio"] < 1)
    assert found["ratio"].is_monotonic_decreasing
    for name in ("ratio", "error", "r2"):
        assert np.all((found[f"{name}_low"] < found[name]) & (found[name] < found[f"{name}_high"]))
    # The level adds its own uncertainty.
    assert np.all(found["error_high"] / found["error"] > found["ratio_high"] / found["ratio"])
    with pytest.raises(SettingsError, match="samples = 100: give numbers above 160"):
        model.learning_curve(100)
    with pytest.raises(SettingsError, match="learner = 'forest'"):
        forecast_fit_error(X, y, learner="forest")  # type: ignore[arg-type]
    kernel = forecast_fit_error(X, y, learner="kernel")
    assert np.all(kernel["ratio"] <= 1)
    # A stack whose error bends has numbers for what it is, and none for what it may become.
    bent = Slope(-0.3, 0.3).forecast(y, 0.1 * y, ())
    assert bent[["ratio", "error_low", "r2"]].isna().all(axis=None)
    assert "a new direction may appear" in bent.attrs["notes"][0]
    # Rows that are there twice, and columns of which a few rows hold nearly all.
    twice = np.repeat(X[:80], 2, axis=0), np.repeat(y[:80], 2)
    for rows, labels in (twice, (np.exp(2 * X), np.exp(2 * X[:, 0] + X[:, 1]))):
        guess = forecast_fit_error(rows, labels, learner="kernel")
        assert guess[["ratio", "error_low", "r2"]].isna().all(axis=None)
        assert "what more rows would buy cannot be known from these rows" in guess.attrs["notes"]
    with pytest.raises(GiantstepError, match="a fit in memory"):
        GiantStepRegressor(**SMALL, streaming=True).fit(X, y).learning_curve()


def test_the_score_interval_counts_both_sets_of_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """A test set a third as large as the table doubles the standard error of the score."""
    monkeypatch.setattr(forecasts, "DRAWN", 0.0)
    generator = np.random.default_rng(0)
    still, held = Slope(0.0, 0.0), {20: 0, 100: 0, 10_000: 0}
    for _ in range(400):
        draws = {rows: generator.standard_normal((2, rows)) for rows in (300, *held)}
        errors, labels = draws[300]
        for rows in held:
            score = 1 - np.mean(draws[rows][0] ** 2) / np.var(draws[rows][1])
            low, high = still.score_interval(errors, labels, rows, 0.9)
            held[rows] += low < score < high
    for count in held.values():
        # Four standard errors of .015.
        assert abs(count / 400 - 0.9) < 0.06
    # A falling error moves the interval up, and widens it.
    low, high = still.score_interval(errors, labels, 100, 0.9)
    lower, higher = Slope(-0.5, 0.0).score_interval(errors, labels, 100, 0.9)
    assert higher > high
    assert np.log((1 - lower) / (1 - higher)) > np.log((1 - low) / (1 - high))


def test_sets_of_classes_hold_the_true_one() -> None:
    X, y, _ = make_multi_index("h1*h2", dim=4, samples=1200)
    generator = np.random.default_rng(1)
    labels = np.where(generator.random(1200) < 1 / (1 + np.exp(-3 * y)), "yes", "no")
    names = ["a", "b", "c", "d"]
    model = GiantStepClassifier(**SMALL).fit(DataFrame(X[:300], columns=names), labels[:300])
    rows = DataFrame(X[300:], columns=names)
    found = model.predict_set(rows, 0.9)
    truth = labels[300:, None] == model.classes_
    # Standard error .01 of the test and .017 of the threshold.
    assert abs(found[truth].mean() - 0.9) < 0.06
    assert found.sum(axis=1).mean() < 1.9
    assert model.oof_score_ == pytest.approx(model.score(rows, labels[300:]), abs=0.08)
    # An interval of 90 % misses this table by .003, as one table of ten.
    low, high = model.score_interval(900, 0.99)
    assert low < model.score(rows, labels[300:]) < high
    with pytest.raises(SettingsError, match="samples = 0: give a positive number"):
        model.score_interval(0)
    assert model.feature_importances_.sum() == pytest.approx(1)
    assert sum(model.weights_.values()) == pytest.approx(1)
    links, bars = model.plot_links(), model.plot_directions("no")
    assert links.axes[0].get_ylabel() == "is yes"
    assert {text.get_text() for text in bars.axes[0].get_yticklabels()} == set(names)
    with pytest.raises(SettingsError, match="label = 'maybe': use one of"):
        model.plot_links("maybe")
