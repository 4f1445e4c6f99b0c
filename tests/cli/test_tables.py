"""Tables: one row per point, what varies in columns, constants above, nothing cut."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from giantstep.errors import GiantstepError
from giantstep.results import Prediction, Run
from giantstep.results.table import text
from giantstep.sweep import Sweep
from giantstep.twins.comparison import Comparison

AXES = {"overlap": ("step", "direction"), "test_error": ("step",)}
SETTINGS = {"dim": 200, "samples": "4d", "steps": 1}


def law(error: float = 0.0, value: float = 0.25) -> Prediction:
    return Prediction(
        "giant-step",
        SETTINGS,
        {"overlap": np.array([[0.0, 0.1], [0.5, 0.2]]), "test_error": value, "bound": 0.1},
        {"overlap": "theorem", "test_error": "replica", "bound": "conjecture"},
        ("a paper",),
        notes=(f"with that, the error {value}",),
        errors={"test_error": error},
        axes=AXES,
    )


def run(shift: float = 0.0) -> Run:
    metrics = {
        "overlap": np.array([[[0.0, 0.1], [0.5, 0.2]], [[0.0, 0.1], [0.7, 0.2]]]),
        "test_error": np.array([[1.0, 0.2], [1.0, 0.4]]) + shift,
    }
    return Run("giant-step", {**SETTINGS, "seeds": 2}, metrics, axes=AXES)


def rows(result: Any, **how: Any) -> list[list[str]]:
    """The lines of the text as words."""
    return [line.split() for line in text(result, width=100, **how).splitlines()]


def swept(kind: type) -> Sweep[Any]:
    laws, runs = [law(value=v) for v in (0.25, 0.125)], [run(), run(-0.1)]
    points: list[Any] = laws if kind is Prediction else runs
    if kind is Comparison:
        points = [Comparison(one, other) for one, other in zip(runs, laws, strict=True)]
    return Sweep("ridge", (0.1, 1.0), tuple(points))


def test_a_point_has_one_row_a_metric_of_its_last_step() -> None:
    found = rows(law(error=1e-5))
    assert found[0] == ["prediction:", "giant-step"]
    assert found[1] == ["d", "=", "200,", "n", "=", "800", "=", "4d,", "steps", "1"]
    assert ["overlap", "h1", "0.5"] in found
    assert ["overlap", "h1", "0"] not in found
    assert ["test_error", "0.25"] in found
    assert [
        "status:",
        "theorem",
        "(overlap);",
        "replica",
        "(test_error);",
        "conjecture",
        "(bound)",
    ] in found
    assert ["papers:", "a", "paper"] in found
    assert ["overlap", "0", "h2", "0.1"] in rows(law(), everything=True)


def test_an_error_that_matters_is_shown() -> None:
    assert ["test_error", "0.250", "±", "0.010"] in rows(law(error=1e-2))


def test_a_comparison_shows_both_and_the_gap() -> None:
    both = Comparison(run(), law())
    assert both.shared == ["overlap", "test_error"]
    assert both.status == "replica"
    assert both.to_json()["status"] == "replica"
    found = rows(both)
    assert ["overlap", "h1", "0.60", "±", "0.10", "0.5", "1"] in found
    assert ["test_error", "0.30", "±", "0.10", "0.25", "0.5"] in found
    # What only theory has is not compared.
    assert not any(row[:1] == ["bound"] for row in found)


def test_a_sweep_has_one_row_a_point_and_its_constants_above() -> None:
    found = rows(swept(Prediction))
    assert ["ridge", "test_error"] in found
    assert ["0.1", "0.25"] in found
    assert ["1", "0.125"] in found
    same = "at every point: overlap (h1) = 0.5, overlap (h2) = 0.2, bound = 0.1"
    assert same.split() in found
    assert ["note:", "with", "that,", "the", "error", "0.125", "to", "0.25"] in found
    both = rows(swept(Comparison))
    assert ["0.1", "0.30", "±", "0.10", "0.25", "0.5"] in both
    assert ["0.1", "0.30", "±", "0.10"] in rows(swept(Run))


def test_directions_are_rows_where_they_were_asked_for() -> None:
    found = rows(swept(Prediction), metric="overlap,test_error")
    assert ["ridge", "direction", "overlap", "test_error"] in found
    assert ["0.1", "h1", "0.5", "0.25"] in found
    assert ["0.1", "h2", "0.2"] in found
    entry = rows(swept(Prediction), metric="overlap[0,1]")
    assert ["1", "0.1"] in entry
    with pytest.raises(GiantstepError, match="use overlap, test_error, bound"):
        text(law(), "overlp")


def test_what_is_compared_is_shown_at_any_width() -> None:
    points = [
        Comparison(
            Run("giant-step", {**SETTINGS, "seeds": 2}, {n: np.array([a, a + 1]) for n in "uvw"}),
            Prediction(
                "giant-step", SETTINGS, dict.fromkeys("uvw", a), dict.fromkeys("uvw", "theorem"), ()
            ),
        )
        for a in (0.1, 0.2)
    ]
    shown = text(Sweep("ridge", (0.1, 1.0), tuple(points)), width=45)
    assert shown.count("gap/s.e.") == 3
    assert "also there" not in shown


def test_a_narrow_terminal_cuts_no_number() -> None:
    for width in (40, 80, 120):
        shown = text(swept(Comparison), everything=True, width=width)
        table = shown.split("\n\n", 1)[1]
        assert "0.30 ± 0.10" in table
        assert "…" not in table
    assert max(map(len, text(swept(Comparison), width=80).splitlines())) <= 80


def test_a_repr_has_at_most_fifteen_lines() -> None:
    many = Sweep("ridge", tuple(range(1, 51)), tuple(law(value=1 / k) for k in range(1, 51)))
    for result in (law(), run(), Comparison(run(), law()), many):
        assert len(repr(result).splitlines()) <= 15, result
    assert "rows more" in repr(many)


def test_a_sweep_of_json_has_lists() -> None:
    sweep = Sweep("samples", ("2d", "4d"), (law(), law(error=0.1)))
    answer = sweep.to_json()
    assert answer["errors"] == {"test_error": [0.0, 0.1]}
    assert answer["status"] == "conjecture"


def test_frames_are_tidy() -> None:
    frame = swept(Comparison).to_frame()
    assert list(frame)[:6] == ["ridge", "d", "n", "n/d", "metric", "step"]
    line = frame[(frame.metric == "overlap") & (frame.step == 1) & (frame.direction == 1)].iloc[0]
    assert (line["n"], line["n/d"], line["mean"], line["theory"]) == (800, 4.0, 0.6, 0.5)
    arrays = swept(Prediction).to_xarray()
    assert arrays["overlap_theory"].sel(ridge=0.1, step=1, direction="h2") == 0.2
