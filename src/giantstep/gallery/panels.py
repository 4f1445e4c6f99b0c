"""What the panels of the gallery share: theory as a line, simulation as dots over it.

Most figures are one :func:`overlay_panels`: a panel for each value of one column of the table, a
colour for each value of another. The others lay curves over one another panel by panel.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from giantstep.gallery.style import COLOURS, GREY, is_figure_stacked, legend_above, new_figure

if TYPE_CHECKING:
    import pandas
    from matplotlib.figure import Figure

#: A column of a table, and how each of its values is written, in their order in the picture.
Names = tuple[str, Mapping[Any, str]]
#: Width and height of a picture by its number of panels.
_SHAPES = {1: (5.4, 3.9), 2: (7.4, 3.6), 3: (8.7, 3.6)}
#: Colours of the directions, h1 blue, h2 orange, h3 green, wherever they are curves.
DIRECTIONS: Names = ("direction", {f"h{k}": f"$h_{k}$" for k in (1, 2, 3)})


class Side(NamedTuple):
    """One side of a picture: the column of the table along it, its label, scale and limits.

    The scale is ``linear``, ``log`` or ``log2``, by powers of two; ticks, where they are given, are
    at these values alone, written as decimals. Of a metric the column is its name.
    """

    column: str
    label: str = ""
    scale: str = "linear"
    ticks: Sequence[float] = ()
    limits: tuple[float | None, float | None] | None = None

    def rule(self, panel: Any, side: str) -> None:
        """Put it on the side ``x`` or ``y`` of a panel."""
        if self.scale != "linear":
            how = {"base": 2} if self.scale == "log2" else {}
            getattr(panel, f"set_{side}scale")("log", **how)
        if self.ticks:
            ticks_at(getattr(panel, f"{side}axis"), self.ticks)
        panel.set(**{f"{side}lim": self.limits} if self.limits else {})
        panel.set(**{f"{side}label": self.label})


def overlay_panels(
    table: pandas.DataFrame,
    x: Side,
    *y: Side,
    panels: Names | None = None,
    curves: Names | None = None,
    squares: tuple[str, str] | None = None,
    colours: Sequence[str] = COLOURS,
    legend: str | None = "best",
    sharey: bool = True,
) -> tuple[Figure, list[Any]]:
    """Theory as lines and simulation as dots: returns the picture and its panels.

    There is one panel for each metric ``y`` and each value of ``panels`` that the table has, one
    colour for each value of ``curves``. Dots at the smaller values of the column ``squares``, given
    with its letter, are open squares. The legend stands in the first panel, or ``above`` them.
    """
    column, titles = panels or ("", {None: ""})
    titles = {at: text for at, text in titles.items() if not column or at in set(table[column])}
    places = [(side, value) for side in y for value in titles]
    width, height = _SHAPES.get(len(places), (3.0 * len(places), 3.6))
    shared = sharey and len(y) == 1
    figure, grid = new_figure(width, height, ncols=len(places), sharey=shared, squeeze=False)
    for panel, (side, value) in zip(grid.flat, places, strict=True):
        here = table[table[column] == value] if column else table
        draw_curves(panel, here, x, side, curves, squares=squares, colours=colours)
        panel.set_title(titles[value])
        if shared and panel is not grid.flat[0] and not is_figure_stacked(figure):
            panel.set_ylabel("")
    if legend == "above":
        legend_above(figure)
    elif legend and curves:
        grid.flat[0].legend(loc=legend)
    return figure, list(grid.flat)


def draw_curves(
    panel: Any,
    table: pandas.DataFrame,
    x: Side,
    y: Side,
    curves: Names | None = None,
    *,
    squares: tuple[str, str] | None = None,
    colours: Sequence[str] = COLOURS,
) -> None:
    """One line with its dots for each value of a column; see :func:`overlay_panels`."""
    column, names = curves or ("", {None: ""})
    dots = table.dropna(subset=y.column) if y.column in table else table[:0]
    small = dots[dots[squares[0]] < dots[squares[0]].max()] if squares else dots[:0]
    for (value, label), colour in zip(names.items(), colours, strict=False):
        here, there, few = (
            part[part[column] == value] if column else part for part in (table, dots, small)
        )
        if len(here):
            # A dimension beyond what is simulated has a dashed line.
            far = column == "dim" and len(dots) and not len(there)
            style = {"linestyle": "--"} if far else {}
            shown = here.drop(few.index)
            draw_line_and_dots(panel, shown, x.column, y.column, colour, label or None, **style)
            draw_dots(panel, few, x.column, y.column, colour, fmt="s", mfc="white")
    if squares:
        for part, form in ((small, "s"), (dots.drop(small.index), "o")):
            filled = {"color": GREY, "mfc": "white" if form == "s" else GREY}
            sizes = ", ".join(f"{size:g}" for size in part[squares[0]].unique())
            panel.plot([], [], form, label=f"${squares[1]} = {sizes}$", **filled)
    x.rule(panel, "x")
    y.rule(panel, "y")


def draw_line_and_dots(
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
        if len(theory):
            draw_line(panel, theory[x], theory[f"{metric}.theory"], colour, label, **line)
            label = None
    if metric in table:
        draw_dots(panel, table, x, metric, colour, label)


def draw_line(panel: Any, x: Any, y: Any, colour: str, label: str | None, **style: Any) -> None:
    """A line; one that lies on an earlier one is dashed, so that both are seen."""
    import numpy as np

    points = np.array([x, y], float).T
    before = [line.get_xydata() for line in panel.lines]
    if any(b.shape == points.shape and np.allclose(b, points, equal_nan=True) for b in before):
        style = {"linestyle": "--", **style}
    panel.plot(*points.T, color=colour, label=label, **style)


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
    dots = table.dropna(subset=metric) if len(table) else table
    if not len(dots):
        return
    errors, style = dots[f"{metric}.sem"].fillna(0.0), {"fmt": "o", **style}
    panel.errorbar(dots[x], dots[metric], errors, color=colour, label=label, **style)


def draw_map(
    panel: Any, chart: pandas.DataFrame, label: str, *, levels: Any = None, cmap: str = "viridis"
) -> None:
    """A table of values over its columns and index as colours, with contours at some of them."""
    colours = {"cmap": cmap, "shading": "nearest", "rasterized": True}
    shades = panel.pcolormesh(chart.columns, chart.index, chart, **colours)
    if levels is not None:
        white = {"colors": "white", "linewidths": 0.9}
        lines = panel.contour(chart.columns, chart.index, chart, levels=levels, **white)
        panel.clabel(lines, fontsize=7)
    panel.figure.colorbar(shades, ax=panel, label=label)
    panel.grid(False)


def ticks_at(axis: Any, values: Sequence[float]) -> None:
    """Ticks of a logarithmic axis at these values alone, written as decimals."""
    axis.set_ticks(values, [f"{value:g}" for value in values])
    axis.set_ticks([], minor=True)


def ticks_by_decades(axis: Any, low: float, high: float) -> None:
    """Ticks at 1, 2 and 5 times the powers of ten between the ends of a logarithmic axis."""
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    every = [digit * 10.0**decade for decade in decades for digit in (1, 2, 5)]
    ticks_at(axis, [mark for mark in every if low <= mark <= high])


def curves_by_dimension(*sizes: int) -> Names:
    """Curves by dimension, a large one written as a power of ten."""
    return "dim", {
        size: f"$d = 10^{{{math.log10(size):.0f}}}$" if size >= 10**5 else f"$d = {size}$"
        for size in sizes
    }


def draw_linear_floor(panel: Any, error: float) -> None:
    """A dashed line at the error of the best linear predictor, which features must pass."""
    panel.axhline(error, color=GREY, linestyle="--", label="best linear predictor")


def draw_guide(
    panel: Any,
    text: str,
    *,
    x: float | None = None,
    y: float | None = None,
    colour: str = GREY,
    at: float | None = None,
) -> None:
    """A thin line across the panel, up at ``x`` or along at ``y``, with its name on it.

    ``at``: which share of the panel is before the middle, or below the foot, of the name; without
    it, the name of an upright line is at its top.
    """
    small = {"fontsize": 6.5, "color": colour}
    if y is not None:
        panel.axhline(y, color=colour, linestyle=":", linewidth=0.9)
        place = {"transform": panel.get_yaxis_transform(), "ha": "center", "va": "bottom"}
        panel.text(0.6 if at is None else at, y, text, **place, **small)
    if x is not None:
        panel.axvline(x, color=colour, linestyle=":", linewidth=0.9)
        height, end = (0.99, "top") if at is None else (at, "bottom")
        place = {"transform": panel.get_xaxis_transform(), "ha": "right", "va": end}
        panel.text(x, height, text, rotation=90, **place, **small)


def draw_mark(panel: Any, text: str, x: float) -> None:
    """A thin dotted line up at ``x``, named above the panel."""
    panel.axvline(x, color=GREY, linestyle=":", linewidth=1.0)
    place = {"transform": panel.get_xaxis_transform(), "ha": "center", "va": "bottom"}
    panel.text(x, 1.01, text, fontsize=8, color=GREY, **place)


def on_panel_line(
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
