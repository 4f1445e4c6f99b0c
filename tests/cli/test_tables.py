"""Tables: one row per point, what varies in columns, constants above, nothing cut."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from giantstep.answer import Answer, Axis, Prediction, Question, Run
from giantstep.answer.table import answer_text
from giantstep.errors import GiantstepError
from giantstep.language.problem import Problem
from giantstep.settings.giant_step import GiantStep

AXES = {"overlap": ("step", "direction"), "test_error": ("step",)}
QUESTION = Question(GiantStep(dim=200, width=20, activation="tanh"), Problem("h1"))


def law_record(error: float = 0.0, value: float = 0.25) -> Prediction:
    return Prediction(
        "giant-step",
        {},
        {"overlap": np.array([[0.0, 0.1], [0.5, 0.2]]), "test_error": value, "bound": 0.1},
        {"overlap": "theorem", "test_error": "replica", "bound": "conjecture"},
        ("a paper",),
        notes=(f"with that, the error {value}",),
        errors={"test_error": error},
    )


def run_record(shift: float = 0.0) -> Run:
    metrics = {
        "overlap": np.array([[[0.0, 0.1], [0.5, 0.2]], [[0.0, 0.1], [0.7, 0.2]]]),
        "test_error": np.array([[1.0, 0.2], [1.0, 0.4]]) + shift,
    }
    return Run("giant-step", {}, metrics, seeds=(0, 1))


def answered(runs: Sequence[Run] = (), laws: Sequence[Prediction] = (), **axis: Any) -> Answer:
    """An answer at one point, or along the ridge."""
    axes = {name: Axis(name, tuple(values)) for name, values in axis.items()}
    values = axis.get("ridge", (None,))
    questions = tuple(
        Question(QUESTION.settings.replace(ridge=v), QUESTION.problem) for v in values
    )
    return Answer(
        "giant-step",
        axes,
        questions,
        AXES,
        runs=tuple(runs),
        predictions=tuple(laws),
        seeds=(0, 1) if runs else (),
    )


def law(error: float = 0.0, value: float = 0.25) -> Answer:
    return answered(laws=[law_record(error, value)])


def run() -> Answer:
    return answered(runs=[run_record()])


def both() -> Answer:
    return answered([run_record()], [law_record()])


def rows(answer: Answer, **how: Any) -> list[list[str]]:
    """The lines of the text as words."""
    return [line.split() for line in answer_text(answer, width=100, **how).splitlines()]


def swept(*, runs: bool = False, laws: bool = False) -> Answer:
    measured = [run_record(), run_record(-0.1)] if runs else []
    predicted = [law_record(value=v) for v in (0.25, 0.125)] if laws else []
    return answered(measured, predicted, ridge=(0.1, 1.0))


def test_a_point_has_one_row_a_metric_of_its_last_step() -> None:
    found = rows(law(error=1e-5))
    assert found[0] == ["prediction:", "giant-step"]
    assert " ".join(found[1]).startswith("target h1, d = 200, n = 800 = 4d, steps 1, step size = 1")
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
    assert {line.metric for line in both().compared()} == {"overlap", "test_error"}
    assert both().status == "replica"
    assert both().to_json()["status"] == "replica"
    found = rows(both())
    # With two runs a gap of one standard error is as rare as .67 of them with many.
    assert ["overlap", "h1", "0.60", "±", "0.10", "0.5", "0.67"] in found
    assert ["test_error", "0.30", "±", "0.10", "0.25", "0.38"] in found
    # What only theory has is not compared.
    assert not any(row[:1] == ["bound"] for row in found)


def test_a_sweep_has_one_row_a_point_and_its_constants_above() -> None:
    found = rows(swept(laws=True))
    assert ["ridge", "test_error"] in found
    assert ["0.1", "0.25"] in found
    assert ["1", "0.125"] in found
    same = "at every point: overlap (h1) = 0.5, overlap (h2) = 0.2, bound = 0.1"
    assert same.split() in found
    assert ["note:", "with", "that,", "the", "error", "0.125", "to", "0.25"] in found
    compared = rows(swept(runs=True, laws=True))
    assert ["0.1", "0.30", "±", "0.10", "0.25", "0.38"] in compared
    assert ["0.1", "0.30", "±", "0.10"] in rows(swept(runs=True))


def test_directions_are_rows_where_they_were_asked_for() -> None:
    found = rows(swept(laws=True), metric="overlap,test_error")
    assert ["ridge", "direction", "overlap", "test_error"] in found
    assert ["0.1", "h1", "0.5", "0.25"] in found
    assert ["0.1", "h2", "0.2"] in found
    entry = rows(swept(laws=True), metric="overlap[0,1]")
    assert ["1", "0.1"] in entry
    with pytest.raises(GiantstepError, match="use overlap, test_error, bound"):
        answer_text(law(), "overlp")


def test_what_is_compared_is_shown_at_any_width() -> None:
    runs, laws = [], []
    for a in (0.1, 0.2):
        metrics = {name: np.array([a, a + 1]) for name in "uvw"}
        runs.append(Run("giant-step", {}, metrics, seeds=(0, 1)))
        statuses: dict[str, Any] = dict.fromkeys("uvw", "theorem")
        laws.append(Prediction("giant-step", {}, dict.fromkeys("uvw", a), statuses, ()))
    shown = answer_text(answered(runs, laws, ridge=(0.1, 1.0)), width=45)
    assert shown.count("gap/s.e.") == 3
    assert "also there" not in shown


def test_a_narrow_terminal_cuts_no_number() -> None:
    for width in (40, 80, 120):
        shown = answer_text(swept(runs=True, laws=True), everything=True, width=width)
        table = shown.split("\n\n", 1)[1]
        assert "0.30 ± 0.10" in table
        assert "…" not in table
    assert max(map(len, answer_text(swept(runs=True, laws=True), width=80).splitlines())) <= 80


def test_a_repr_has_at_most_fifteen_lines() -> None:
    many = answered(laws=[law_record(value=1 / k) for k in range(1, 51)], ridge=tuple(range(1, 51)))
    for result in (law(), run(), both(), many):
        assert len(repr(result).splitlines()) <= 15, result
    assert "rows more" in repr(many)


def test_a_sweep_of_json_has_lists() -> None:
    laws = [law_record(), law_record(error=0.1)]
    answer = answered(laws=laws, ridge=(1.0, 2.0)).to_json()
    assert answer["errors"] == {"test_error": [0.0, 0.1]}
    assert answer["status"] == "conjecture"


def test_frames_are_tidy() -> None:
    frame = swept(runs=True, laws=True).to_frame()
    assert list(frame)[:8] == ["ridge", "d", "n", "n/d", "p", "p/d", "metric", "step"]
    line = frame[(frame.metric == "overlap") & (frame.step == 1) & (frame.direction == 1)].iloc[0]
    assert (line["n"], line["n/d"], line["mean"], line["theory"]) == (800, 4.0, 0.6, 0.5)
    arrays = swept(laws=True).to_xarray()
    assert arrays["overlap_theory"].sel(ridge=0.1, step=1, direction="h2") == 0.2
