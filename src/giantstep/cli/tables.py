"""Results as tables for the terminal: one row a number, named by its place."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from rich.console import Console
from rich.table import Table

from giantstep.places import Place, words
from giantstep.results import Prediction, Run, Status, unique, weakest
from giantstep.sweep import Sweep
from giantstep.twins.comparison import Comparison

#: A relative error from which on it is shown.
WORTH_SHOWING = 1e-3

Result = Run | Prediction | Comparison


class Row(NamedTuple):
    """A row of a table: the metric, where in it, its numbers, and for a prediction its status."""

    metric: str
    place: Place
    numbers: tuple[Any, ...]
    status: Status | None = None


def show(result: Result | Sweep[Any]) -> None:
    """Print a result, or a sweep of results, and its notes."""
    console = Console(highlight=False)
    console.print(table(result))
    points = result.points if isinstance(result, Sweep) else (result,)
    for note in unique(note for point in points for note in _notes(point)):
        console.print(f"note: {note}", markup=False, soft_wrap=True)


def table(result: Result | Sweep[Any]) -> Table:
    """The numbers of a result; columns that would say nothing are left out."""
    first = result.points[0] if isinstance(result, Sweep) else result
    rows = list(_rows(result))
    names = list(_COLUMNS[type(first)])
    statuses = {row.status for row in rows if row.status is not None}
    if "error" in names and not any(_is_worth_showing(row.numbers, names) for row in rows):
        column = names.index("error")
        rows = [row._replace(numbers=_without(row.numbers, column)) for row in rows]
        names.pop(column)
    placed, several = any(row.place for row in rows), len(statuses) > 1
    title = _TITLES[type(first)].format(first.learner)
    title += f" ({weakest(statuses)})" if statuses else ""
    shown = Table(title=title)
    for name in ("metric", *["where"] * placed, *names, *["status"] * several):
        shown.add_column(name, no_wrap=name in ("metric", "where"))
    for row in rows:
        place, own = [words(row.place)] * placed, [row.status or ""] * several
        shown.add_row(row.metric, *place, *map(_number, row.numbers), *own)
    return shown


_COLUMNS: dict[type, tuple[str, ...]] = {
    Run: ("mean", "s.e."),
    Prediction: ("value", "error"),
    Comparison: ("mean", "s.e.", "theory", "error", "gap / s.e."),
}
_TITLES: dict[type, str] = {
    Run: "simulation: {}",
    Prediction: "prediction: {}",
    Comparison: "{}: simulation and prediction",
}


def _rows(result: Result | Sweep[Any]) -> Iterator[Row]:
    if isinstance(result, Sweep):
        for value, point in zip(result.values, result, strict=True):
            for row in _rows(point):
                yield row._replace(place=((result.axis, value), *row.place))
    elif isinstance(result, Run):
        for entry in result.entries():
            yield Row(entry.metric, entry.place, (entry.mean, entry.sem))
    elif isinstance(result, Prediction):
        for law in result.entries():
            yield Row(law.metric, law.place, (law.value, law.error), law.status)
    else:
        for line in result.lines():
            status = result.prediction.statuses[line.metric]
            yield Row(line.metric, line.place, line[2:], status)
        for angle in result.angles():
            numbers = (angle.mean, angle.sem, math.nan, 0.0, math.nan)
            yield Row(angle.metric, angle.place, numbers)


def _is_worth_showing(numbers: Sequence[Any], names: list[str]) -> bool:
    """Whether the error of a prediction is not negligible beside its value."""
    error = numbers[names.index("error")]
    value = numbers[names.index("error") - 1]
    return bool(error > WORTH_SHOWING * abs(value))


def _without(numbers: tuple[Any, ...], column: int) -> tuple[Any, ...]:
    return (*numbers[:column], *numbers[column + 1 :])


def _notes(point: Result) -> list[str]:
    if isinstance(point, Comparison):
        return [*point.run.notes, *point.prediction.notes]
    return list(point.notes)


def _number(value: Any) -> str:
    if not isinstance(value, float):
        return str(value)
    return "-" if np.isnan(value) else f"{value:.5g}"
