"""A study as text for the terminal: its means and its errors."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator

from giantstep.places import words
from giantstep.results.table import value, with_error
from giantstep.studies.columns import metric_columns, shown_columns
from giantstep.studies.outcomes import FAILED, NO_THEORY
from giantstep.studies.results import Results

#: More metrics than this do not fit a line of the terminal.
MOST_METRICS = 4


def means(results: Results, metric: str | None = None) -> str:
    """One line a point: mean and standard error over the seeds, and the prediction.

    Metrics are those after the last step, or the ones asked for: ``overlap``, ``overlap[2,0]``.
    """
    table, definition = results.summary(), results.definition()
    axes = list(definition["axes"])
    if metric is None:
        columns = shown_columns(definition, table)
        names = list(dict.fromkeys(column.metric for column in columns))[:MOST_METRICS]
        hidden = [c.metric for c in columns if c.metric not in names]
        columns = [column for column in columns if column.metric in names]
    else:
        columns, hidden = metric_columns(definition, table, metric), []
    shown = table[axes].copy()
    for column in columns:
        head = f"{column.metric} {words(column.place)}" if column.place else column.name
        if column.name in table:
            means, errors = table[column.name], table.get(f"{column.name}.sem")
            errors = [math.nan] * len(table) if errors is None else errors
            shown[head] = [with_error(*pair) for pair in zip(means, errors, strict=True)]
        if f"{column.name}.theory" in table:
            shown[f"{head} theory"] = [value(float(v)) for v in table[f"{column.name}.theory"]]
    text = shown.to_string(index=False, na_rep="-")
    more = f"\nalso kept: {', '.join(dict.fromkeys(hidden))}" if hidden else ""
    return text + more


def errors(results: Results) -> Iterator[str]:
    """Each different error once, with the number of cells that met it."""
    met: Counter[tuple[str, str]] = Counter()
    for row in results.rows():
        if row.status in (FAILED, NO_THEORY) and row.error:
            met[row.status, row.error.strip().splitlines()[-1]] += 1
    for (status, error), count in met.most_common():
        yield f"{status}, {count} cells: {error}"
