"""Every row of the table: its code is there, its example runs, its metrics are those it names."""

from __future__ import annotations

import dataclasses
import inspect
import json
import math
import shlex
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from giantstep.answer import Prediction
from giantstep.asking.table import LEARNERS, Learner, learner_to_ask
from giantstep.asking.verbs import predict, simulate
from giantstep.cli.main import app
from giantstep.errors import GiantstepError, NoTheory, SettingsError
from giantstep.settings.amp import Amp
from giantstep.settings.giant_step import GiantStep
from giantstep.settings.options import Settings


@pytest.mark.parametrize("row", LEARNERS, ids=lambda row: row.name)
def test_a_row_names_code_that_exists(row: Learner) -> None:
    settings = row.load("settings")
    assert issubclass(settings, Settings)
    assert settings.learner == row.name
    for role in ("simulate", "predict"):
        parameters = list(inspect.signature(row.load(role)).parameters)
        assert parameters[:2] == ["problem", "settings"]
    assert row.references
    assert all(f.metadata.get("help") for f in dataclasses.fields(settings) if f.metadata)


@pytest.mark.slow
@pytest.mark.parametrize("row", LEARNERS, ids=lambda row: row.name)
def test_the_example_compares(row: Learner, tmp_path: Path) -> None:
    picture = tmp_path / "picture.png"
    words = ["compare", row.name, *shlex.split(row.example), "--seeds", "3", "--json"]
    result = CliRunner().invoke(app, [*words, "--out", str(picture)])
    assert result.exit_code == 0, result.stderr
    answer = json.loads(result.stdout)
    assert picture.stat().st_size > 5_000
    # The angle to what theory says is learned is a metric of the comparison alone.
    assert set(answer["simulation"]) - {"angle"} <= {m.name for m in row.metrics if m.simulated}
    assert set(answer["prediction"]) <= {m.name for m in row.metrics if m.predicted}
    assert set(answer["statuses"]) - {"subspaces"} == set(answer["prediction"])
    shared = set(answer["simulation"]) & set(answer["prediction"])
    assert {line["metric"] for line in answer["comparison"]} == shared
    for line in answer["comparison"]:
        assert line["prediction"] is not None, line
        # Three seeds: only a gross disagreement can be told.
        if line["sem"]:
            scale = abs(line["prediction"]) + 0.05
            assert abs(line["mean"] - line["prediction"]) < 0.6 * scale + 10 * line["sem"], line


def test_an_unknown_learner_is_named() -> None:
    with pytest.raises(GiantstepError, match="giant-step"):
        learner_to_ask("gaint-step")


@pytest.mark.parametrize(("seeds", "seed"), [(0, 0), (True, 0), (1.5, 0), (2, -1), (2, "x")])
def test_bad_seeds_are_refused(seeds: object, seed: object) -> None:
    with pytest.raises(SettingsError, match="seed"):
        simulate(GiantStep(dim=20, width=2), "h1", seeds=seeds, seed=seed)  # type: ignore[arg-type]


def test_seeds_do_not_depend_on_how_many_run() -> None:
    settings = GiantStep(dim=50, samples="4d", width=4, steps=2)
    few, many = (simulate(settings, "h1 + h1*h2", seeds=n) for n in (2, 5))
    shifted = simulate(settings, "h1 + h1*h2", seeds=2, seed=1)
    for name in few.metrics:
        np.testing.assert_array_equal(few.metrics[name], many.metrics[name][:2])
        np.testing.assert_array_equal(shifted.metrics[name], many.metrics[name][1:3])


def test_optimising_what_cannot_be_is_refused() -> None:
    with pytest.raises(SettingsError, match="can optimise"):
        predict(GiantStep(), "h1", optimise=["width"])


@pytest.mark.parametrize(
    "words",
    [
        "giant-step --target h1 --step-size 1e300",
        "giant-step --target h1 --step-size 1e13",
        "giant-step --target h1 --dim 1e300",
        "giant-step --target h1 --samples d^-20",
        "giant-step --target h1 --steps 2 --width 1e12",
        "kernel --target h1 --ridge inf",
        "kernel --target h1 --ridge 1e300",
        "kernel --target h1 --dim 1e300",
        "random-features --target h1 --ridge 1e300",
        "random-features --target h1 --noise 1e300",
        "spiked-random-features --target h1 --ridge inf",
        "power-law --width-exponent 1e8",
        "power-law --samples 1e31",
    ],
)
def test_extreme_numbers_get_one_line(words: str) -> None:
    result = CliRunner().invoke(app, ["predict", *words.split()])
    assert result.exit_code == 2, result.stdout
    assert isinstance(result.exception, SystemExit)
    assert result.stderr.count("\n") == 1
    assert len(result.stderr) < 300


@pytest.mark.parametrize(
    ("metrics", "notes", "expected"),
    [
        ({"a": 1.0, "b": 2.0}, (), ()),
        ({"a": math.inf, "b": 2.0}, ("a: infinite, at the peak",), ()),
        ({"a": [1.0, math.nan], "b": 2.0}, (), ("no finite number here: a",)),
    ],
)
def test_what_is_not_finite_is_said(
    metrics: dict[str, object],
    notes: tuple[str, ...],
    expected: tuple[str, ...],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    law = Prediction("amp", {}, metrics, dict.fromkeys(metrics, "theorem"), (), notes)
    monkeypatch.setattr(Learner, "load", lambda *_: lambda *_: law)
    assert predict(Amp(), "h1").notes == [*notes, *expected]
    nothing = dataclasses.replace(law, metrics=dict.fromkeys(metrics, math.nan))
    monkeypatch.setattr(Learner, "load", lambda *_: lambda *_: nothing)
    with pytest.raises(NoTheory, match="no finite number"):
        predict(Amp(), "h1")
