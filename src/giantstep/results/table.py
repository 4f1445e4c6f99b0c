"""A result as text: one row per point of a sweep, one row per metric without a sweep.

Columns that do not fit beside one another go below one another; a number is never cut.
"""

from __future__ import annotations

import math
import re
import shutil
import textwrap
from collections.abc import Sequence
from typing import Any, NamedTuple

from giantstep.places import DIRECTION, STEP, words
from giantstep.results.numbers import Number
from giantstep.results.plain import unique
from giantstep.results.selection import GivenMetric, Selection, select
from giantstep.results.units import sizes_in_numbers
from giantstep.results.words import about, fixed_words, merged_notes, status_words
from giantstep.sweep import Sweep

#: A relative error of a theory from which on it is shown.
WORTH_SHOWING = 1e-3
_GAP = "  "


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


def text(
    result: Any,
    metric: GivenMetric = None,
    *,
    everything: bool = False,
    width: int | None = None,
    most_rows: int | None = None,
    with_notes: bool = True,
) -> str:
    """The whole text: what it is about, constants, table, status, papers, notes.

    ``metric`` and ``everything`` say what is shown, as in :func:`select`; ``most_rows`` leaves out
    the middle of a long table.
    """
    width = width or shutil.get_terminal_size((80, 24)).columns
    chosen = select(result, metric, everything=everything)
    points = result.points if isinstance(result, Sweep) else (result,)
    learner, fixed, _ = about(result)
    lines = [f"{points[0].KIND}: {learner}"]
    lines += wrapped(", ".join(fixed_words(fixed)), width)
    if chosen.constant:
        several = len({n.at.get(DIRECTION) for n in chosen.constant} - {None}) > 1
        same = [f"{_name(n, several)} = {_short(n)}" for n in chosen.constant]
        lines += wrapped("at every point: " + ", ".join(same), width)
    for name, other in chosen.twins.items():
        why = ": the labels have no noise" if name.endswith("_noisy") else ""
        lines.append(f"  {name} is {other}{why}")
    rows, left_out = table(result, chosen, width, metric is not None or everything, most_rows)
    lines += ["", *rows]
    if left_out:
        lines += [
            "",
            *wrapped(f"also there, with --metric or --all: {', '.join(left_out)}", width, ""),
        ]
    statuses = {n.metric: n.status for n in [*chosen.shown, *chosen.constant] if n.status}
    if statuses:
        weak = {
            name: s for name, s in points[0].weakest_statuses(result).items() if name in statuses
        }
        lines += ["", *wrapped(f"status: {status_words(weak)}", width, "")]
    papers = unique(paper for point in points for paper in point.papers)
    if papers:
        lines += wrapped(f"papers: {'; '.join(papers)}", width, "")
    if with_notes:
        notes = merged_notes(note for point in points for note in point.remarks)
        lines += [line for note in notes for line in wrapped(f"note: {note}", width, "")]
    return "\n".join(line.rstrip() for line in lines)


def table(
    result: Any, chosen: Selection, width: int, whole: bool, most_rows: int | None = None
) -> tuple[list[str], list[str]]:
    """The lines of the table, and the metrics that found no room in it."""
    if isinstance(result, Sweep):
        blocks, left_out = _swept(result, chosen, whole)
    else:
        blocks, left_out = [_listed(result, chosen.shown)], []
    lines: list[str] = []
    for keys, columns in blocks:
        parts = _fitted(keys, columns, width)
        # What was both measured and predicted is shown below where it finds no room beside.
        compared = most_rows is None and any(column.head == "gap/s.e." for column in columns)
        if not whole and not compared and isinstance(result, Sweep):
            left_out = [*unique(c.metric for part in parts[1:] for c in part), *left_out]
            parts = parts[:1]
        for part in parts:
            lines += ["", *rendered([*keys, *part], most_rows)]
    return lines[1:], [*left_out, *chosen.left_out]


def columns_of(result: Any, chosen: Selection) -> list[Column]:
    """Keys and columns of the first table, whatever its width."""
    if isinstance(result, Sweep):
        keys, columns = _swept(result, chosen, whole=False)[0][0]
    else:
        keys, columns = _listed(result, chosen.shown)
    return [*keys, *columns]


def _swept(
    sweep: Sweep[Any], chosen: Selection, whole: bool
) -> tuple[list[tuple[list[Column], list[Column]]], list[str]]:
    """One block for each kind of place: keys, then the columns of its metrics."""
    by_axes: dict[tuple[str, ...], list[Number]] = {}
    for name in unique(n.metric for n in chosen.shown):
        own = [n for n in chosen.shown if n.metric == name]
        axes = tuple(a for a in unique(a for n in own for a in n.at) if a not in (sweep.axis, STEP))
        by_axes.setdefault(axes, []).extend(own)
    # Metrics without a place of their own stand in the first block.
    scalars = by_axes.pop((), [])
    groups = list(by_axes.values()) or [[]]
    order = {n.metric: i for i, n in reversed(list(enumerate(chosen.shown)))}
    groups[0] = sorted([*groups[0], *scalars], key=lambda n: order[n.metric])
    left_out = [] if whole else unique(n.metric for group in groups[1:] for n in group)
    return [_block(sweep, group) for group in (groups if whole else groups[:1])], left_out


def _block(sweep: Sweep[Any], shown: Sequence[Number]) -> tuple[list[Column], list[Column]]:
    axes = unique(axis for n in shown for axis in n.at)
    several = [a for a in axes if a == sweep.axis or len({n.at[a] for n in shown if a in n.at}) > 1]
    full = [tuple(n.at.get(a) for a in several) for n in shown if all(a in n.at for a in several)]
    keys = list(dict.fromkeys(full)) or list(dict.fromkeys((n.at[sweep.axis],) for n in shown))
    order = {value: i for i, value in enumerate(sweep.values)}
    keys.sort(key=lambda key: order[key[0]])
    cells: dict[str, dict[tuple[Any, ...], Number]] = {}
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
        for column in _columns(type(sweep.points[0]).__name__, metric, [own.get(k) for k in keys])
    ]
    return _key_columns(sweep, several, keys), columns


def _key_columns(
    sweep: Sweep[Any], axes: Sequence[str], keys: Sequence[tuple[Any, ...]]
) -> list[Column]:
    found = []
    for number, axis in enumerate(axes):
        texts = [_coordinate(key[number]) for key in keys]
        found.append(Column("", axis.replace("_", " "), texts))
        if axis == sweep.axis:
            sizes = {
                value: sizes_in_numbers({"dim": p.settings.get("dim"), axis: p.settings.get(axis)})
                for value, p in zip(sweep.values, sweep.points, strict=True)
            }
            letters = unique(name for own in sizes.values() for name in own if "/" not in name)
            for letter in [name for name in letters if name != "d"]:
                known = [sizes[key[number]].get(letter) for key in keys]
                counts = [f"{v:.0f}" for v in known if v is not None]
                if counts != texts and None not in known:
                    found.append(Column("", letter, counts))
    return found


def _listed(result: Any, shown: Sequence[Number]) -> tuple[list[Column], list[Column]]:
    """One row a number."""
    axes = unique(axis for n in shown for axis in n.at)
    several = [a for a in axes if len({n.at[a] for n in shown if a in n.at}) > 1]
    keys = [Column("", "metric", [n.metric for n in shown])]
    if STEP in axes and STEP not in several:
        keys[0] = keys[0]._replace(
            over=f"after step {next(n.at[STEP] for n in shown if STEP in n.at)}"
        )
    keys += [Column("", a, [_coordinate(n.at.get(a, "")) for n in shown]) for a in several]
    return keys, _columns(type(result).__name__, "", list(shown))


def _columns(kind: str, metric: str, cells: Sequence[Number | None]) -> list[Column]:
    """The columns that show a metric: measured, predicted, or both with the gap between them."""
    if kind == "Run":
        heads = ("", metric) if metric else ("", "mean ± s.e.")
        return [Column(*heads, [with_error(n.mean, n.sem) if n else "" for n in cells], metric)]
    theory = [_predicted(n) if n else "" for n in cells]
    if kind == "Prediction":
        return [Column("", metric or "value", theory, metric)]
    measured = [with_error(n.mean, n.sem) if n else "" for n in cells]
    gaps = ["" if n is None else value(n.deviation, 2) for n in cells]
    found = [
        Column(metric, "simulation", measured, metric),
        Column("", "theory", theory, metric),
        Column("", "gap/s.e.", gaps, metric),
    ]
    found = [c for c in found if any(cell not in ("", "-") for cell in c.cells)]
    return [found[0]._replace(over=metric), *found[1:]]


def _fitted(keys: list[Column], columns: list[Column], width: int) -> list[list[Column]]:
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


def rendered(columns: Sequence[Column], most_rows: int | None = None) -> list[str]:
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
        heads += gap + (column.head.ljust if column is columns[0] else column.head.rjust)(
            column.width
        )
    lines = [over, heads] if over else [heads]
    for row in rows:
        if row < 0:
            lines.append(f"... {count - len(rows) + 1} rows more ...")
            continue
        texts = [_aligned(c, c.cells[row], c is columns[0]) for c in columns]
        lines.append(_GAP.join(texts))
    return lines


def _aligned(column: Column, cell: str, first: bool) -> str:
    return cell.ljust(column.width) if first else cell.rjust(column.width)


def _name(number: Number, several_directions: bool) -> str:
    """A metric with the direction or component it speaks of."""
    place = tuple(
        (axis, at)
        for axis, at in number.place
        if axis != STEP and (several_directions or axis != DIRECTION)
    )
    return f"{number.metric} ({words(place)})" if place else number.metric


def _short(number: Number) -> str:
    if math.isnan(number.mean):
        return _predicted(number)
    measured = with_error(number.mean, number.sem)
    return measured if math.isnan(number.theory) else f"{measured} (theory {_predicted(number)})"


def _predicted(number: Number) -> str:
    """A theory's number, with its error where that is not negligible beside it."""
    if number.error > WORTH_SHOWING * abs(number.theory):
        return with_error(number.theory, number.error)
    return value(number.theory)


def with_error(mean: float, error: float) -> str:
    """A mean and its error, both to the second digit of the error.

    >>> with_error(0.31274, 0.00412), with_error(12345.6, 250.0), with_error(0.5, float("nan"))
    ('0.3127 ± 0.0041', '12350 ± 250', '0.5')
    """
    # What only rounding makes differ from seed to seed has no error.
    if not (math.isfinite(mean) and math.isfinite(error) and error > 1e-12 * abs(mean)):
        return value(mean)
    decimals = 1 - math.floor(math.log10(error))
    if abs(mean) >= 1e6 or decimals > 7:
        return f"{mean:.4g} ± {error:.2g}"
    mean, error = round(mean, decimals), round(error, decimals)
    return f"{mean:.{max(decimals, 0)}f} ± {error:.{max(decimals, 0)}f}"


def value(number: float, digits: int = 5) -> str:
    """A number in so many digits; a dash where there is none."""
    return "-" if math.isnan(number) else f"{number:.{digits}g}"


def _coordinate(value: Any) -> str:
    """A value of an axis in six digits: 3.33333d, 0.001."""
    if isinstance(value, float):
        return f"{value:.6g}"
    return re.sub(r"\d+\.\d{6,}", lambda long: f"{float(long[0]):.6g}", str(value))


def wrapped(line: str, width: int, indent: str = "  ") -> list[str]:
    """A line broken at the width; without an indent only what follows its first part has one."""
    return textwrap.wrap(
        line,
        max(width, 40),
        initial_indent=indent,
        subsequent_indent=indent or "  ",
        break_long_words=False,
        break_on_hyphens=False,
    )
