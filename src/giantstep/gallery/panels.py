"""What the panels of the gallery share: theory as a line, simulation as dots over it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from giantstep.gallery.style import COLOURS, GREY

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
        draw_dots(panel, table, x, metric, colour, label)


def draw_dots(
    panel: Any,
    table: pandas.DataFrame,
    x: str,
    metric: str,
    colour: str,
    label: str | None = None,
    **style: Any,
) -> None:
    """Draw ``metric`` as dots over column ``x``, with the errors of ``metric.sem``."""
    dots = table.dropna(subset=metric)
    errors, style = dots[f"{metric}.sem"].fillna(0.0), {"fmt": "o", **style}
    panel.errorbar(dots[x], dots[metric], errors, color=colour, label=label, **style)


def linear_floor(panel: Any, error: float) -> None:
    """A dashed line at the error of the best linear predictor, which features must pass."""
    panel.axhline(error, color=GREY, linestyle="--", label="best linear predictor")


def guide(panel: Any, text: str, *, x: float | None = None, y: float | None = None) -> None:
    """A thin grey line across the panel, up at ``x`` or along at ``y``, with its name on it."""
    small = {"fontsize": 6.5, "color": GREY}
    if y is not None:
        panel.axhline(y, color=GREY, linestyle=":", linewidth=0.9)
        place = {"transform": panel.get_yaxis_transform(), "ha": "center", "va": "bottom"}
        panel.text(0.6, y, text, **place, **small)
    if x is not None:
        panel.axvline(x, color=GREY, linestyle="--", linewidth=0.9)
        place = {"transform": panel.get_xaxis_transform(), "ha": "right", "va": "top"}
        panel.text(x, 0.99, text, rotation=90, **place, **small)


def by_dimension(
    panel: Any, table: pandas.DataFrame, x: str, metric: str, beyond: Sequence[int]
) -> None:
    """One line per dimension with its dots; dashed, and named as a power, where d is ``beyond``."""
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
