"""What the estimators find: few directions from few rows, none in noise, classes, own tables."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom
from sklearn.linear_model import RidgeCV

from giantstep.datasets import make_multi_index
from giantstep.errors import GiantstepError, SettingsError
from giantstep.estimators import (
    GiantStepClassifier,
    GiantStepRegressor,
    IndexDirections,
    PrincipalHessianDirections,
    SlicedAverageVariance,
    SlicedInverseRegression,
    index_path,
)
from giantstep.estimators.index_model import fit_index_model
from giantstep.estimators.index_path import (
    fit_index_path,
    index_path_with_tails,
    path_with_found_directions,
)
from giantstep.estimators.link_theory import fitted_link_target
from giantstep.estimators.tables import prepare_table_to_fit, read_table_to_fit
from giantstep.estimators.tails import TailScaler


def span_overlap(found: np.ndarray, true: np.ndarray) -> float:
    """Mean squared projection of the true directions on the span of the found ones."""
    if not found.shape[1]:
        return 0.0
    basis = np.linalg.qr(found)[0]
    return float(np.mean(np.sum((basis.T @ true) ** 2, axis=0)))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("target", "least"), [("abs(h1)", 0.9), ("He3(h1)/sqrt(6)", 0.6), ("h1*h2", 0.8)]
)
def test_few_directions_are_learned_where_ridge_sees_nothing(target: str, least: float) -> None:
    X, y, directions = make_multi_index(target, dim=30, samples=1000, noise=0.1)
    model = GiantStepRegressor(kernel=False, agop_steps=1).fit(X[:400], y[:400])
    # No predictor can explain the noise.
    ceiling = 1 - 0.1 / float(np.var(y))
    assert model.score(X[400:], y[400:]) > least * ceiling
    assert RidgeCV().fit(X[:400], y[:400]).score(X[400:], y[400:]) < 0.1
    assert span_overlap(model.directions_, directions) > 0.95
    # The held-out score is an honest forecast of the score on new rows.
    assert abs(model.oof_score_ - model.score(X[400:], y[400:])) < 0.1


@pytest.mark.slow
@pytest.mark.parametrize(("target", "count"), [("relu(h1)", 1), ("h1*h2", 2)])
def test_the_shortest_index_model_that_is_as_good_is_shown(target: str, count: int) -> None:
    X, y, true = make_multi_index(target, dim=10, samples=300, noise=0.1)
    model = GiantStepRegressor(kernel=False, width=200).fit(X, y)
    assert model.directions_.shape == (10, count)
    span = np.linalg.qr(model.directions_)[0]
    assert np.all(np.linalg.norm(span.T @ true, axis=0) > 0.95)


@pytest.mark.parametrize(("size", "count"), [(0.97, 1), (0.5, 2)])
def test_a_longer_index_model_must_be_clearly_better_to_be_shown(size: float, count: int) -> None:
    """Errors of 0.97 the size save 6 % of the squares: less than a standard error at 200 rows."""
    X, y, _ = make_multi_index("h1", dim=3, samples=200)
    model = GiantStepRegressor(kernel=False, width=20, max_directions=2, agop_steps=0).fit(X, y)
    first, second = np.random.default_rng(0).permuted(
        np.tile(np.linspace(-2, 2, 200), (2, 1)), axis=1
    )
    model.held_out_ = np.zeros((200, len(model.weights_)))
    names = list(model.weights_)
    model.held_out_[:, names.index("index-1")] = y + first
    model.held_out_[:, names.index("index-2")] = y + size * second
    assert model._clearest(y) == count


def test_columns_are_found_where_few_matter() -> None:
    generator = np.random.default_rng(0)
    X = generator.standard_normal((700, 20))
    y = np.sin(2 * X[:, 3]) + np.abs(X[:, 7]) + 0.1 * generator.standard_normal(700)
    model = GiantStepRegressor(kernel=False, agop_steps=1).fit(X[:400], y[:400])
    assert {3, 7} <= set(model.active_features_)
    assert set(np.argsort(-model.feature_importances_)[:2]) == {3, 7}
    assert model.score(X[400:], y[400:]) > 0.9


@pytest.mark.slow
def test_directions_are_found_in_few_tables_of_noise() -> None:
    """At most 7 % over 200 tables is what benchmarks measure.

    At that rate more than 5 of 30 tables have a direction once in fifty times; at twice as high a
    rate every third time, at 30 % nearly always.
    """
    counts, pvalues = [], []
    for seed in range(30):
        generator = np.random.default_rng(seed)
        X, y = generator.standard_normal((200, 20)), generator.standard_normal(200)
        # The number is chosen by folds alone; the permutation test is another test of the same.
        found = IndexDirections(n_neurons=100, n_permutations=9 if seed < 12 else 0).fit(X, y)
        counts.append(found.n_directions_)
        pvalues.append(found.pvalue_)
    assert np.sum(np.array(counts) > 0) <= binom.ppf(0.98, 30, 0.07)
    few = np.array(pvalues[:12])
    assert few.min() >= 1 / 10
    # Uniform on tenths: more than five of twelve at the lowest one is one chance in two thousand.
    assert np.sum(few <= 0.1) <= binom.ppf(0.999, 12, 0.1)


@pytest.mark.slow
def test_directions_are_counted() -> None:
    X, y, directions = make_multi_index("h1 + h1*h2", dim=20, samples=400, noise=0.1)
    found = IndexDirections(n_neurons=100, n_permutations=19).fit(X, y)
    assert found.n_directions_ == 2
    assert span_overlap(found.directions_, directions) > 0.95
    assert found.pvalue_ == pytest.approx(1 / 20)
    assert found.transform(X).std(axis=0) == pytest.approx(1, abs=0.2)


@pytest.mark.slow
@pytest.mark.parametrize(("target", "count"), [("He3(h1)/sqrt(6)", 1), ("h1 + h1*h2", 2)])
def test_heavy_tails_and_imprecise_directions_do_not_change_the_count(
    target: str, count: int
) -> None:
    """Squared errors of He3 have tails that hide it; two directions at n = 10 d are imprecise."""
    X, y, _ = make_multi_index(target, dim=50, samples=500, noise=0.1)
    assert IndexDirections(n_neurons=100, n_permutations=0).fit(X, y).n_directions_ == count


def test_two_directions_are_found_together_where_one_by_one_fails() -> None:
    """The search one by one ends at an overlap of 0.64: each direction is the other's noise."""
    X, y, true = make_multi_index("sin(2*h1) + abs(h2)", dim=50, samples=450, random_state=1000)
    y = (y - y.mean()) / y.std() + np.sqrt(0.1) * np.random.default_rng(0).standard_normal(450)
    generator = np.random.default_rng(7)
    path = fit_index_path(X, y, most=2, units=200, generator=generator)
    assert span_overlap(path[1].directions, true) > 0.9


def test_all_rows_learn_from_what_a_fold_has_found() -> None:
    """Without it R2 of 2000 rows of pumadyn32nm was .21 where every fold had found .93."""
    X, y, true = make_multi_index("h1 + h1*h2", dim=6, samples=300, noise=0.1)
    poor = np.linalg.qr(np.column_stack([true, np.eye(6)[:, :2]]))[0][:, 2:]
    sizes = {"units": 60, "generator": np.random.default_rng(0)}
    missed = [fit_index_model(poor[:, :1], X, y, steps=0, **sizes)]
    found = [fit_index_model(true[:, :r], X[::2], y[::2], steps=0, **sizes) for r in (1, 2)]
    better = path_with_found_directions(missed, found, X, y, **sizes)
    assert len(better) == 2
    assert span_overlap(better[1].directions, true) > 0.98
    assert better[1].score < 0.3 * missed[0].score
    assert path_with_found_directions(better, missed + found, X, y, **sizes) == better


def test_links_of_few_rows_have_few_units() -> None:
    """With 200 units on 66 rows of house prices R2 on other rows was .67, with 40 it is .82."""
    X, y, true = make_multi_index("abs(h1)", dim=5, samples=300, noise=0.1)
    found = {
        rows: fit_index_model(
            true, X[:rows], y[:rows], units=90, steps=0, generator=np.random.default_rng(0)
        )
        for rows in (60, 150, 300)
    }
    assert [len(model.link.knots) for model in found.values()] == [40, 50, 90]


@pytest.mark.parametrize(("rare", "searched"), [([0.0, 1.0], False), ([0.0, 1.0, 9.0], True)])
def test_a_column_of_two_values_has_no_tails(
    rare: list[float], searched: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Compressing it changes its scale only: directions are looked for once, not in both."""
    generator = np.random.default_rng(0)
    inputs = generator.uniform(-1, 1, (200, 2))
    shares = [0.95, *[0.05 / (len(rare) - 1)] * (len(rare) - 1)]
    inputs[:, 1] = generator.choice(rare, 200, p=shares)
    scaler = TailScaler.of(inputs, 3.0)
    searches: list[int] = []
    monkeypatch.setattr(
        index_path, "fit_index_path", lambda raw, *_, **__: searches.append(len(raw)) or []
    )
    index_path_with_tails(
        [], scaler.transform(inputs), inputs[:, 0], scaler, units=40, generator=generator
    )
    assert bool(searches) == searched


@pytest.mark.parametrize("target", ["abs(h1)", "He3(h1)/sqrt(6)", "h1 + h1*h2"])
def test_directions_are_found_where_classical_methods_stop_short(target: str) -> None:
    """At d = 50 and n = 500; every method is told the number of directions."""
    X, y, true = make_multi_index(target, dim=50, samples=500, noise=0.1)
    rank = true.shape[1]
    found = IndexDirections(n_directions=rank, n_permutations=0).fit(X, y)
    ours = span_overlap(found.directions_, true)
    assert ours > 0.9
    for method in (SlicedInverseRegression, SlicedAverageVariance, PrincipalHessianDirections):
        told = method(n_directions=rank).fit(X, y)
        assert span_overlap(told.directions_, true) < ours - 0.05


@pytest.mark.parametrize(
    ("method", "target"),
    [
        (SlicedInverseRegression, "h1 + h1**2/4"),
        (SlicedAverageVariance, "abs(h1)"),
        (PrincipalHessianDirections, "h1**2"),
    ],
)
def test_classical_methods_find_what_they_can(method: type, target: str) -> None:
    X, y, directions = make_multi_index(target, dim=8, samples=2000, noise=0.05)
    found = method(n_directions=1).fit(X, y)
    assert span_overlap(found.directions_, directions) > 0.95


@pytest.mark.slow
def test_probabilities_are_calibrated() -> None:
    X, y, _ = make_multi_index("h1*h2", dim=12, samples=1400)
    generator = np.random.default_rng(1)
    labels = np.where(generator.random(1400) < 1 / (1 + np.exp(-3 * y)), "yes", "no")
    model = GiantStepClassifier(kernel=False, agop_steps=1).fit(X[:500], labels[:500])
    probability = model.predict_proba(X[500:])[:, 1]
    truth = 1 / (1 + np.exp(-3 * y[500:]))
    assert np.mean((probability - truth) ** 2) < 0.03
    confident = probability > 0.8
    assert np.mean(labels[500:][confident] == "yes") > 0.8


def test_many_rows_and_classes_need_fewer_folds() -> None:
    y = np.arange(1500.0)
    small = {"kernel": False, "agop_steps": 0, "width": 5, "n_neurons": 5, "max_directions": 1}
    for rows, folds, found in ((1499, "auto", 5), (1500, "auto", 4), (1500, 3, 3)):
        model = GiantStepRegressor(**small, folds=folds).fit(y[:rows, None], y[:rows])
        assert len(model._fitted.folds) == found
    for folds, found in (("auto", 4), (3, 3)):
        classes = GiantStepClassifier(**small, folds=folds).fit(y[:60, None], y[:60] > 30)
        assert len(classes.regressor_of()._fitted.folds) == found


def test_a_link_becomes_a_target() -> None:
    X, y, _ = make_multi_index("He2(h1)", dim=5, samples=400, noise=0.01)
    found = IndexDirections(n_directions=1, n_permutations=1).fit(X, (y - y.mean()) / y.std())
    back = fitted_link_target(found.link_)
    assert back.captured > 0.9
    assert "He2" in back.target.text or "**2" in back.target.text


def test_one_class_is_refused_in_one_line() -> None:
    with pytest.raises(SettingsError, match="one class"):
        GiantStepClassifier().fit(np.random.default_rng(0).standard_normal((10, 2)), ["a"] * 10)


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    generator = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "size": generator.standard_normal(90),
            "kind": generator.choice(["red", "green"], 90),
            "name": [f"row {i}" for i in range(90)],
            "same": 1.0,
        }
    )
    frame["price"] = 2 * frame["size"] + (frame["kind"] == "red") + 3
    frame.loc[3, "size"] = np.nan
    frame.loc[5, "price"] = np.nan
    path = tmp_path_factory.mktemp("tables") / "data.csv"
    frame.to_csv(path, index=False)
    return path


def test_a_table_is_read_and_what_was_done_is_said(table: Path) -> None:
    prepared = prepare_table_to_fit(read_table_to_fit(table), "price")
    said = " ".join(prepared.notes)
    for words in ("1 row without a label", "'name'", "'same'", "categories"):
        assert words in said
    assert prepared.task == "regression"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("no-such.csv", "price"), "does not exist"),
        (("table.xlsx", "price"), "must end in"),
        (("", "cost"), "is not a column"),
        (("", "name"), "holds text"),
    ],
)
def test_bad_tables_get_one_line(table: Path, words: tuple[str, str], said: str) -> None:
    path = table if not words[0] else table.parent / words[0]
    with pytest.raises(GiantstepError, match=said):
        prepare_table_to_fit(read_table_to_fit(path), words[1], "regression")
