"""`giantstep fit` and `apply` from end to end: both tasks, strangers' models, hostile names."""

from __future__ import annotations

import html
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from giantstep.cli.main import app
from giantstep.errors import GiantstepError
from giantstep.estimators import GiantStepRegressor
from giantstep.estimators.fitting import Fitted, Score, apply_fitted_model
from giantstep.estimators.tables import plain_column_name, read_table_to_fit, save_fitted_table

#: A name that clears the screen where it is printed.
STEERING = "\x1b[2Jsize"


def run(*words: object) -> Any:
    result = CliRunner().invoke(app, [str(word) for word in words], catch_exceptions=False)
    assert result.exit_code == 0, result.stderr
    return result


@pytest.fixture(scope="module", params=["regression", "classification"])
def kept(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A table with numbers, text and holes, fitted by the command line."""
    folder = tmp_path_factory.mktemp(request.param)
    generator = np.random.default_rng(0)
    frame = pd.DataFrame(generator.standard_normal((70, 2)), columns=[STEERING, "age"])
    frame["kind"] = generator.choice(["red", "green"], 70)
    value = 2 * frame[STEERING] + (frame["kind"] == "red") + 0.1 * generator.standard_normal(70)
    frame["constant\x1b]0;title\x07"] = 1
    frame.loc[[3, 5], "age"] = np.nan
    frame["label"] = value if request.param == "regression" else np.where(value > 0, "up", "down")
    frame.to_csv(folder / "data.csv", index=False)
    words = ("fit", folder / "data.csv", "--label", "label", "--model", folder / "model.skops")
    result = run(*words, "--out", folder / "page.html", "--json")
    return request.param, folder, frame, json.loads(result.stdout)


def test_a_table_is_fitted_scored_and_shown(kept: Any) -> None:
    task, folder, _, found = kept
    assert found["task"] == task
    scores = {name: score["mean"] for name, score in found["scores"].items()}
    peers = {"regression": {"mean", "ridge", "kernel ridge"}}.get(task, {"logistic", "kernel"})
    assert scores.keys() > peers | {"boosted trees"}
    assert scores["giantstep"] > 0.85
    page = (folder / "page.html").read_text(encoding="utf-8")
    assert "label in data.csv" in page
    assert html.escape(found["verdict"]) in page
    assert found["directions"]["evidence"] > 3
    assert "Along which directions" in page
    if task == "regression":
        assert found["more_rows"][0]["samples"] == 140
        for words in ("matters", "R2 0.99", "(ridge 0.99", "twice the rows would give about"):
            assert words in found["verdict"]
        # Theory is there, folded; links carry the names of columns.
        assert '<details class="folded">' in page


def test_no_column_matters_where_nothing_beats_the_most_frequent_class() -> None:
    """An accuracy of 0.58 +- 0.03 is no news where the most frequent class has 0.54."""
    scores = (Score("giantstep", 0.58, 0.03), Score("most frequent class", 0.54, 0.03))
    rest = (Score("logistic", 0.59, 0.03),)
    for advice in (None, "logistic"):
        found = Fitted(None, (*scores, *rest), "classification", (), (), (), advice)  # type: ignore[arg-type]
        said = "accuracy 0.58 +- 0.03 (most frequent class 0.54, logistic 0.59)"
        assert found.verdict() == f"Nothing was found that predicts new rows: {said}."
    clear = (*scores, Score("logistic", 0.61, 0.03))
    found = Fitted(None, clear, "classification", (), (), (), "logistic")  # type: ignore[arg-type]
    assert found.verdict() == "Use logistic here: accuracy 0.61 +- 0.03, giantstep 0.58 +- 0.03 ()."


def test_the_forecast_says_whose_it_is_where_another_method_is_recommended() -> None:
    scores = (Score("giantstep", 0.1, 0.02), Score("mean", 0.0, 0.01), Score("ridge", 0.4, 0.02))
    curve = pd.DataFrame({"r2": [0.2], "r2_low": [0.1], "r2_high": [0.3]})
    found = Fitted(None, scores, "regression", (), (), (), "ridge", curve)  # type: ignore[arg-type]
    assert found.verdict().endswith("giantstep with twice the rows: about 0.20 +- 0.10.")
    # A forecast that would be a guess has no numbers, here or in JSON.
    guess = Fitted(None, scores, "regression", (), (), (), "ridge", np.nan * curve)  # type: ignore[arg-type]
    assert guess.verdict().endswith("; what more rows would buy cannot be known from these.")
    assert found.forecast_known
    assert not guess.forecast_known


def test_a_kept_model_predicts_the_same_rows(kept: Any) -> None:
    task, folder, frame, _ = kept
    run("apply", folder / "model.skops", folder / "data.csv", "--out", folder / "out.csv")
    found = pd.read_csv(folder / "out.csv")
    if task == "regression":
        inside = frame["label"].between(found["prediction_low"], found["prediction_high"])
        assert inside.mean() > 0.85
        assert np.corrcoef(found["prediction"], frame["label"])[0, 1] > 0.95
    else:
        assert np.mean(found["prediction"] == frame["label"]) > 0.9
        assert found["probability"].between(0.5, 1).all()
    rows = read_table_to_fit(folder / "data.csv").drop(columns="kind")
    with pytest.raises(GiantstepError, match="lacks the column 'kind'"):
        apply_fitted_model(folder / "model.skops", rows)


class Payload:
    """What a stranger plants: a file appears when it is unpickled."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> Any:
        return os.mkdir, (str(self.mark),)


def test_no_strangers_file_runs_code(tmp_path: Path) -> None:
    import joblib
    import skops.io as skops

    mark, path = tmp_path / "ran", tmp_path / "model"
    frame = pd.DataFrame({"x": [1.0]})
    joblib.dump({"pipeline": Payload(mark), "inputs": ("x",)}, path)
    with pytest.raises(GiantstepError, match="was not written by giantstep fit"):
        apply_fitted_model(path, frame)
    model = GiantStepRegressor()
    model.random_state = os.system
    skops.dump({"pipeline": model, "inputs": ("x",)}, path)
    with pytest.raises(GiantstepError, match=r"asks for .*system.*nothing of it was run"):
        apply_fitted_model(path, frame)
    assert not mark.exists()
    joblib.dump({"pipeline": Payload(mark)}, path)
    joblib.load(path)
    assert mark.exists()


def test_names_that_steer_a_terminal_are_written_out(kept: Any) -> None:
    _, folder, frame, found = kept
    assert STEERING in frame.columns
    said = " ".join(found["columns"] + found["notes"])
    assert "\\x1b[2Jsize" in said
    assert "\\x07" in said
    assert "\x1b" not in said + (folder / "page.html").read_text(encoding="utf-8")


def test_no_formula_reaches_an_export(tmp_path: Path) -> None:
    frame = pd.DataFrame({"=cmd()": [1.5, -2.0], "text": ["@sum", "fine"]})
    save_fitted_table(frame, tmp_path / "out.csv")
    lines = (tmp_path / "out.csv").read_text(encoding="utf-8").splitlines()
    assert lines == ["'=cmd(),text", "1.5,'@sum", "-2.0,fine"]
    assert plain_column_name("a b") == "a b"
