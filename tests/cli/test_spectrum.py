"""`giantstep spectrum`: its JSON, its picture, its refusals."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner, Result

from giantstep.asking.spectra import SpectrumComparison
from giantstep.cli.main import app
from giantstep.gallery.style import WIDTHS
from giantstep.language.problem import Problem
from giantstep.settings.giant_step import GiantStep
from giantstep.theory.giant_step.spectra.prediction import SpectrumPrediction

STEP = (
    *("--target", "sin(h1)", "--activation", "tanh", "--readout", "sign", "--samples", "4d"),
    *("--width", "1d"),
)


def call(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["spectrum", *arguments])


def answer(tmp_path: Path, *arguments: str) -> dict[str, object]:
    picture = tmp_path / "spectrum.png"
    result = call(*arguments, "--out", str(picture), "--json")
    assert result.exit_code == 0, result.stderr
    assert picture.stat().st_size > 10_000
    return json.loads(result.stdout)


def test_a_picture_has_the_width_of_a_column(tmp_path: Path) -> None:
    picture = tmp_path / "spectrum.svg"
    done = call("weights", *STEP, "--out", str(picture), "--size", "single", "--no-caption")
    assert done.exit_code == 0, done.stderr
    points = 72 * WIDTHS["single"]
    assert f'width="{points:g}pt"' in picture.read_text(encoding="utf-8")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "more"),
    [
        ("weights", ("--step-size", "0.5", "--dim", "200")),
        ("features", ("--step-size", "2", "--readout-samples", "2d", "--dim", "200")),
    ],
)
def test_outliers_lie_where_they_should(name: str, more: tuple[str, ...], tmp_path: Path) -> None:
    found = answer(tmp_path, name, *STEP, *more)
    low, high = found["bulk_edges"]
    assert 0 <= low < high
    predicted, simulated = found["outliers"]["predicted"], found["outliers"]["simulated"]
    assert len(simulated) == len(predicted) == 1
    assert simulated[0] == pytest.approx(predicted[0], rel=0.06)
    for overlap in found["overlaps"].values():
        assert overlap["simulated"][0] == pytest.approx(overlap["predicted"][0], abs=0.06)
    curves = found["cumulative"]
    gaps = [abs(a - b) for a, b in zip(curves["predicted"], curves["simulated"], strict=True)]
    assert max(gaps) < 0.02


def test_without_a_dimension_it_predicts_alone(tmp_path: Path) -> None:
    found = answer(tmp_path, "weights", *STEP, "--step-size", "4*d^-0.5")
    assert found["outliers"]["simulated"] == []
    assert found["outliers"]["predicted"][0] > found["bulk_edges"][1]


def test_a_table_in_the_style_of_the_other_results(tmp_path: Path) -> None:
    picture = str(tmp_path / "spectrum.png")
    result = call("weights", *STEP, "--step-size", "4*d^-0.5", "--out", picture)
    lines = result.stdout.splitlines()
    assert lines[0] == "prediction: spectrum of the weights"
    assert lines[1].strip().startswith("target sin(h1), n = 4d")
    rows = {line.rpartition("  ")[0].strip(): line.split()[-1] for line in lines if line}
    assert float(rows["bulk from"]) < float(rows["bulk to"]) < float(rows["outlier 1"])
    assert not any(box in result.stdout for box in "┃│━")


def test_an_infinite_outlier_is_a_row_of_the_table() -> None:
    """In the limit of a giant step outliers are of order d; JSON has text for them."""
    grid = np.linspace(0.5, 2.0, 3)
    law = SpectrumPrediction(
        (0.5, 2.0), grid, 0 * grid + 1, 0.0, (np.inf,), {"blocks": (1.0,)}, {}, (), ("a paper",)
    )
    lines = (
        SpectrumComparison("features", Problem("h1"), GiantStep(), 0, 0, law, ())
        .table()
        .splitlines()
    )
    assert [line.split()[-1] for line in lines if "outlier 1" in line] == ["inf"]


def test_given_spikes(tmp_path: Path) -> None:
    found = answer(
        tmp_path,
        *("spiked-features", "--target", "sin(h1)", "--activation", "tanh", "--dim", "300"),
        *("--spike=-1.5:0.5,3:0.5", "--readout-samples", "2d", "--width", "1d", "--seeds", "1"),
    )
    assert len(found["outliers"]["predicted"]) == 2
    assert found["outliers"]["simulated"][0] == pytest.approx(
        found["outliers"]["predicted"][0], rel=0.2
    )
    assert found["outliers"]["simulated_sem"] == []


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (
            ("weights", *STEP, "--readout", "symmetric-sign", "--step-size", "d^-0.5"),
            "symmetric-sign",
        ),
        (("weights", *STEP, "--step-size", "1", "--dim", "0"), "dim"),
        (("weights", *STEP, "--step-size", "1", "--seeds", "-1"), "seeds"),
        (("features", *STEP, "--readout-samples", "same", "--dim", "100"), "readout_samples"),
        (("weights", *STEP, "--size", "triple"), "giantstep: --size: 'triple' is not one of"),
    ],
)
def test_one_clear_line(arguments: tuple[str, ...], words: str) -> None:
    result = call(*arguments)
    assert result.exit_code == 2
    assert words in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1


@pytest.mark.parametrize("kind", ["weights", "features", "spiked-features"])
def test_every_spectrum_runs_with_its_own_defaults(tmp_path: Path, kind: str) -> None:
    result = call(kind, "--target", "sin(h1)", "--out", str(tmp_path / "spectrum.png"))
    assert result.exit_code == 0, result.stderr
    rows = {
        line.rpartition("  ")[0].strip(): line.split()[-1]
        for line in result.stdout.split("\n")
        if line
    }
    assert 0 <= float(rows["bulk from"]) < float(rows["bulk to"])
    # Spikes of order one on all neurons: what stands out grows with d.
    assert rows["outlier 1"] == "inf"
    assert ("readout n = 4d" in result.stdout) == (kind == "features")
