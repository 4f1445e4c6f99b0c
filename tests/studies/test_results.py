"""A study as a table, as a dataset, and as files."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas
import pytest
import xarray

from giantstep.errors import GiantstepError
from giantstep.studies.export import write
from giantstep.studies.results import Results
from giantstep.studies.study import Study


@pytest.fixture(scope="module")
def results(sums: Callable[..., Study], tmp_path_factory: pytest.TempPathFactory) -> Results:
    axes = {"centre": [-1.0, 1.0, 2.0], "samples": ["d", "2d"], "dim": [5, 10]}
    path = tmp_path_factory.mktemp("results") / "s.sqlite"
    return sums(axes=axes, seeds=3, seed=1).run(store=path, workers=1)


def test_the_frame_has_one_line_a_cell(results: Results) -> None:
    frame = results.frame()
    assert list(frame.columns[:8]) == [
        *("centre", "samples", "dim", "verb", "seed", "status", "seconds", "error")
    ]
    assert len(frame) == 12 * 4
    one = frame.query("centre == 1 and samples == '2d' and dim == 10")
    assert list(one.seed.dropna()) == [1, 2, 3]
    assert one[one.verb == "predict"].total.item() == 20.0
    assert set(frame.columns[8:]) == {"total", "profile[0]", "profile[1]", "profile[2]"}


def test_the_dataset_has_named_dimensions(results: Results) -> None:
    data = results.dataset()
    assert data.total.dims == ("centre", "samples", "dim", "seed")
    assert data.total.dtype == np.float64
    assert list(data.seed.values) == [1, 2, 3]
    at = {"centre": 2.0, "samples": "2d", "dim": 5}
    assert float(data.total_theory.sel(at)) == 20.0
    assert np.isnan(data.total_theory.sel(centre=-1.0)).all()
    assert (data.profile - data.profile_theory).dims == (*data.total.dims, "profile_axis0")
    draws = data.draws.sel(at | {"seed": 2})
    assert draws.dtype == np.float32
    assert draws.notnull().sum() == 10
    assert float(draws[:3].sum()) == pytest.approx(float(data.profile.sel(at | {"seed": 2}).sum()))


def test_the_summary_lays_means_beside_theory(results: Results) -> None:
    summary = results.summary().set_index(["centre", "samples", "dim"])
    measured = results.dataset().total.sel(centre=1.0, samples="d", dim=10).values
    line = summary.loc[(1.0, "d", 10)]
    assert line["total"] == pytest.approx(measured.mean())
    assert line["total.sem"] == pytest.approx(measured.std(ddof=1) / np.sqrt(3))
    assert (line["total.seeds"], line["total.theory"]) == (3, 10.0)
    assert np.isnan(summary.loc[(-1.0, "d", 10)]["total.theory"])


def test_files_hold_the_same_numbers(results: Results, tmp_path: Path) -> None:
    frame = results.to_frame()
    with write(results, "csv", tmp_path / "a" / "s.csv").open() as file:
        texts = [line["total"] for line in csv.DictReader(file)]
    assert [float(text) for text in texts if text] == list(frame.total.dropna())
    parquet = pandas.read_parquet(write(results, "parquet", tmp_path / "s.parquet"))
    pandas.testing.assert_frame_equal(parquet, frame, check_dtype=False)
    plain = json.loads(write(results, "json", tmp_path / "s.json").read_text())
    assert plain["counts"] == {"cells": 48, "done": 44, "no_theory": 4, "failed": 0}
    first = plain["cells"][0]
    assert first["metrics"]["total"] == frame.total[0]
    assert len(first["arrays"]["draws"]) == 5
    assert plain["cells"][-1]["theory"] == "theorem"
    with pytest.raises(GiantstepError, match="cannot write"):
        write(results, "csv", tmp_path / "s.json" / "s.csv")


def test_a_study_that_has_not_begun_can_be_looked_at(
    sums: Callable[..., Study], results: Results
) -> None:
    from giantstep.studies.store import Store

    study = sums(name="later", axes={"centre": [7.0, 8.0]})
    with Store(results.store) as store:
        store.plan(study.name, study.to_json(), study.blocks())
    later = Results(results.store, "later")
    assert later.counts().left == 8
    assert later.frame().status.isna().all()
    assert later.summary().empty
    assert isinstance(later.dataset(), xarray.Dataset)
    assert later.study(trust=True).to_json() == study.to_json()


def test_a_study_without_axes(sums: Callable[..., Study], results: Results) -> None:
    point = sums(name="point").run(store=results.store, workers=1)
    assert point.summary()["total.theory"].item() == 10.0
    assert point.dataset().total.dims == ("seed",)


def test_an_unknown_study_is_named(results: Results) -> None:
    with pytest.raises(GiantstepError, match=r"has no study 'nobody': it has .*sums"):
        Results(results.store, "nobody")
