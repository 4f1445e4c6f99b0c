"""One answer, whoever asked: in Python, on the command line, in a study file and its store."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest
import xarray
from typer.testing import CliRunner

import giantstep as gs
from giantstep.asking.studies.kept import KeptStudy
from giantstep.cli.main import app

SETTINGS = gs.GiantStep(dim=[30, 40], width=4, steps=2, step_size=[1, 2, 4])
TARGET = "h1 + h1*h2"
FILE = """learner = "giant-step"
seeds = 4
problem = {target = "h1 + h1*h2"}
settings = {width = 4, steps = 2, step_size = [1, 2, 4]}
axes = {dim = "30,40"}
"""


@pytest.fixture(scope="module")
def grid() -> gs.Answer:
    return gs.compare(SETTINGS, TARGET, seeds=4)


def test_a_grid_by_compare_and_by_a_study_is_the_same_to_the_last_bit(
    grid: gs.Answer, tmp_path: Path
) -> None:
    (tmp_path / "curve.toml").write_text(FILE)
    words = ["study", "run", str(tmp_path / "curve.toml"), "--engine", "inline"]
    told = CliRunner().invoke(app, [*words, "--store", str(tmp_path / "curve.db")])
    assert told.exit_code == 0, told.stderr
    # The call written down: what the file computed is found under the same keys.
    study = KeptStudy(tmp_path / "curve.db", "curve").answer()
    stored = gs.compare(
        SETTINGS, TARGET, seeds=4, store=tmp_path / "curve.db", engine="inline", name="again"
    )
    assert KeptStudy(tmp_path / "curve.db", "again").counts() == (30, 30, 0, 0)
    whole = grid.to_xarray()
    assert whole.overlap.dims == ("dim", "step_size", "seed", "step", "direction")
    for other in (study, stored):
        xarray.testing.assert_identical(whole, other.to_xarray())
        assert grid.table() == other.table()
        assert grid.to_json() == other.to_json()
    assert not np.isnan(whole.overlap).any()
    assert "angle" in whole


def test_the_command_line_prints_the_same_grid(grid: gs.Answer) -> None:
    words = ["compare", "giant-step", "--target", TARGET, "--dim", "30,40", "--width", "4"]
    words += ["--steps", "2", "--step-size", "1,2,4", "--seeds", "4", "--json"]
    told = CliRunner().invoke(app, words)
    assert told.exit_code == 0, told.stderr
    assert json.loads(told.stdout) == grid.to_json()


def test_a_point_of_a_grid_is_the_answer_to_its_own_question(grid: gs.Answer) -> None:
    point = list(grid)[4]
    assert (point.settings.dim, point.settings.step_size) == (40, gs.Size(2.0))
    alone = gs.compare(SETTINGS.replace(dim=40, step_size=2), TARGET, seeds=4)
    np.testing.assert_array_equal(point.run.metrics["overlap"], alone.run.metrics["overlap"])
    assert point.to_json() == alone.to_json()
    assert grid.settings == SETTINGS


def test_one_more_axis_is_one_more_dimension() -> None:
    law = gs.predict(
        gs.Kernel(samples="1d,2d", ridge=[0.1, 1]), ["h1", "h1 + He2(h1)"], noise=[0, 1]
    )
    theory = law.to_xarray().test_error_theory
    assert theory.dims == ("samples", "ridge", "target", "noise")
    alone = gs.predict(gs.Kernel(samples="2d", ridge=0.1), "h1 + He2(h1)", noise=1)
    at = {"samples": "2d", "ridge": 0.1, "target": "h1 + He2(h1)", "noise": 1}
    assert float(theory.sel(at)) == alone.metrics["test_error"]
    assert law.to_xarray()["n/d"].dims == ("samples",)
    with pytest.raises(gs.SettingsError, match="ridge has the same value twice"):
        gs.predict(gs.Kernel(ridge=[1, 1]), "h1")


def test_agreement_is_a_student_quantile_of_standard_errors(grid: gs.Answer) -> None:
    answer = gs.compare(gs.Kernel(dim=50, samples="1d,2d"), "h1", noise=0.1, seeds=8)
    assert answer.agrees("test_error")
    law = answer.predictions[1]
    assert law is not None
    # Student's quantile at 1e-4 for seven degrees of freedom.
    shift = 7.885 * float(answer.runs[1].sem("test_error"))  # type: ignore[union-attr]
    mean = float(answer.runs[1].mean("test_error"))  # type: ignore[union-attr]
    for factor, agrees in ((0.99, True), (1.01, False)):
        moved = dataclasses.replace(
            law, metrics={**law.metrics, "test_error": mean + factor * shift}, errors={}
        )
        other = dataclasses.replace(answer, predictions=(answer.predictions[0], moved))
        assert other.agrees("test_error") is agrees
        off = list(other.disagreements("test_error"))
        assert [line.at["samples"] for line in off] == [] if agrees else ["2d"]
    with pytest.raises(gs.GiantstepError, match="measured and predicted are"):
        grid.agrees("norm")


@pytest.mark.parametrize("count", [5, 6])
def test_two_axes_are_lines_or_a_map(count: int) -> None:
    from matplotlib.figure import Figure

    settings = gs.Kernel(dim=10, samples="1d:8d:8", ridge=f"0.1:1:{count}log")
    answer = gs.compare(settings, "h1", seeds=2)
    axes = Figure().subplots()
    answer.plot(metric="test_error", ax=axes)
    assert axes.get_xlabel() == "samples $n/d$"
    if count == 5:
        assert len(axes.get_legend().get_texts()) == 5
        assert axes.get_ylabel() == "test error"
    else:
        assert axes.get_ylabel() == r"ridge $\lambda$"
        dots = [c for c in axes.collections if len(np.atleast_1d(c.get_offsets())) == 48]
        assert len(dots) == 1


def test_an_engine_without_a_store_keeps_nothing(tmp_path: Path) -> None:
    found = gs.predict(gs.Kernel(samples="1d,2d"), "h1", engine="inline")
    xarray.testing.assert_identical(
        found.to_xarray(), gs.predict(gs.Kernel(samples="1d,2d"), "h1").to_xarray()
    )
    with pytest.raises(TypeError, match="workers: these go with a store or an engine"):
        gs.predict(gs.Kernel(), "h1", workers=2)
    for engine in (None, "inline"):
        with pytest.raises(TypeError, match="unexpected argument 'nois': do you mean noise"):
            gs.predict(gs.Kernel(), "h1", nois=2, engine=engine)


def test_whole_numbers_of_numpy_are_whole_numbers() -> None:
    settings = gs.Kernel(dim=20, samples=range(20, 60, 20))
    own = gs.simulate(settings, "h1", seeds=np.int64(2), seed=np.int32(3))
    assert own.seeds == (3, 4)
    assert own.to_json() == gs.simulate(settings, "h1", seeds=2, seed=3).to_json()
    json.dumps(own.to_json())


def test_what_is_optimised_may_be_one_text() -> None:
    settings = gs.Kernel(samples="2d")
    text, names = (
        gs.predict(settings, "h1", noise=3.0, optimise=given) for given in ("ridge", ["ridge"])
    )
    assert text.metrics["ridge"] == names.metrics["ridge"]


def test_a_spectrum_and_a_study_show_themselves_in_words() -> None:
    step = gs.GiantStep(dim=30, width="1d", readout="sign")
    spectrum = gs.spectrum(step, "h1", of="weights", seeds=1)
    assert repr(spectrum).startswith("comparison: spectrum of the weights\n")
    study = gs.Study(name="few", learner="kernel", axes={"samples": "1d:3d:3", "dim": [20, 30]})
    assert repr(study) == "Study 'few': kernel over 3 samples x 2 dim, 8 seeds"


def test_a_grid_in_the_lab_is_one_curve_for_each_value(grid: gs.Answer) -> None:
    from giantstep.laboratory import work
    from giantstep.laboratory.laid_over import Dot, lab_curve_at

    settings = {"dim": "30,40", "width": "4", "steps": "2", "step_size": "1,2,4"}
    outline = work.lab_outline(
        learner="giant-step", settings=settings, problem={"target": TARGET}, seeds=4, tell=print
    )
    assert (outline["axis"], outline["values"]) == ("step_size", [1, 2, 4] * 2)
    assert outline["places"] == [[("dim", dim)] for dim in (30, 30, 30, 40, 40, 40)]
    dot = Dot()
    dot.runs = [
        work.lab_simulate(point=outline["points"][4], seed=seed, tell=print) for seed in range(4)
    ]
    dot.law = work.lab_predict(point=outline["points"][4], tell=print).prediction
    entries = {
        (metric, *map(tuple, place)): mean
        for metric, place, mean, *_ in lab_curve_at(outline["places"][4], dot.measured())
    }
    mean = grid.mean("overlap").sel(dim=40, step_size=2, step=2, direction="h1")
    found = entries["overlap", ("dim", 40), ("step", 2), ("direction", "h1")]
    # Seeds run one by one here, and together there: a mapped computation may round differently.
    assert found == pytest.approx(float(mean), rel=1e-5)
