"""Any study, drawn: a metric along one axis, dots with error bars on lines of theory.

One more axis is a colour, or from nine values on the second side of a heat map; what is left
are panels, small multiples of one another.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from giantstep.errors import GiantstepError
from giantstep.figures.labels import axis_label, curve_label, metric_label
from giantstep.figures.style import COLOURS, house_style, new_figure, save
from giantstep.places import STEP
from giantstep.studies.columns import MetricColumn, metric_columns
from giantstep.studies.results import Results
from giantstep.sweep import Positions

if TYPE_CHECKING:
    import pandas

#: More curves than this cannot be told apart: the picture becomes a heat map.
MOST_CURVES = 8
MOST_PANELS = 24


class Panel(NamedTuple):
    """One panel: what tells it from the others, the column it draws, and its lines."""

    name: str
    column: MetricColumn
    table: pandas.DataFrame


def draw_study(
    results: Results, path: Path, *, x: str | None = None, metric: str | None = None
) -> Path:
    """Draw ``metric`` along the axis ``x``, after the last step unless ``overlap[2,0]`` says which.

    Unless told, the axis is the longest one and the metric the first that has a prediction.
    """
    table = results.summary()
    axes = list(results.definition()["axes"])
    x = _axis(x, axes, table)
    columns = metric_columns(results.definition(), table, metric)
    others = sorted((a for a in axes if a != x), key=lambda a: table[a].nunique(), reverse=True)
    colour = others[0] if others else None
    panels = _panels(table, others[1:], columns)
    if len(panels) > MOST_PANELS:
        raise GiantstepError(
            f"{len(panels)} panels are too many for one picture: ask for one entry, such as "
            f"--metric {columns[0].metric}[1,0], or for fewer values of {' and '.join(others[1:])}"
        )
    heat = colour is not None and table[colour].nunique() > MOST_CURVES
    with house_style():
        across = 2 if len(panels) == 4 else min(len(panels), 3)
        down = -(-len(panels) // across)
        figure, drawn = new_figure(
            max(3.4 * across + 0.8, 5.0), 2.9 * down + 0.5, nrows=down, ncols=across, squeeze=False
        )
        spots = list(np.ravel(drawn))
        for spot, panel in zip(spots, panels, strict=False):
            if heat and colour is not None:
                _draw_heat(figure, spot, panel, x, colour)
            else:
                _draw_curves(spot, panel, x, colour)
            if panel.name:
                spot.set_title(panel.name)
        for spare in spots[len(panels) :]:
            spare.remove()
        what = "" if heat else ": dots simulation, lines theory"
        figure.suptitle(f"{_literal(results.name)}{what}", fontsize=9)
        return save(figure, path)


def _panels(
    table: pandas.DataFrame, rest: Sequence[str], columns: Sequence[MetricColumn]
) -> list[Panel]:
    groups = [((), table)] if not rest else list(table.groupby(list(rest), sort=False))
    found = []
    for values, lines in groups:
        for column in columns:
            place = column.place if len(columns) > 1 or _is_late(column) else ()
            words = [f"{_words(axis)} = {value}" for axis, value in zip(rest, values, strict=True)]
            name = ", ".join([*([curve_label(place)] if place else []), *map(_literal, words)])
            found.append(Panel(name, column, lines))
    return found


def _is_late(column: MetricColumn) -> bool:
    """Whether the column speaks of a step beyond the first, which a reader should be told."""
    return dict(column.place).get(STEP, 1) > 1


def _draw_curves(spot: Any, panel: Panel, x: str, colour: str | None) -> None:
    table, name = panel.table, panel.column.name
    groups = [("", table)] if colour is None else list(table.groupby(colour, sort=False))
    positions = Positions(x, list(dict.fromkeys(table[x])))
    for shade, (value, curve) in zip(COLOURS * 2, groups, strict=False):
        at = np.array([positions.of[v] for v in curve[x]])
        label, simulated = _literal(str(value)), name in curve
        if f"{name}.theory" in curve:
            own = "_nolegend_" if simulated else label
            spot.plot(at, curve[f"{name}.theory"], color=shade, label=own)
        if simulated:
            errors = curve[f"{name}.sem"].fillna(0.0) if f"{name}.sem" in curve else None
            spot.errorbar(
                *(at, curve[name], errors),
                **{"fmt": "o", "color": shade, "capsize": 2, "label": label},
            )
    _label(spot, x, positions)
    spot.set_ylabel(_literal(metric_label(panel.column.metric)))
    if colour is not None:
        spot.legend(loc="best", title=_words(colour))


def _draw_heat(figure: Any, spot: Any, panel: Panel, x: str, y: str) -> None:
    """The mean over seeds by colour; theory where nothing was simulated."""
    name = panel.column.name if panel.column.name in panel.table else f"{panel.column.name}.theory"
    grid = panel.table.pivot_table(index=y, columns=x, values=name, sort=False)
    across, up = Positions(x, list(grid.columns)), Positions(y, list(grid.index))
    order = np.argsort(list(up.of.values())), np.argsort(list(across.of.values()))
    values = grid.to_numpy()[np.ix_(*order)]
    mesh = spot.pcolormesh(_edges(across), _edges(up), values, cmap="viridis")
    spot.grid(False)
    _label(spot, x, across)
    spot.set_ylabel(axis_label(y, up))
    if up.ticks is not None:
        spot.set_yticks(list(up.of.values()), [_literal(tick) for tick in up.ticks])
    elif up.is_logarithmic:
        spot.set_yscale("log")
    figure.colorbar(mesh, ax=spot, label=_literal(metric_label(panel.column.metric)))


def _edges(positions: Positions) -> np.ndarray:
    """Where one cell of a heat map ends and the next begins, by decades on a logarithmic axis."""
    at = np.sort(list(positions.of.values()))
    by_decades = positions.is_logarithmic
    at = np.log(at) if by_decades else at
    between = (at[1:] + at[:-1]) / 2
    edges = np.concatenate([[2 * at[0] - between[0]], between, [2 * at[-1] - between[-1]]])
    return np.exp(edges) if by_decades else edges


def _label(spot: Any, x: str, positions: Positions) -> None:
    spot.set_xlabel(axis_label(x, positions))
    if positions.ticks is not None:
        spot.set_xticks(list(positions.of.values()), [_literal(tick) for tick in positions.ticks])
    elif positions.is_logarithmic:
        spot.set_xscale("log")


def _axis(given: str | None, axes: list[str], table: pandas.DataFrame) -> str:
    if not axes:
        raise GiantstepError(
            "the study has no axis to draw along: see it with giantstep study show"
        )
    if given is None:
        return max(axes, key=lambda axis: table[axis].nunique())
    if given not in axes:
        raise GiantstepError(f"--x = {given!r} is no axis of the study: use {', '.join(axes)}")
    return given


def _words(name: str) -> str:
    return name.replace("_", " ")


def _literal(text: str) -> str:
    """The text as it is: a dollar sign in it begins no mathematics, and it stays on one line."""
    return "".join(c if c.isprintable() else "?" for c in text).replace("$", r"\$")
