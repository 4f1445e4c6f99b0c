"""What the panels of the gallery share: theory as a line, simulation as dots over it."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from giantstep.figures.style import COLOURS

if TYPE_CHECKING:
    import pandas


def lay_over(
    panel: Any,
    table: pandas.DataFrame,
    x: str,
    metric: str,
    colour: str,
    label: str | None = None,
    **line: Any,
) -> None:
    """Draw ``metric.theory`` as a line over column ``x``, and ``metric`` as dots with errors."""
    if f"{metric}.theory" in table:
        theory = table.dropna(subset=f"{metric}.theory").sort_values(x)
        panel.plot(theory[x], theory[f"{metric}.theory"], color=colour, label=label, **line)
        label = None
    if metric in table:
        dots = table.dropna(subset=metric)
        errors = dots[f"{metric}.sem"].fillna(0.0)
        panel.errorbar(dots[x], dots[metric], errors, fmt="o", color=colour, label=label)


def by_dimension(
    panel: Any, table: pandas.DataFrame, x: str, metric: str, beyond: Sequence[int]
) -> None:
    """One line a dimension with its dots; dashed, and named as a power, where d is ``beyond``."""
    for dim, colour in zip(sorted(table.dim.unique()), COLOURS, strict=False):
        far = dim in beyond
        size = f"10^{{{math.log10(dim):.0f}}}" if far else f"{dim:.0f}"
        here = table[table.dim == dim]
        style = "--" if far else "-"
        lay_over(panel, here, x, metric, colour, f"$d = {size}$", linestyle=style)


def ticks_at(axis: Any, values: Sequence[float]) -> None:
    """Ticks of a logarithmic axis at these values alone, written as decimals."""
    axis.set_ticks(values, [f"{value:g}" for value in values])
    axis.set_ticks([], minor=True)


def on_the_line(
    table: pandas.DataFrame,
    metric: str,
    *,
    errors: float,
    allowance: float = 0.0,
    relative: float = 0.0,
) -> bool:
    """Whether each dot is within so many standard errors of its theory, and an allowance more."""
    both = table.dropna(subset=[metric, f"{metric}.theory"])
    gap = (both[metric] - both[f"{metric}.theory"]).abs()
    more = allowance + relative * both[f"{metric}.theory"].abs()
    return len(both) > 0 and bool((gap <= errors * both[f"{metric}.sem"] + more).all())


def over_steps(summary: pandas.DataFrame, metric: str) -> pandas.DataFrame:
    """The columns ``metric[step, direction]`` of a summary as lines: one per step and direction.

    A metric without directions, ``metric[step]``, has direction 0.
    """
    import pandas

    name = re.compile(rf"{metric}\[(?P<step>\d+)(, (?P<direction>\d+))?\](?P<suffix>.*)")
    entries: dict[tuple[int, int], dict[str, Any]] = {}
    for column in summary:
        if match := name.fullmatch(str(column)):
            place = int(match["step"]), int(match["direction"] or 0)
            entries.setdefault(place, {})[metric + match["suffix"]] = summary[column]
    rest = summary[[c for c in summary if "[" not in str(c)]]
    parts = [
        rest.assign(step=step, direction=direction, **columns)
        for (step, direction), columns in sorted(entries.items())
    ]
    return pandas.concat(parts, ignore_index=True)
