"""A study is an answer: its table, its labelled array, its frame, and its files."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas
import pytest
from processes import kept
from typer.testing import CliRunner

from giantstep.answer import Answer
from giantstep.asking.studies.kept import MISSING, KeptStudy, study_failures
from giantstep.asking.studies.store import Store
from giantstep.asking.studies.study import Study
from giantstep.cli.main import app
from giantstep.errors import GiantstepError

AXES = {"centre": [-1.0, 1.0, 2.0], "samples": ["d", "2d"], "dim": [5, 10]}


@pytest.fixture(scope="module")
def results(sums: Callable[..., Study], tmp_path_factory: pytest.TempPathFactory) -> KeptStudy:
    path = tmp_path_factory.mktemp("results") / "s.sqlite"
    return kept(sums(axes=AXES, seeds=3, seed=1), store=path, workers=1)


@pytest.fixture(scope="module")
def answer(results: KeptStudy) -> Answer:
    return results.answer()


def test_the_array_has_named_dimensions(answer: Answer) -> None:
    data = answer.to_xarray()
    assert set(data.total.dims) == {"centre", "samples", "dim", "seed"}
    assert data.total.dtype == np.float64
    assert list(data.seed.values) == [1, 2, 3]
    at = {"centre": 2.0, "samples": "2d", "dim": 5}
    assert float(data.total_theory.sel(at)) == 20.0
    point = next(p for p in answer if (p.settings.centre, p.settings.dim) == (2.0, 5))
    assert str(data.total_status.sel(at).item()) == point.statuses["total"]
    assert np.isnan(data.total_theory.sel(centre=-1.0)).all()
    assert "there is theory from 0 upwards" in str(data.failure_theory.sel(at | {"centre": -1.0}))
    assert "failure" not in data
    assert (data.profile - data.profile_theory).dims == (*data.total.dims, "profile_axis0")
    draws = data.draws.sel(at | {"seed": 2})
    assert draws.dtype == np.float32
    assert draws.notnull().sum() == 10
    assert float(draws[:3].sum()) == pytest.approx(float(data.profile.sel(at | {"seed": 2}).sum()))


def test_means_lie_beside_theory(answer: Answer) -> None:
    at = {"centre": 1.0, "samples": "d", "dim": 10}
    measured = answer.to_xarray().total.sel(at).values
    assert float(answer.mean("total").sel(at)) == pytest.approx(measured.mean())
    sem = measured.std(ddof=1) / np.sqrt(3)
    assert float(answer.sem("total").sel(at)) == pytest.approx(sem)
    frame = answer.to_frame()
    line = frame.query("centre == 1 and samples == 'd' and dim == 10 and metric == 'total'").iloc[0]
    assert (line["mean"], line["sem"], line["theory"]) == pytest.approx((measured.mean(), sem, 10))
    assert line["status"] == "theorem"
    assert "theory from 0 upwards" in " ".join(study_failures(answer))


def test_files_hold_the_same_numbers(results: KeptStudy, answer: Answer, tmp_path: Path) -> None:
    def export(form: str, out: Path) -> Path:
        words = ["study", "export", "sums", "--to", form, "--out", str(out)]
        told = CliRunner().invoke(app, [*words, "--store", str(results.store)])
        assert told.exit_code == 0, told.stderr
        return out

    frame = answer.to_frame(seeds=True)
    texts = pandas.read_csv(export("csv", tmp_path / "a" / "s.csv"))
    np.testing.assert_array_equal(texts["value"], frame["value"])
    parquet = pandas.read_parquet(export("parquet", tmp_path / "s.parquet"))
    pandas.testing.assert_frame_equal(parquet, frame, check_dtype=False)
    plain = json.loads(export("json", tmp_path / "s.json").read_text())
    order = list(plain["sweep"]["axes"])
    values = np.array(plain["simulation"]["total"]["values"])
    np.testing.assert_array_equal(values, answer.to_xarray().total.transpose(*order, "seed").values)
    assert len(plain["failures"]) == 4
    words = ["study", "export", "sums", "--store", str(results.store)]
    told = CliRunner().invoke(app, [*words, "--out", str(tmp_path / "s.json" / "s.csv")])
    assert told.exit_code == 2
    assert "cannot write" in told.stderr


def test_what_is_shown_is_the_answer(results: KeptStudy, answer: Answer) -> None:
    words = ["study", "show", "sums", "--store", str(results.store)]
    told = CliRunner(env={"COLUMNS": "120"}).invoke(app, words)
    assert told.exit_code == 0, told.stderr
    assert "48 cells done, 4 of them without a theory" in told.stdout
    assert "gap/s.e." in told.stdout
    shown = json.loads(CliRunner().invoke(app, [*words, "--json"]).stdout)
    assert shown["counts"] == {"cells": 48, "done": 44, "no_theory": 4, "failed": 0}
    assert shown["study"] == results.definition()
    assert shown["simulation"] == answer.to_json()["simulation"]


def test_a_study_that_has_not_begun_can_be_looked_at(
    sums: Callable[..., Study], results: KeptStudy
) -> None:
    study = sums(name="later", axes={"centre": [7.0, 8.0]})
    with Store(results.store) as store:
        store.plan(study.name, study.to_json(), study.blocks())
    later = KeptStudy(results.store, "later")
    assert later.counts().left == 8
    assert later.study(trust=True).to_json() == study.to_json()
    empty = later.answer()
    assert set(empty.failures.values()) == {MISSING}
    assert (empty.to_xarray().failure == MISSING).all()
    assert len(empty.to_frame()) == 8
    assert MISSING in study_failures(empty)
    assert empty.table()


def test_a_study_without_axes(sums: Callable[..., Study], results: KeptStudy) -> None:
    point = sums(name="point").run(store=results.store, workers=1)
    assert point.prediction.metrics["total"] == 10.0
    assert point.to_xarray().total.dims == ("seed",)


def test_an_unknown_study_is_named(results: KeptStudy) -> None:
    with pytest.raises(GiantstepError, match=r"has no study 'nobody': it has .*sums"):
        KeptStudy(results.store, "nobody")
