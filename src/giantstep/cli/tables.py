"""Results as tables for the terminal."""

from __future__ import annotations

from functools import singledispatch
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from giantstep.results import Prediction, Run
from giantstep.twins.comparison import Comparison


def show(result: Run | Prediction | Comparison, axis: str | None = None) -> None:
    """Print a result; ``axis`` names the swept setting, if there is one."""
    console = Console(highlight=False)
    console.print(_table(result))
    for note in _notes(result):
        console.print(f"note: {note}", markup=False, soft_wrap=True)


def _notes(result: Any) -> list[str]:
    if isinstance(result, Comparison):
        return [*result.run.notes, *result.prediction.notes]
    return list(result.notes)


def _number(value: float) -> str:
    return "-" if value is None or np.isnan(value) else f"{value:.5g}"


def _entries(name: str, value: Any) -> list[tuple[str, tuple[int, ...]]]:
    shape = np.shape(value)
    return [
        (name + (f"[{', '.join(map(str, index))}]" if index else ""), index)
        for index in np.ndindex(shape)
    ]


@singledispatch
def _table(result: Any) -> Table:
    raise TypeError(type(result))


@_table.register
def _(result: Run) -> Table:
    table = Table("metric", "mean", "standard error", title=f"simulation: {result.learner}")
    for name in result.metrics:
        mean, sem = np.asarray(result.mean(name)), np.asarray(result.sem(name))
        for label, index in _entries(name, mean):
            table.add_row(label, _number(mean[index]), _number(sem[index]))
    return table


@_table.register
def _(result: Prediction) -> Table:
    table = Table("metric", "value", title=f"prediction: {result.learner} ({result.status})")
    for name, value in result.metrics.items():
        array = np.asarray(value)
        for label, index in _entries(name, array):
            entry = array[index]
            table.add_row(label, _number(entry) if isinstance(entry, float) else str(entry))
    return table


@_table.register
def _(result: Comparison) -> Table:
    title = f"{result.run.learner}: simulation and prediction ({result.prediction.status})"
    table = Table(
        "metric", "mean", "standard error", "prediction", "difference / s.e.", title=title
    )
    for line in result.lines():
        table.add_row(line.metric, *[_number(value) for value in line[1:]])
    return table
