"""Any result, drawn: theory as lines, simulation as dots with error bars, one panel a metric."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from giantstep.errors import GiantstepError
from giantstep.figures.labels import axis_label, curve_label, metric_label
from giantstep.figures.paper import Size, add_title, paper_panels
from giantstep.figures.spectrum import draw_with_outliers
from giantstep.figures.staircase import draw_classes, draw_leaps
from giantstep.figures.style import COLOURS, house_style, save
from giantstep.places import STEP, TIME, Place
from giantstep.results import Number, numbers, unique
from giantstep.results.selection import GivenMetric, select
from giantstep.results.words import about
from giantstep.sweep import Positions, Sweep
from giantstep.twins.curves import PATIENCE_SECONDS, theory_line
from giantstep.twins.explanation import Explanation
from giantstep.twins.spectra import SpectrumComparison

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: More panels than this do not fit a page, unless they were asked for.
MOST_PANELS = 4


def draw_result(
    result: Any,
    path: Path,
    *,
    metric: GivenMetric = None,
    with_caption: bool = True,
    size: Size | None = None,
) -> Path:
    """Write a picture of a run, a prediction, a comparison or a sweep of them.

    One panel a metric: those asked for, else those that vary. ``size`` is one or two columns of a
    paper; without it the picture is as wide as its panels need.
    """
    shown = _shown(result, None, metric)
    names = unique(number.metric for number in shown)
    if metric is None and len(names) > 1:
        # It has no theory to lie on, and the table has it.
        names = [name for name in names if name != "angle"]
    names = names if metric is not None else names[:MOST_PANELS]
    if not names:
        raise GiantstepError("there is no number to draw")
    line = _line(result)
    with house_style():
        figure, panels = paper_panels(len(names), size, with_caption)
        for panel, name in zip(panels, names, strict=True):
            _draw(panel, result, [n for n in shown if n.metric == name], _theory(line, name), None)
        _key(figure, shown)
        if with_caption:
            add_title(figure, *about(result)[:2])
        return save(figure, path)


def draw(
    result: Any,
    *,
    x: str | None = None,
    metric: GivenMetric = None,
    ax: Axes | None = None,
    patience: float = PATIENCE_SECONDS,
) -> Axes:
    """Draw one metric of a result into ``ax``, or into a new pyplot figure; returns the axes.

    ``x`` is what was swept, ``step`` or ``direction``; ``metric`` by default the first that
    varies. ``patience`` is how many seconds the theory between the points of a sweep may take.
    Of an explanation ``metric`` is ``staircase`` or ``grand_staircase``.
    """
    if isinstance(result, Explanation):
        return _draw_staircase(result, metric, ax)
    if isinstance(result, SpectrumComparison):
        with house_style():
            ax = ax or _new_axes()
            draw_with_outliers(ax, result)
        return ax
    shown = _shown(result, x, metric)
    names = unique(number.metric for number in shown)
    if not names:
        raise GiantstepError("there is no number to draw")
    if metric is not None and len(names) > 1:
        raise GiantstepError(f"metric = {metric!r}: one picture has one metric, draw them in turn")
    own = [number for number in shown if number.metric == names[0]]
    with house_style():
        ax = ax or _new_axes()
        _draw(ax, result, own, _theory(_line(result, patience), names[0]), x)
        if any(n.mean == n.mean for n in own) and any(n.theory == n.theory for n in own):
            ax.set_title("dots: simulation, lines: theory")
    return ax


def _draw_staircase(found: Explanation, metric: GivenMetric, ax: Axes | None) -> Axes:
    drawings = {"staircase": draw_leaps, "grand_staircase": draw_classes}
    name = "staircase" if metric is None else str(metric)
    if name not in drawings:
        raise GiantstepError(f"metric = {metric!r}: use {' or '.join(drawings)}")
    with house_style():
        ax = ax or _new_axes()
        drawings[name](ax, found)
    return ax


def _new_axes() -> Axes:
    from matplotlib import pyplot

    return pyplot.subplots(figsize=(4.6, 3.3))[1]


def _shown(result: Any, x: str | None, metric: GivenMetric) -> list[Number]:
    """What is drawn: of a sweep the last step, of a single point every step if there are more."""
    chosen = select(result, metric)
    if (isinstance(result, Sweep) and x != STEP) or (metric is not None and "[" in str(metric)):
        return chosen.shown or chosen.constant
    kept = unique(number.metric for number in chosen.shown)
    order = {name: i for i, name in enumerate(kept)}
    every = [number for number in numbers(result) if number.metric in kept]
    both = [n for n in every if n.mean == n.mean and n.theory == n.theory]
    return sorted(both or every, key=lambda number: order[number.metric])


def _line(result: Any, patience: float = PATIENCE_SECONDS) -> list[Number]:
    """The theory between the points of a sweep."""
    if not isinstance(result, Sweep) or not any(n.theory == n.theory for n in numbers(result)):
        return []
    dense = theory_line(result, patience=patience)
    return [] if dense is None else list(numbers(dense))


def _theory(line: Sequence[Number], metric: str) -> list[Number]:
    return [number for number in line if number.metric == metric]


def _draw(
    panel: Any, result: Any, shown: Sequence[Number], line: Sequence[Number], x: str | None
) -> None:
    """Curves along the axis of the picture; without one, dots place by place."""
    axis = _axis(result, shown, x)
    panel.set_ylabel(metric_label(shown[0].metric))
    if axis is None:
        _draw_places(panel, shown)
        return
    if isinstance(result, Sweep) and axis == result.axis:
        positions = result.positions
        panel.set_xscale("log" if positions.is_logarithmic else "linear")
    else:
        positions = Positions(axis, unique(n.at[axis] for n in shown))
    panel.set_xlabel(axis_label(axis, positions))
    if positions.ticks is not None or axis == STEP:
        panel.set_xticks(list(positions.of.values()), [str(value) for value in positions.of])
    curves, dense = _curves(shown, axis), _curves(line, axis)
    seen: list[np.ndarray] = []
    named = _named(list(curves))
    for number, (place, curve) in enumerate(curves.items()):
        colour = COLOURS[number % len(COLOURS)]
        at = [positions.of[n.at[axis]] for n in curve]
        smooth = dense.get(place, [])
        if smooth:
            where = Positions(axis, [n.at[axis] for n in smooth])
            line_at, line_of = list(where.of.values()), [n.theory for n in smooth]
        else:
            line_at, line_of = at, [n.theory for n in curve]
        alone = len(line_at) == 1
        style: dict[str, Any] = {"marker": "_", "markersize": 18} if alone else {}
        predicted = not np.all(np.isnan(line_of))
        if any(np.shape(o) == np.shape(line_of) and np.allclose(o, line_of) for o in seen):
            # It lies on an earlier one, which stays visible between its dashes.
            style["linestyle"] = "--"
        seen.append(np.array(line_of))
        if predicted:
            panel.plot(line_at, line_of, color=colour, label=named[place], **style)
        mean, sem = [n.mean for n in curve], [n.sem for n in curve]
        if not np.all(np.isnan(mean)):
            panel.errorbar(
                *(at, mean, np.nan_to_num(sem)),
                **{"fmt": "o", "color": colour, "capsize": 2},
                label=None if predicted else named[place],
            )
    if len(curves) > 1:
        panel.legend(loc="best")


def _draw_places(panel: Any, shown: Sequence[Number]) -> None:
    names = [curve_label(number.place) for number in shown]
    at = range(len(shown))
    panel.plot(
        at, [n.theory for n in shown], color=COLOURS[0], marker="_", markersize=18, linestyle=""
    )
    panel.errorbar(
        *(at, [n.mean for n in shown], np.nan_to_num([n.sem for n in shown])),
        **{"fmt": "o", "color": COLOURS[0], "capsize": 2},
    )
    panel.set_xticks(list(at), names)
    panel.set_xlim(-0.6, len(shown) - 0.4)


def _axis(result: Any, shown: Sequence[Number], x: str | None) -> str | None:
    """The axis to draw along: as asked for, what was swept, else steps or times."""
    known = unique(axis for number in shown for axis in number.at)
    if x is not None and x not in known:
        raise GiantstepError(f"x = {x!r} is no axis of this result: use {', '.join(known)}")
    if x is not None:
        return x
    if isinstance(result, Sweep):
        return result.axis
    several = [axis for axis in known if len({n.at.get(axis) for n in shown}) > 1]
    return next((axis for axis in (STEP, TIME) if axis in several), None)


def _curves(shown: Sequence[Number], axis: str) -> dict[Place, list[Number]]:
    """The numbers along an axis, by the rest of their places."""
    curves: dict[Place, list[Number]] = {}
    for number in shown:
        if axis in number.at:
            rest = tuple(pair for pair in number.place if pair[0] != axis)
            curves.setdefault(rest, []).append(number)
    return curves


def _named(places: Sequence[Place]) -> dict[Place, str]:
    """Names of curves: what tells them apart, and the step where it is beyond the first."""
    coordinates: dict[str, set[Any]] = {}
    for place in places:
        for axis, at in place:
            coordinates.setdefault(axis, set()).add(at)
    kept = [a for a, own in coordinates.items() if len(own) > 1 or (a == STEP and max(own) > 1)]
    return {p: curve_label(tuple(pair for pair in p if pair[0] in kept)) for p in places}


def _key(figure: Figure, shown: Sequence[Number]) -> None:
    """What lines and dots are, for the whole picture; nothing where there is one kind alone."""
    from matplotlib.lines import Line2D

    if not any(n.mean == n.mean for n in shown) or not any(n.theory == n.theory for n in shown):
        return
    theory = Line2D([], [], color="black")
    simulation = Line2D([], [], color="black", marker="o", linestyle="")
    figure.legend(
        [theory, simulation], ["theory", "simulation"], loc="outside lower center", ncols=2
    )
