"""An answer as text: one row per point of a grid, one row per metric of a single point.

Columns that do not fit beside one another go below one another; a number is never cut.
"""

from __future__ import annotations

import math
import shutil
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from giantstep.answer.axis import axis_words
from giantstep.answer.places import DIRECTION, STEP, Datum, metric_place
from giantstep.answer.plain import unique
from giantstep.answer.selection import GivenMetric, Selection, shown_metrics
from giantstep.answer.words import (
    LETTERS,
    answer_facts,
    answer_in_words,
    answer_notes,
    sizes_in_numbers,
    status_words,
)

if TYPE_CHECKING:
    from giantstep.answer.answer import Answer

#: A relative error of a theory from which on it is shown.
WORTH_SHOWING = 1e-3
_GAP = "  "
#: Rows of a table in a repr, which has at most fifteen lines.
_ROWS = 6
MOST_LINES = 15


class Column(NamedTuple):
    """A column: its two lines of heading, its cells, and the metric it belongs to."""

    over: str
    head: str
    cells: list[str]
    metric: str = ""

    @property
    def width(self) -> int:
        """Letters of its widest line; the upper heading may reach over its neighbours."""
        return max(map(len, [self.head, *self.cells]))


def answer_text(
    answer: Answer,
    metric: GivenMetric = None,
    *,
    everything: bool = False,
    width: int | None = None,
    most_rows: int | None = None,
    with_notes: bool = True,
) -> str:
    """The whole text: what it is about, constants, table, status, papers, notes.

    ``metric`` and ``everything`` say what is shown, as in :func:`shown_metrics`; ``most_rows``
    leaves out the middle of a long table.
    """
    width = width or shutil.get_terminal_size((80, 24)).columns
    chosen = shown_metrics(answer, metric, everything=everything)
    lines = [f"{answer.kind}: {answer.learner}"]
    lines += _answer_line(", ".join(answer_in_words(answer_facts(answer))), width)
    if chosen.constant:
        several = len({n.at.get(DIRECTION) for n in chosen.constant} - {None}) > 1
        same = [f"{_metric_name(n, several)} = {_short_answer_number(n)}" for n in chosen.constant]
        lines += _answer_line("at every point: " + ", ".join(same), width)
    for name, other in chosen.copies.items():
        why = ": the labels have no noise" if name.endswith("_noisy") else ""
        lines.append(f"  {name} is {other}{why}")
    rows, left_out = _table(answer, chosen, width, metric is not None or everything, most_rows)
    lines += ["", *rows]
    if left_out:
        lines += [
            "",
            *_answer_line(f"also there, with --metric or --all: {', '.join(left_out)}", width, ""),
        ]
    shown = {n.metric for n in [*chosen.shown, *chosen.constant] if n.status}
    if shown:
        weak = {name: status for name, status in answer.statuses.items() if name in shown}
        lines += ["", *_answer_line(f"status: {status_words(weak)}", width, "")]
    if answer.references:
        lines += _answer_line(f"papers: {'; '.join(answer.references)}", width, "")
    if with_notes:
        for note in answer_notes(answer):
            lines += _answer_line(f"note: {note}", width, "")
    return "\n".join(line.rstrip() for line in lines)


def short_answer(answer: Answer) -> str:
    """An answer in at most fifteen lines."""
    lines = answer_text(answer, width=100, most_rows=_ROWS, with_notes=False).splitlines()
    lines = [line for line in lines if line]
    if len(lines) > MOST_LINES:
        lines = [*lines[: MOST_LINES - 1], "... the rest is in .to_frame() and .table()"]
    return "\n".join(lines)


def _table(
    answer: Answer, chosen: Selection, width: int, whole: bool, most_rows: int | None = None
) -> tuple[list[str], list[str]]:
    """The lines of the table, and the metrics that found no room in it."""
    if answer.axes:
        blocks, left_out = _swept_answer_blocks(answer, chosen, whole)
    else:
        blocks, left_out = [_table_rows(answer, chosen.shown)], []
    lines: list[str] = []
    for keys, columns in blocks:
        parts = _answer_parts(keys, columns, width)
        # What was both measured and predicted is shown below where it finds no room beside.
        compared = most_rows is None and any(column.head == "gap/s.e." for column in columns)
        if not whole and not compared and answer.axes:
            left_out = [*unique(c.metric for part in parts[1:] for c in part), *left_out]
            parts = parts[:1]
        for part in parts:
            lines += ["", *_rendered_answer_columns([*keys, *part], most_rows)]
    return lines[1:], [*left_out, *chosen.left_out]


def answer_columns(answer: Answer, chosen: Selection) -> list[Column]:
    """Keys and columns of the first table, whatever its width."""
    if answer.axes:
        keys, columns = _swept_answer_blocks(answer, chosen, whole=False)[0][0]
    else:
        keys, columns = _table_rows(answer, chosen.shown)
    return [*keys, *columns]


def _swept_answer_blocks(
    answer: Answer, chosen: Selection, whole: bool
) -> tuple[list[tuple[list[Column], list[Column]]], list[str]]:
    """One block for each kind of place: keys, then the columns of its metrics."""
    by_axes: dict[tuple[str, ...], list[Datum]] = {}
    for name in unique(n.metric for n in chosen.shown):
        own = [n for n in chosen.shown if n.metric == name]
        every = unique(axis for n in own for axis in n.at)
        axes = tuple(axis for axis in every if axis not in (*answer.axes, STEP))
        by_axes.setdefault(axes, []).extend(own)
    # Metrics without a place of their own stand in the first block.
    scalars = by_axes.pop((), [])
    groups = list(by_axes.values()) or [[]]
    order = {n.metric: i for i, n in reversed(list(enumerate(chosen.shown)))}
    groups[0] = sorted([*groups[0], *scalars], key=lambda n: order[n.metric])
    left_out = [] if whole else unique(n.metric for group in groups[1:] for n in group)
    return [_block(answer, group) for group in (groups if whole else groups[:1])], left_out


def _block(answer: Answer, shown: Sequence[Datum]) -> tuple[list[Column], list[Column]]:
    axes = unique(axis for n in shown for axis in n.at)
    several = [
        a for a in axes if a in answer.axes or len({n.at[a] for n in shown if a in n.at}) > 1
    ]
    full = [tuple(n.at.get(a) for a in several) for n in shown if all(a in n.at for a in several)]
    points = dict.fromkeys(tuple(n.at[a] for a in answer.axes) for n in shown)
    keys = list(dict.fromkeys(full)) or list(points)
    order = {tuple(at for _, at in place): i for i, place in enumerate(answer.places())}
    keys.sort(key=lambda key: order[key[: len(answer.axes)]])
    cells: dict[str, dict[tuple[Any, ...], Datum]] = {}
    for n in shown:
        key = tuple(n.at.get(a) for a in several)
        if key not in keys:
            # A number without that place stands in the first row of its point.
            first = [k for k in keys if all(v in (None, w) for v, w in zip(key, k, strict=True))]
            key = first[0] if first else key
        cells.setdefault(n.metric, {})[key] = n
    columns = [
        column
        for metric, own in cells.items()
        for column in _columns(answer, metric, [own.get(k) for k in keys])
    ]
    return _answer_key_columns(answer, several, keys), columns


def _answer_key_columns(
    answer: Answer, axes: Sequence[str], keys: Sequence[tuple[Any, ...]]
) -> list[Column]:
    found = []
    points = dict(zip(answer.places(), answer.questions, strict=True))
    for number, axis in enumerate(axes):
        texts = [axis_words(key[number]) for key in keys]
        found.append(Column("", axis.replace("_", " "), texts))
        letter = LETTERS.get(axis)
        if axis in answer.axes and letter is not None and axis != "dim":
            places = [tuple(zip(answer.axes, key, strict=False)) for key in keys]
            sizes = [sizes_in_numbers(points[place].settings).get(letter) for place in places]
            counts = [f"{size:.0f}" for size in sizes if size is not None]
            if counts != texts and len(counts) == len(texts):
                found.append(Column("", letter, counts))
    return found


def _table_rows(answer: Answer, shown: Sequence[Datum]) -> tuple[list[Column], list[Column]]:
    """One row per number."""
    axes = unique(axis for n in shown for axis in n.at)
    several = [a for a in axes if len({n.at[a] for n in shown if a in n.at}) > 1]
    keys = [Column("", "metric", [n.metric for n in shown])]
    if STEP in axes and STEP not in several:
        keys[0] = keys[0]._replace(
            over=f"after step {next(n.at[STEP] for n in shown if STEP in n.at)}"
        )
    keys += [Column("", a, [axis_words(n.at.get(a, "")) for n in shown]) for a in several]
    return keys, _columns(answer, "", list(shown))


def _columns(answer: Answer, metric: str, cells: Sequence[Datum | None]) -> list[Column]:
    """The columns that show a metric: measured, predicted, or both with the gap between them."""
    if not answer.predictions:
        heads = ("", metric) if metric else ("", "mean ± s.e.")
        return [Column(*heads, [answer_number(n.mean, n.sem) if n else "" for n in cells], metric)]
    theory = [_table_theory(n) if n else "" for n in cells]
    if not answer.runs:
        return [Column("", metric or "value", theory, metric)]
    measured = [answer_number(n.mean, n.sem) if n else "" for n in cells]
    gaps = ["" if n is None else table_number(n.deviation, 2) for n in cells]
    found = [
        Column(metric, "simulation", measured, metric),
        Column("", "theory", theory, metric),
        Column("", "gap/s.e.", gaps, metric),
    ]
    found = [c for c in found if any(cell not in ("", "-") for cell in c.cells)]
    return [found[0]._replace(over=metric), *found[1:]]


def _answer_parts(keys: list[Column], columns: list[Column], width: int) -> list[list[Column]]:
    """The columns in parts that fit the width beside the keys; a metric is never torn apart."""
    room = width - sum(key.width + len(_GAP) for key in keys)
    parts: list[list[Column]] = []
    used = 0
    for metric in unique(column.metric for column in columns):
        own = [column for column in columns if column.metric == metric]
        need = max(sum(c.width + len(_GAP) for c in own), len(metric))
        if not parts or used + need > room:
            parts.append([])
            used = 0
        parts[-1] += own
        used += need
    return parts


def titled_text_table(
    about: Sequence[str], columns: Sequence[Column], below: Sequence[str], notes: Sequence[str]
) -> str:
    """A title with its settings, a table, and lines below it: for results that are no answer."""
    width = shutil.get_terminal_size((80, 24)).columns
    title, settings = about
    lines = [title, *_answer_line(settings, width), "", *_rendered_answer_columns(columns), ""]
    for line in [*below, *(f"note: {note}" for note in notes)]:
        lines += _answer_line(line, width, "")
    return "\n".join(line.rstrip() for line in lines)


def _rendered_answer_columns(columns: Sequence[Column], most_rows: int | None = None) -> list[str]:
    """The lines of columns beside one another, under their headings."""
    count = len(columns[0].cells)
    rows = list(range(count))
    if most_rows is not None and count > most_rows:
        rows = [*rows[: most_rows - most_rows // 2], -1, *rows[count - most_rows // 2 + 1 :]]
    over, heads = "", ""
    for column in columns:
        gap = _GAP if heads else ""
        if column.over:
            over = f"{over:<{len(heads + gap)}}{column.over}"
        heads += gap + _aligned_answer_cell(column, column.head, column is columns[0])
    lines = [over, heads] if over else [heads]
    for row in rows:
        if row < 0:
            lines.append(f"... {count - len(rows) + 1} rows more ...")
            continue
        texts = [_aligned_answer_cell(c, c.cells[row], c is columns[0]) for c in columns]
        lines.append(_GAP.join(texts))
    return lines


def _aligned_answer_cell(column: Column, cell: str, first: bool) -> str:
    return cell.ljust(column.width) if first else cell.rjust(column.width)


def _metric_name(number: Datum, several_directions: bool) -> str:
    """A metric with the direction or component it speaks of."""
    place = tuple(
        (axis, at)
        for axis, at in number.place
        if axis != STEP and (several_directions or axis != DIRECTION)
    )
    return f"{number.metric} ({metric_place(place)})" if place else number.metric


def _short_answer_number(number: Datum) -> str:
    if math.isnan(number.mean):
        return _table_theory(number)
    measured = answer_number(number.mean, number.sem)
    return measured if math.isnan(number.theory) else f"{measured} (theory {_table_theory(number)})"


def _table_theory(number: Datum) -> str:
    """A theory's number, with its error where that is not negligible beside it."""
    if number.error > WORTH_SHOWING * abs(number.theory):
        return answer_number(number.theory, number.error)
    return table_number(number.theory)


def answer_number(mean: float, error: float) -> str:
    """A mean and its error, both to the second digit of the error.

    >>> [answer_number(*pair) for pair in ((0.31274, 0.00412), (12345.6, 250.0), (0.5, math.nan))]
    ['0.3127 ± 0.0041', '12350 ± 250', '0.5']
    """
    # What only rounding makes differ from seed to seed has no error.
    if not (math.isfinite(mean) and math.isfinite(error) and error > 1e-12 * abs(mean)):
        return table_number(mean)
    decimals = 1 - math.floor(math.log10(error))
    if abs(mean) >= 1e6 or decimals > 7:
        return f"{mean:.4g} ± {error:.2g}"
    mean, error = round(mean, decimals), round(error, decimals)
    return f"{mean:.{max(decimals, 0)}f} ± {error:.{max(decimals, 0)}f}"


def table_number(number: float, digits: int = 5) -> str:
    """A number to that many digits; a dash where there is none."""
    return "-" if math.isnan(number) else f"{number:.{digits}g}"


def _answer_line(line: str, width: int, indent: str = "  ") -> list[str]:
    """A line broken at the width; without an indent only what follows its first part has one."""
    return textwrap.wrap(
        line,
        max(width, 40),
        initial_indent=indent,
        subsequent_indent=indent or "  ",
        break_long_words=False,
        break_on_hyphens=False,
    )
