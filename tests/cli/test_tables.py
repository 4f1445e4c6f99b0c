"""Tables: places in words, errors where they matter, the weakest status of what is shown."""

from __future__ import annotations

import numpy as np
from rich.console import Console

from giantstep.cli.tables import Result, table
from giantstep.results import Prediction, Run
from giantstep.sweep import Sweep
from giantstep.twins.comparison import Comparison

AXES = {"overlap": ("step", "direction"), "test_error": ("step",)}


def law(error: float = 0.0) -> Prediction:
    return Prediction(
        "giant-step",
        {"steps": 1},
        {"overlap": np.array([[0.0, 0.1], [0.5, 0.2]]), "test_error": 0.25, "bound": 0.1},
        {"overlap": "theorem", "test_error": "replica", "bound": "conjecture"},
        ("a paper",),
        errors={"test_error": error},
        axes=AXES,
    )


def run() -> Run:
    metrics = {
        "overlap": np.array([[[0.0, 0.1], [0.5, 0.2]], [[0.0, 0.1], [0.7, 0.2]]]),
        "test_error": np.array([[1.0, 0.2], [1.0, 0.4]]),
    }
    return Run("giant-step", {"steps": 1, "seeds": 2}, metrics, axes=AXES)


def text(result: Result | Sweep[Result]) -> list[list[str]]:
    """The cells of the printed table, title first."""
    console = Console(width=140, no_color=True, force_terminal=False)
    with console.capture() as capture:
        console.print(table(result))
    lines = capture.get().splitlines()
    cells = [[cell.strip() for cell in line.strip("┃│").split("│")] for line in lines]
    heads = [[cell.strip() for cell in line.strip("┃").split("┃")] for line in lines if "┃" in line]
    return [[lines[0].strip()], *heads, *[row for row in cells if len(row) > 1]]


def test_a_negligible_error_is_not_shown() -> None:
    title, head, *rows = text(law(error=1e-5))
    assert title == ["prediction: giant-step (conjecture)"]
    assert head == ["metric", "where", "value", "status"]
    assert ["overlap", "step 1, h1", "0.5", "theorem"] in rows
    assert ["test_error", "step 1", "0.25", "replica"] in rows
    assert ["bound", "", "0.1", "conjecture"] in rows


def test_an_error_that_matters_is_shown() -> None:
    _, head, *rows = text(law(error=1e-3))
    assert head == ["metric", "where", "value", "error", "status"]
    assert ["test_error", "step 1", "0.25", "0.001", "replica"] in rows


def test_a_comparison_has_the_weakest_status_of_what_it_compares() -> None:
    both = Comparison(run(), law())
    assert both.shared == ["overlap", "test_error"]
    assert both.status == "replica"
    assert both.to_json()["status"] == "replica"
    title, head, *rows = text(both)
    assert title == ["giant-step: simulation and prediction (replica)"]
    assert head == ["metric", "where", "mean", "s.e.", "theory", "gap / s.e.", "status"]
    # Theory speaks of the last step alone, so the first is not compared.
    assert [row[:2] for row in rows if row[0] == "test_error"] == [["test_error", "step 1"]]
    assert ["overlap", "step 1, h1", "0.6", "0.1", "0.5", "1", "theorem"] in rows


def test_a_sweep_puts_what_varies_first() -> None:
    sweep = Sweep("samples", ("2d", "4d"), (law(), law(error=0.1)))
    _, head, *rows = text(sweep)
    assert head == ["metric", "where", "value", "error", "status"]
    assert ["overlap", "samples = 4d, step 1, h2", "0.2", "0", "theorem"] in rows
    answer = sweep.to_json()
    assert answer["errors"] == {"test_error": [0.0, 0.1]}
    assert answer["status"] == "conjecture"
