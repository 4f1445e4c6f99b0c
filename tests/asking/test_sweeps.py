"""A sweep through the verbs, the command line and the picture."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from giantstep.asking.verbs import compare, predict, simulate
from giantstep.cli.main import app
from giantstep.errors import GiantstepError
from giantstep.settings.amp import Amp
from giantstep.settings.giant_step import GiantStep
from giantstep.settings.kernel import Kernel


def answer(*words: str) -> dict[str, Any]:
    result = CliRunner().invoke(app, [*words, "--json"])
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout)


def shown(*words: str) -> str:
    result = CliRunner(env={"COLUMNS": "140"}).invoke(app, list(words))
    assert result.exit_code == 0, result.stderr
    return result.stdout


def test_every_point_is_a_result_of_its_own() -> None:
    points = [GiantStep(dim=60, width=4, step_size=s) for s in (1, 2, 3)]
    runs, laws = simulate(points, "h1", seeds=4), predict(points, "h1")
    assert runs.axes["step_size"].labels == laws.axes["step_size"].labels == (1, 2, 3)
    alone = simulate(points[1], "h1", seeds=4)
    measured = [run.metrics["overlap"] for run in runs]
    np.testing.assert_array_equal(measured[1], alone.metrics["overlap"])
    assert laws.to_xarray()["overlap_theory"].shape == (3, 2, 1)
    both = compare(points, "h1", seeds=4)
    assert [len(list(point.compared())) for point in both] == [2, 2, 2]


def test_shapes_and_status_may_change_along_a_sweep(tmp_path: Path) -> None:
    words = ("giant-step", "--target", "h1", "--steps", "1:2:2", "--dim", "40", "--width", "4")
    law = answer("predict", *words)
    assert law["sweep"] == {"axis": "steps", "values": [1, 2]}
    assert [len(overlap) for overlap in law["metrics"]["overlap"]] == [2, 3]
    assert law["settings"]["steps"] == [1, 2]
    points = predict([GiantStep(steps=t, dim=40, width=4) for t in (1, 2)], "h1")
    order = ("theorem", "replica", "heuristic", "conjecture")
    assert law["statuses"]["overlap"] == max(
        (point.statuses["overlap"] for point in points), key=order.index
    )
    assert set(law["references"]) == {paper for point in points for paper in point.references}
    picture = tmp_path / "steps.png"
    both = answer("compare", *words, "--seeds", "2", "--out", str(picture))
    assert picture.stat().st_size > 10_000
    assert [line["place"] for line in both["comparison"]][:2] == [
        {"steps": 1, "step": 0, "direction": "h1"},
        {"steps": 1, "step": 1, "direction": "h1"},
    ]
    assert len(both["comparison"]) == 2 + 3


def test_tables_name_steps_and_directions() -> None:
    words = ("--target", "h1 + h1*h2", "--step-size", "2", "--samples", "2d,4d")
    table = shown("predict", "giant-step", *words)
    assert any(line.split()[:2] == ["samples", "direction"] for line in table.splitlines())
    assert any(line.split()[:2] == ["4d", "h2"] for line in table.splitlines())
    assert "[" not in table
    one = shown("predict", "giant-step", *words[:4])
    assert "after step 1" in one
    assert any(line.split()[:2] == ["overlap", "h2"] for line in one.splitlines())


def test_a_problem_can_be_swept() -> None:
    found = answer("predict", "kernel", "--target", "h1", "--noise", "0:1:3")
    assert found["problem"]["noise"] == [0, 0.5, 1]
    errors = found["metrics"]["test_error"]
    assert errors == sorted(errors)
    kernel = ("simulate", "kernel", "--target", "h1", "--dim", "10", "--seeds", "1")
    spikes = answer(*kernel, "--inputs", "spiked:1:4:2")
    assert spikes["sweep"] == {"axis": "inputs", "values": ["spiked:1", "spiked:4"]}


@pytest.mark.parametrize(
    "points", [[GiantStep(), Amp()], [GiantStep(), GiantStep()], [], [1, 2], "sphere"]
)
def test_what_is_no_sweep_gets_one_line(points: Any) -> None:
    with pytest.raises(GiantstepError) as caught:
        predict(points, "h1")
    assert "\n" not in str(caught.value)


def test_two_options_may_be_ranges(tmp_path: Path) -> None:
    picture = tmp_path / "grid.png"
    words = ("kernel", "--target", "h1", "--noise", "0:1:3", "--ridge", "1:2:2", "--dim", "10")
    both = answer("compare", *words, "--seeds", "2", "--out", str(picture))
    assert both["sweep"] == {"axes": {"ridge": [1, 2], "noise": [0, 0.5, 1]}}
    assert picture.stat().st_size > 10_000
    here = compare(Kernel(dim=10, ridge=[1, 2]), "h1", noise=[0, 0.5, 1], seeds=2)
    assert both == here.to_json()
    assert np.shape(both["simulation"]["test_error"]["values"]) == (2, 3, 2)
    for i, ridge in enumerate((1, 2)):
        alone = compare(Kernel(dim=10, ridge=ridge), "h1", noise=0.5, seeds=2).to_json()
        assert both["prediction"]["test_error"][i][1] == alone["prediction"]["test_error"]
    assert any(line.split()[:2] == ["ridge", "noise"] for line in here.table().splitlines())
