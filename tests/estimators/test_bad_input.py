"""Bad input gets one clear line or a correct fit, and memory maps are as good as arrays."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.utils import get_tags
from typer.testing import CliRunner

from giantstep.cli.main import app
from giantstep.datasets import make_multi_index
from giantstep.errors import SettingsError
from giantstep.estimators import (
    GiantStepClassifier,
    GiantStepRegressor,
    IndexDirections,
    PrincipalHessianDirections,
    SlicedAverageVariance,
    SlicedInverseRegression,
)

SMALL: dict[str, Any] = {"max_directions": 2, "n_neurons": 20, "width": 40, "folds": 2}
ESTIMATORS: list[Any] = [
    GiantStepRegressor(**SMALL),
    GiantStepClassifier(**SMALL),
    IndexDirections(n_neurons=20, folds=2, n_permutations=9),
    SlicedInverseRegression(n_directions=1),
    SlicedAverageVariance(n_directions=1),
    PrincipalHessianDirections(n_directions=1),
]
every_estimator = pytest.mark.parametrize("model", ESTIMATORS, ids=lambda e: type(e).__name__)


def rows(samples: int, dim: int) -> np.ndarray:
    return np.random.default_rng(samples + dim).standard_normal((samples, dim))


def labels_for(model: Any, X: np.ndarray) -> np.ndarray:
    values = X[:, 0] + 0.1 * np.random.default_rng(0).standard_normal(len(X))
    if isinstance(model, GiantStepClassifier):
        return np.where(values > np.median(values), "high", "low")
    return values


def output(model: Any, X: Any) -> np.ndarray:
    return model.predict(X) if hasattr(model, "predict") else model.transform(X)


def with_entry(value: Any) -> np.ndarray:
    X = rows(30, 3).astype(object if isinstance(value, str) else float)
    X[4, 1] = value
    return X


@every_estimator
@pytest.mark.parametrize(
    ("X", "said"),
    [
        (with_entry(np.nan), "NaN"),
        (with_entry(np.inf), "infinity"),
        (with_entry("red"), "could not convert string to float: 'red'"),
        (sparse.csr_matrix(rows(30, 3)), "[Ss]parse"),
    ],
    ids=["nan", "infinite", "text", "sparse"],
)
def test_what_is_not_a_number_is_named(model: Any, X: Any, said: str) -> None:
    y = labels_for(model, rows(30, 3))
    tags = get_tags(model).input_tags
    if (said == "NaN" and tags.allow_nan) or (said == "[Ss]parse" and tags.sparse):
        model.fit(X, y)
        return
    with pytest.raises((ValueError, TypeError), match=said) as caught:
        model.fit(X, y)
    # Scikit-learn's own words, which begin with one line that says it all.
    assert said.lower().strip("[s]") in str(caught.value).splitlines()[0].lower()


@every_estimator
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_labels_that_are_no_number_are_named(model: Any, value: float) -> None:
    X = rows(30, 3)
    y = X[:, 0].copy()
    y[7] = value
    with pytest.raises(ValueError, match=r"NaN|infinity"):
        model.fit(X, y)


@every_estimator
def test_useless_columns_do_no_harm(model: Any) -> None:
    X = rows(60, 3)
    y = labels_for(model, X)
    constant = np.column_stack([X, np.full(60, 1e8), np.zeros(60)])
    doubled = np.column_stack([X, X[:, :2]])
    for inputs in (constant, doubled):
        found = output(model.fit(inputs, y), inputs)
        if isinstance(model, GiantStepClassifier):
            assert np.mean(found == y) > 0.8
            continue
        assert np.isfinite(found).all()
        if isinstance(model, GiantStepRegressor | SlicedInverseRegression | IndexDirections):
            first = found if found.ndim == 1 else found[:, 0]
            assert abs(np.corrcoef(first, y)[0, 1]) > 0.9


@every_estimator
def test_numbers_in_object_columns_are_numbers(model: Any) -> None:
    X = rows(40, 3)
    y = labels_for(model, X)
    plain = output(model.fit(X, y), X)
    found = output(model.fit(X.astype(object), y), X.astype(object))
    if isinstance(model, GiantStepClassifier):
        assert (found == plain).all()
    else:
        assert_allclose(found, plain, rtol=1e-10, atol=1e-12)


@every_estimator
@pytest.mark.parametrize(("samples", "dim"), [(12, 30), (40, 1), (3, 2)])
def test_few_rows_or_one_column_are_fitted(model: Any, samples: int, dim: int) -> None:
    X = rows(samples, dim)
    y = labels_for(model, X)
    found = output(model.fit(X, y), X)
    assert len(found) == samples
    if isinstance(model, GiantStepClassifier):
        assert set(found) <= {"high", "low"}
        if dim == 1:
            assert np.mean(found == y) > 0.8
    else:
        assert np.isfinite(found).all()
        if dim == 1 and found.ndim == 1:
            assert np.corrcoef(found, y)[0, 1] > 0.95


@every_estimator
def test_a_constant_label_is_its_own_prediction(model: Any) -> None:
    X = rows(30, 3)
    if isinstance(model, GiantStepClassifier):
        with pytest.raises(ValueError, match="one class only"):
            model.fit(X, np.full(30, "yes"))
        return
    model.fit(X, np.full(30, 2.5))
    if isinstance(model, GiantStepRegressor):
        assert_allclose(model.predict(X), 2.5, rtol=1e-12)
    elif isinstance(model, IndexDirections):
        assert (model.n_directions_, model.pvalue_) == (0, 1.0)
        assert not model.transform(X).any()
    else:
        assert np.isfinite(model.transform(X)).all()


@every_estimator
def test_a_memory_map_gives_the_fit_of_the_array(model: Any, tmp_path: Path) -> None:
    X, values, _ = make_multi_index("abs(h1)", dim=5, samples=60, noise=0.05)
    y = (values > np.median(values)).astype(float)
    y = y if isinstance(model, GiantStepClassifier) else values
    np.save(tmp_path / "X.npy", X)
    np.save(tmp_path / "y.npy", y)
    mapped, labels = (np.load(tmp_path / f"{name}.npy", mmap_mode="r") for name in "Xy")
    assert isinstance(mapped, np.memmap)
    found = output(model.fit(mapped, labels), mapped)
    assert_allclose(found, output(model.fit(X, y), X), rtol=1e-6, atol=1e-8)
    assert_allclose(np.load(tmp_path / "X.npy"), X)


def test_without_permutations_nothing_is_significant() -> None:
    X = rows(30, 3)
    assert IndexDirections(n_neurons=20, folds=2, n_permutations=0).fit(X, X[:, 0]).pvalue_ == 1.0


@pytest.mark.parametrize(
    ("model", "setting", "value", "said"),
    [
        (GiantStepRegressor, "folds", 1, "whole number of at least 2, or 'auto'"),
        (GiantStepRegressor, "folds", 2.5, "whole number of at least 2, or 'auto'"),
        (GiantStepRegressor, "max_directions", 0, "whole number of at least 1"),
        (GiantStepRegressor, "width", "big", "whole number of at least 1, or 'auto'"),
        (GiantStepRegressor, "agop_steps", -1, "whole number of at least 0"),
        (GiantStepRegressor, "clip", np.nan, "a positive number"),
        (GiantStepRegressor, "clip", "three", "a positive number"),
        (GiantStepRegressor, "kernel", "yes", "True, False or 'auto'"),
        (GiantStepClassifier, "folds", 1, "whole number of at least 2, or 'auto'"),
        (IndexDirections, "folds", 1, "whole number of at least 2"),
        (IndexDirections, "n_directions", "two", "whole number of at least 1, or 'auto'"),
        (IndexDirections, "n_permutations", -1, "whole number of at least 0"),
        (SlicedInverseRegression, "n_directions", True, "whole number of at least 1"),
        (SlicedInverseRegression, "n_slices", 1, "whole number of at least 2"),
    ],
)
def test_a_setting_out_of_range_is_named(model: Any, setting: str, value: Any, said: str) -> None:
    X = rows(30, 3)
    with pytest.raises(SettingsError, match=f"^{setting} = {value!r}: give (a )?{said}$"):
        model(**{setting: value}).fit(X, (X[:, 0] > 0).astype(float))


@pytest.mark.parametrize(
    ("label", "task", "said"),
    [
        ("cost", "regression", "'cost' is not a column"),
        ("kind", "regression", "holds text"),
        ("same", "classification", "one class only"),
        ("far", "regression", "infinite"),
        ("far", "auto", "infinite"),
        ("same", "regression", "one value only"),
        ("few", "regression", "3 rows with a label are too few"),
        ("own", "classification", "no class has more than 1 rows"),
    ],
)
def test_the_command_line_answers_bad_tables_in_one_line(
    label: str, task: str, said: str, tmp_path: Path
) -> None:
    frame = pd.DataFrame({"size": rows(20, 1)[:, 0], "kind": ["a", "b"] * 10, "same": 1})
    frame["far"] = [np.inf, *range(19)]
    frame["few"] = [1.0, 2.5, 3.0, *[np.nan] * 17]
    frame["own"] = [f"row {number}" for number in range(20)]
    frame.to_csv(tmp_path / "data.csv", index=False)
    words = ["fit", str(tmp_path / "data.csv"), "--label", label, "--task", task]
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 2
    assert said in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1
    assert result.stdout == ""
