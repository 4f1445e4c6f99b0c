"""A study as text for the terminal: its means and its errors."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from giantstep.studies.outcomes import FAILED, NO_THEORY
from giantstep.studies.results import Results

#: More metrics than this do not fit a line of the terminal.
MOST_METRICS = 4


def means(results: Results) -> str:
    """One line a point: mean and standard error over the seeds, and the prediction."""
    table = results.summary()
    axes = list(results.definition()["axes"])
    metrics = dict.fromkeys(name.partition(".")[0] for name in table if name not in axes)
    shown = [*metrics][:MOST_METRICS]
    columns = [name for name in table if name in axes or name.partition(".")[0] in shown]
    columns = [name for name in columns if not name.endswith(".seeds")]
    text = table[columns].to_string(index=False, float_format=lambda x: f"{x:.5g}", na_rep="-")
    hidden = [*metrics][MOST_METRICS:]
    return text + (f"\nalso kept: {', '.join(hidden)}" if hidden else "")


def errors(results: Results) -> Iterator[str]:
    """Each different error once, with the number of cells that met it."""
    met: Counter[tuple[str, str]] = Counter()
    for row in results.rows():
        if row.status in (FAILED, NO_THEORY) and row.error:
            met[row.status, row.error.strip().splitlines()[-1]] += 1
    for (status, error), count in met.most_common():
        yield f"{status}, {count} cells: {error}"
