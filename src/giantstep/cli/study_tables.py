"""A study as text for the terminal: its means and its errors."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator

from giantstep.places import STEP, words
from giantstep.results.table import value, with_error
from giantstep.studies.columns import metric_columns, shown_columns
from giantstep.studies.outcomes import FAILED, NO_THEORY
from giantstep.studies.results import Results

#: More metrics than this do not fit a line of the terminal.
MOST_METRICS = 4


def means(results: Results, metric: str | None = None) -> str:
    """One line per point: mean and standard error over the seeds, and the prediction.

    Metrics are those after the last step, or the ones asked for: ``overlap``, ``overlap[2,0]``.
    Unless asked for, only those with a prediction are shown, where there are any.
    """
    table, definition = results.summary(), results.definition()
    every = shown_columns(definition, table)
    columns = every if metric is None else metric_columns(definition, table, metric)
    if metric is None:
        predicted = {c.metric for c in every if f"{c.name}.theory" in table}
        names = [c.metric for c in every if c.metric in predicted or not predicted]
        kept = list(dict.fromkeys(names))[:MOST_METRICS]
        columns = [column for column in every if column.metric in kept]
    steps = {dict(column.place).get(STEP) for column in columns} - {None}
    shown = table[list(definition["axes"])].map(_short)
    for column in columns:
        # A step that all columns share is said once, above.
        place = tuple(pair for pair in column.place if len(steps) > 1 or pair[0] != STEP)
        plain = column.metric if not column.entry or column.place else column.name
        head = f"{plain} {words(place)}".strip()
        if column.name in table:
            means, errors = table[column.name], table.get(f"{column.name}.sem")
            errors = [math.nan] * len(table) if errors is None else errors
            shown[head] = [with_error(*pair) for pair in zip(means, errors, strict=True)]
        if f"{column.name}.theory" in table:
            theory = "theory" if head in shown else f"{head} theory"
            numbers = [value(float(v)) for v in table[f"{column.name}.theory"]]
            shown.insert(len(shown.columns), theory, numbers, allow_duplicates=True)
    text = shown.to_string(index=False, na_rep="-")
    if len(steps) == 1:
        text = f"after step {steps.pop()}\n{text}"
    drawn = {column.metric for column in columns}
    hidden = dict.fromkeys(c.metric for c in every if c.metric not in drawn)
    wanted = metric is None and hidden
    more = f"\nalso kept, with --metric: {', '.join(hidden)}" if wanted else ""
    return text + more


def _short(entry: object) -> object:
    """A value of an axis with at most six digits: 3.33333d."""
    if not isinstance(entry, str):
        return entry
    return re.sub(r"\d+\.\d{6,}", lambda digits: f"{float(digits[0]):.6g}", entry)


def errors(results: Results) -> Iterator[str]:
    """Each different error once, with the number of cells that met it."""
    met: Counter[tuple[str, str]] = Counter()
    for row in results.rows():
        if row.status in (FAILED, NO_THEORY) and row.error:
            met[row.status, row.error.strip().splitlines()[-1]] += 1
    for (status, error), count in met.most_common():
        yield f"{status}, {count} cells: {error}"
