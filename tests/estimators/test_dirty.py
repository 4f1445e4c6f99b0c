"""Tables as people have them: wild cells, gaps, stray text, dates, tails, columns in disorder."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline

from giantstep.datasets import make_multi_index
from giantstep.errors import GiantstepError, SettingsError
from giantstep.estimators import GiantStepClassifier, GiantStepRegressor, IndexDirections, contract
from giantstep.estimators.index_model import fit_index_model
from giantstep.estimators.tables import column_as_numbers, prepare_table_to_fit, read_table_to_fit
from giantstep.estimators.tails import TailScaler

SMALL: dict[str, Any] = {
    "max_directions": 2,
    "n_neurons": 60,
    "width": 60,
    "folds": 3,
    "kernel": False,
    "agop_steps": 1,
}


@pytest.fixture(scope="module")
def clean() -> tuple[np.ndarray, np.ndarray]:
    X, y, _ = make_multi_index("h1 + abs(h2)", dim=6, samples=500, noise=0.05)
    return X, y


def spoil_a_cell(X: np.ndarray) -> None:
    X[7, 2] = 1e6


def spoil_by_codes(X: np.ndarray) -> None:
    X[[5, 50, 150], [1, 1, 4]] = -999


@pytest.mark.parametrize("spoil", [spoil_a_cell, spoil_by_codes])
def test_a_few_wild_cells_do_not_set_the_scale(
    clean: tuple[np.ndarray, np.ndarray], spoil: Callable[[np.ndarray], None]
) -> None:
    """One cell of 1e6 in 300 rows took R2 from .949 to .202."""
    X, y = clean
    spoiled = X[:300].copy()
    spoil(spoiled)
    wanted, found = (GiantStepRegressor(**SMALL).fit(rows, y[:300]) for rows in (X[:300], spoiled))
    assert found.score(X[300:], y[300:]) > wanted.score(X[300:], y[300:]) - 0.03
    assert any("cut off" in note for note in found.notes_)
    assert not wanted.notes_


def test_a_number_repeated_far_outside_stands_for_a_missing_one(
    clean: tuple[np.ndarray, np.ndarray],
) -> None:
    """Cut off, -999 in every tenth row became the column's largest number, and its direction."""
    X, y = clean
    gaps, coded = X.copy(), X.copy()
    gaps[::10, 1], coded[::10, 1] = np.nan, -999
    wanted, found = (GiantStepRegressor(**SMALL).fit(rows[:300], y[:300]) for rows in (gaps, coded))
    assert_allclose(found.predict(coded[300:]), wanted.predict(gaps[300:]))
    assert_allclose(found.predict(gaps[300:]), wanted.predict(gaps[300:]))
    assert any("took -999 for missing" in note for note in found.notes_)
    assert any("filled 30 missing numbers" in note for note in found.notes_)


def test_a_long_tail_is_no_slip() -> None:
    """Numbers that lead up to the largest one were cut off with it, in half of lognormal tables."""
    column = np.concatenate([np.linspace(0, 1, 100), 1.5 ** np.arange(1, 12)])
    scaler = TailScaler.of(column[:, None], 3.0)
    assert scaler.low[0] < column.min() < column.max() < scaler.high[0]
    assert TailScaler.of(np.append(column, 1e6)[:, None], 3.0).high[0] < 1e3


def test_a_constant_column_is_ignored_whatever_comes_later(
    clean: tuple[np.ndarray, np.ndarray],
) -> None:
    """Changed at prediction, it took R2 from .957 to .503."""
    X, y = clean
    rows = np.column_stack([X, np.full(500, 3.0)])
    model = GiantStepRegressor(**SMALL).fit(rows[:300], y[:300])
    before = model.predict(rows[300:])
    rows[300:, -1] = 1e3
    assert_allclose(model.predict(rows[300:]), before)
    assert model.notes_ == ("ignored 1 constant column",)


def test_a_mark_that_one_row_has_does_not_spoil_its_score() -> None:
    """Without that row the column is constant, and says nothing about it."""
    generator = np.random.default_rng(0)
    X = np.column_stack([generator.standard_normal((70, 2)), np.zeros(70)])
    X[5, 2] = 1
    y = X[:, 0] + 0.05 * generator.standard_normal(70)
    model = GiantStepRegressor(**SMALL).fit(X, y)
    assert abs(model.held_out_errors_[5]) < 0.3
    assert model.oof_score_ > 0.98


def test_missing_numbers_are_filled_and_marked(clean: tuple[np.ndarray, np.ndarray]) -> None:
    """The label depends on whether a number is missing, which the median alone would hide."""
    X, y = (part.copy() for part in clean)
    missing = np.random.default_rng(0).random(500) < 0.3
    X[missing, 3] = np.nan
    y += 3 * missing
    model = GiantStepRegressor(**SMALL).fit(X[:300], y[:300])
    assert model.score(X[300:], y[300:]) > 0.85
    assert np.argmax(model.feature_importances_) == 3
    assert model.directions_.shape[0] == 6
    assert f"filled {missing[:300].sum()} missing" in model.notes_[0]
    # A gap where the fit had none is filled too, and infinity is not.
    X[300, 0] = np.nan
    assert np.isfinite(model.predict(X[300:])).all()
    X[300, 0] = np.inf
    with pytest.raises(ValueError, match="infinity"):
        model.predict(X[300:])
    labels = np.where(y > np.median(y), "high", "low")
    classifier = GiantStepClassifier(**SMALL).fit(X[:300], labels[:300])
    assert classifier.score(X[301:], labels[301:]) > 0.8


def cubic(index: Any) -> Any:
    return index**3 - 3 * index


@pytest.mark.parametrize(
    ("name", "link"),
    [("lognormal", np.abs), ("t4", np.abs), ("t4", cubic)],
    ids=["lognormal-abs", "t4-abs", "t4-cubic"],
)
def test_links_follow_columns_with_tails(name: str, link: Callable[[Any], Any]) -> None:
    """Compressed columns add up to another index: R2 was .83 and .90 in the mean of three draws.

    Units that follow a cubic within the data fit as well as it, and do not go on beyond.
    """
    generator = np.random.default_rng(100)
    if name == "t4":
        X = generator.standard_t(4, (2300, 20)) / np.sqrt(2)
    else:
        X = (generator.lognormal(size=(2300, 20)) - np.exp(0.5)) / np.sqrt((np.e - 1) * np.e)
    direction = generator.standard_normal(20)
    y = link(X @ direction / np.linalg.norm(direction))
    y /= y[:300].std()
    seen = y[:300] + np.sqrt(0.1) * generator.standard_normal(300)
    model = GiantStepRegressor(kernel=False, width=200, agop_steps=1).fit(X[:300], seen)
    # A link stays within five ranges of the labels that were seen, which one cubic label leaves.
    near = np.abs(y[300:]) < 5 * np.ptp(seen)
    assert near.sum() >= 1999
    assert model.score(X[300:][near], y[300:][near]) > 0.9


def test_a_cubic_goes_on_beyond_the_data_and_other_links_along_their_tangent() -> None:
    generator = np.random.default_rng(0)
    X = generator.standard_normal((200, 3))
    labels = cubic(X[:, 0])
    found = {}
    for degree in (0, 3):
        found[degree] = fit_index_model(
            np.eye(3)[:, :1], X, labels, units=60, steps=1, generator=generator, degree=degree
        )
    far = np.zeros((2, 3))
    far[:, 0] = 1.5 * X[:, 0].max(), 9 * X[:, 0].max()
    truth = cubic(far[:, 0])
    said = {degree: model.predict(far) for degree, model in found.items()}
    assert_allclose(said[3][0], truth[0], rtol=0.01)
    assert said[0][0] < 0.8 * truth[0]
    # By one more range at most.
    assert said[3][1] < cubic(X[:, 0].max() + np.ptp(X[:, 0])) * 1.05 < truth[1]
    assert found[3].leave_one_out(X, labels).mean() < found[0].leave_one_out(X, labels).mean()


def test_heavy_labels_are_compressed_where_that_predicts_better() -> None:
    """In the second draw the sum of held-out errors, which a few rows decide, says otherwise."""
    ranks = []
    for seed in range(1, 7):
        generator = np.random.default_rng(seed)
        X = generator.standard_normal((300, 5))
        light = X[:, 0] + 0.3 * generator.standard_normal(300)
        heavy = np.exp(3 * light)
        for labels, said in ((light, False), (heavy, True))[seed > 1 :]:
            model = GiantStepRegressor(**SMALL).fit(X[:200], labels[:200])
            assert ("compressed the tails of the label" in model.notes_) == said
            predicted = model.predict(X[200:])
            assert predicted.max() <= 1.1 * labels[:200].max() + 1
        ranks.append(np.corrcoef(np.argsort(np.argsort(predicted)), light[200:])[0, 1])
    assert np.mean(ranks) > 0.85


def test_rows_of_little_weight_do_not_count() -> None:
    """Half of the rows have another label; with their weights R2 is .89, and without below -3."""
    generator = np.random.default_rng(0)
    X = generator.standard_normal((1240, 5))
    y = np.abs(X[:, 0] + X[:, 1])
    wrong = generator.random(240) < 0.5
    labels = np.where(wrong, -3 * X[:240, 2], y[:240])
    weights = np.where(wrong, 0.01, 1.0)
    model = GiantStepRegressor(**SMALL).fit(X[:240], labels, weights)
    assert model.score(X[240:], y[240:]) > 0.85
    assert model.oof_score_ > 0.7
    classifier = GiantStepClassifier(**SMALL).fit(X[:240], labels > 1, weights)
    assert classifier.score(X[240:], y[240:] > 1) > 0.93
    # Weights that are all the same change nothing.
    one, other = (
        GiantStepRegressor(**SMALL).fit(X[:60], y[:60], w).predict(X[60:])
        for w in (None, np.full(60, 7))
    )
    assert_allclose(one, other, atol=1e-6)
    with pytest.raises(SettingsError, match="sample_weight: a streamed fit takes none"):
        GiantStepRegressor(**SMALL, streaming=True).fit(X[:240], labels, weights)


def test_streamed_predictions_want_the_columns_of_the_fit() -> None:
    """Reversed columns gave R2 = -.86 without an error."""
    X, y, _ = make_multi_index("h1", dim=4, samples=300, noise=0.05)
    frame = pd.DataFrame(X, columns=["a", "b", "c", "d"])
    settings = {**SMALL, "streaming": True}
    model = GiantStepRegressor(**settings).fit(frame, y)
    assert model.score(frame, y) > 0.9
    with pytest.raises(ValueError, match=r"in another order .* column 0 is 'd', and was 'a'"):
        model.predict(frame[["d", "c", "b", "a"]])
    with pytest.raises(ValueError, match=r"other than those .* 'e'"):
        model.predict(frame.rename(columns={"d": "e"}))
    with pytest.raises(ValueError, match="has 3 features"):
        model.predict(frame[["a", "b", "c"]])
    frame.loc[3, "b"] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        model.predict(frame)


def test_several_labels_are_fitted_one_by_one(clean: tuple[np.ndarray, np.ndarray]) -> None:
    X, y = clean
    model = GiantStepRegressor(**SMALL).fit(X[:200], np.column_stack([y, -2 * y])[:200])
    found = model.predict(X[200:])
    assert found.shape == (300, 2)
    alone = GiantStepRegressor(**SMALL).fit(X[:200], y[:200])
    assert_allclose(found[:, 0], alone.predict(X[200:]))
    assert alone.fit(X[:200], y[:200, None]).predict(X[:3]).shape == (3,)
    with pytest.raises(SettingsError, match="return_interval"):
        model.predict(X, return_interval=0.9)


def test_a_table_of_ones_predicts_the_mean() -> None:
    y = np.arange(30.0)
    model = GiantStepRegressor(**SMALL).fit(np.ones((30, 3)), y)
    assert_allclose(model.predict(np.zeros((2, 3))), y.mean())


def test_a_pipeline_without_directions_predicts_the_mean() -> None:
    generator = np.random.default_rng(2)
    X, y = generator.standard_normal((60, 4)), np.full(60, 2.0)
    found = make_pipeline(IndexDirections(n_neurons=20, folds=2), LinearRegression()).fit(X, y)
    assert found[0].n_directions_ == 0
    assert_allclose(found.predict(X), 2.0)


def test_sparse_rows_are_made_dense_within_a_limit(
    clean: tuple[np.ndarray, np.ndarray], monkeypatch: pytest.MonkeyPatch
) -> None:
    X, y = clean
    model = GiantStepRegressor(**SMALL)
    wanted = model.fit(X[:100], y[:100]).predict(X[:100])
    assert_allclose(
        model.fit(sparse.csr_matrix(X[:100]), y[:100]).predict(sparse.csr_array(X[:100])), wanted
    )
    monkeypatch.setattr(contract, "MOST_IN_MEMORY", 100)
    with pytest.raises(SettingsError, match=r"sparse with 500 x 6 numbers.* up to 1e"):
        model.fit(sparse.csr_matrix(X), y)


def written(folder: Path, text: str, encoding: str = "utf-8") -> Path:
    path = folder / "data.csv"
    path.write_bytes(text.encode(encoding))
    return path


def messy() -> pd.DataFrame:
    """Twenty rows with one kind of trouble in each column."""
    rows = range(20)
    return pd.DataFrame(
        {
            "price": [f"{27108.24 + row:,.2f}" for row in rows[:18]] + ["unknown", "NA"],
            "mass": [f"{row + 12} kg" for row in rows],
            "day": [f"2024-03-{row + 1:02d}" for row in rows],
            "customer_id": [7 * row + 100 for row in rows],
            "row": [row + 1 for row in rows],
            "sex": ["f", "m"] * 10,
            "size": ["3 kg", "4 lb"] * 10,
            "value": [0.5, 1.25] * 10,
            "label": [row % 7 + 0.5 for row in rows],
        }
    )


def test_columns_are_read_as_they_were_meant() -> None:
    prepared = prepare_table_to_fit(messy(), "label")
    names = list(prepared.encoder.fit(prepared.inputs).get_feature_names_out())
    assert names == [
        "price",
        "mass",
        "day",
        "value",
        "sex_m",
        "size_4 lb",
    ]
    table = prepared.encoder.transform(prepared.inputs).iloc[1]
    assert (table["price"], table["mass"], table["sex_m"]) == (27109.24, 13.0, 1.0)
    assert table["day"] == (pd.Timestamp("2024-03-02") - pd.Timestamp("1970-01-01")).days
    said = " ".join(prepared.notes)
    for words in (
        "'price': texts were read as numbers; 2 texts left missing",
        "'day': dates became days",
        "left out column 'customer_id': it numbers the rows",
        "left out column 'row': it numbers the rows",
    ):
        assert words in said
    assert_allclose(
        column_as_numbers(pd.Series(["$ 1'200", "-3e2 m2", "12.5%", ".5", "1/2", "2024-03-01"])),
        [1200, -300, 12.5, 0.5, np.nan, np.nan],
    )


def test_a_label_written_as_text_is_read_as_numbers() -> None:
    frame = messy().assign(label=[f"{1000 * row + 0.5:,.1f}" for row in range(19)] + ["unknown"])
    prepared = prepare_table_to_fit(frame, "label")
    assert prepared.task == "regression"
    assert_allclose(prepared.labels, 1000 * np.arange(19) + 0.5)
    said = " ".join(prepared.notes)
    assert "label 'label': texts were read as numbers; 1 text left missing" in said
    assert "left out 1 row without a label" in said


def test_a_category_that_is_missing_is_a_level() -> None:
    """Any gap in a column of texts ended a fit."""
    frame = messy().assign(colour=["red", None, "blue", "red", np.nan] * 4)
    prepared = prepare_table_to_fit(frame, "label")
    table = prepared.encoder.fit_transform(prepared.inputs)
    assert [c for c in table.columns if c.startswith("colour")] == [
        "colour_blue",
        "colour_missing",
        "colour_red",
    ]
    assert table["colour_missing"].sum() == 8


def test_copies_counts_and_slips_are_said() -> None:
    frame = messy().assign(label=[0, 1, 2, 3] * 5)
    twice = pd.concat([frame, frame.iloc[:3]])
    prepared = prepare_table_to_fit(twice.drop(columns=["row"]), "label")
    assert prepared.task == "regression"
    said = " ".join(prepared.notes)
    assert "copies of other rows: 3" in said
    assert "left out column 'customer_id'" in said
    assert "taken for counts, and fitted as numbers; --task decides" in said
    assert prepare_table_to_fit(frame.assign(label=[0, 1] * 10), "label").task == "classification"
    for slip in ("lable", "LABEL"):
        with pytest.raises(GiantstepError, match="is not a column: did you mean 'label'"):
            prepare_table_to_fit(frame, slip)


@pytest.mark.parametrize("written", ["%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%Y-%m-%d", "%b %d, %Y"])
def test_dates_are_days_in_their_order_however_they_are_written(written: str) -> None:
    """05.01. was read as the first of May, and 13.01. as the thirteenth of January."""
    dates = pd.date_range("2024-01-05", periods=20, freq="3D")
    frame = pd.DataFrame({"day": dates.strftime(written), "label": np.linspace(0, 1, 20)})
    prepared = prepare_table_to_fit(frame, "label")
    read = prepared.encoder.fit(prepared.inputs)
    assert_allclose(np.diff(read.transform(prepared.inputs)["day"]), 3.0)
    # Two rows to predict are read as the column was.
    assert_allclose(np.diff(read.transform(prepared.inputs.iloc[:2])["day"]), 3.0)


@pytest.mark.parametrize(
    ("text", "encoding", "said"),
    [
        ("größe;y\n1,5;2\n2,5;3\n", "utf-8", "';'"),
        ("größe;y\n1.5;2\n2.5;3\n", "utf-8", "';'"),
        ("größe\ty\n1.5\t2\n2.5\t3\n", "utf-8", "'\\t'"),
        ("größe,y\n1.5,2\n2.5,3\n", "cp1252", "Windows-1252"),
        ("größe,y\n1.5,2\n2.5,3\n", "utf-16", "UTF-16"),
        ("\ufeffgröße,y\n1.5,2\n2.5,3\n", "utf-8", ""),
    ],
)
def test_separators_and_encodings_are_told(
    text: str, encoding: str, said: str, tmp_path: Path
) -> None:
    frame = read_table_to_fit(written(tmp_path, text, encoding))
    assert list(frame.columns) == ["größe", "y"]
    assert frame["größe"].tolist() == [1.5, 2.5]
    assert said in " ".join(frame.attrs["notes"])
