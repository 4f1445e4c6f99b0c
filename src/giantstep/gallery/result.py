"""Any answer, drawn: theory as lines, simulation as dots with error bars, one panel per metric.

One more axis is a colour, or from six numbers on the second side of a map; what is left are
panels, small multiples of one another.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from giantstep.answer import Answer, Axis, Datum, unique
from giantstep.answer.axis import named_answer_coordinate
from giantstep.answer.places import STEP, TIME, Place
from giantstep.answer.selection import GivenMetric, shown_metrics
from giantstep.answer.words import answer_facts
from giantstep.asking.curves import PATIENCE_SECONDS, ask_theory_between
from giantstep.asking.spectra import SpectrumComparison
from giantstep.errors import GiantstepError
from giantstep.explanation.explain import Explanation
from giantstep.gallery.labels import (
    drawn_axis_label,
    drawn_literal,
    drawn_metric_label,
    legend_label,
)
from giantstep.gallery.panels import draw_line, ticks_by_decades
from giantstep.gallery.paper import add_picture_title, new_panel_axes, paper_panels
from giantstep.gallery.spectrum import draw_with_outliers
from giantstep.gallery.staircase import draw_classes, draw_leaps
from giantstep.gallery.style import (
    COLOURS,
    GREY,
    Size,
    house_style,
    move_legends_off_curves,
    save_figure,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: More panels than this do not fit a page, unless they were asked for.
MOST_PANELS, MOST_ASKED = 4, 24
#: More curves than this cannot be told apart: the picture becomes a map.
MOST_CURVES = 5


def draw_picture(
    answer: Answer,
    path: Path,
    *,
    x: str | None = None,
    metric: GivenMetric = None,
    with_caption: bool = True,
    size: Size | None = None,
) -> Path:
    """Write a picture of an answer.

    One panel per metric: those asked for, else those that vary; and for each combination of what
    was swept beside the two longest axes. ``size`` is one or two columns of a paper; without it
    the picture is as wide as its panels need.
    """
    shown = _drawn_numbers(answer, x, metric)
    names = unique(number.metric for number in shown)
    x = _drawn_axis(answer, shown, x)
    if not names:
        raise GiantstepError("there is no number to draw")
    parts = {name: list(_drawn_parts(answer, x, _drawn_of(shown, name, ()))) for name in names}
    names = names if metric is not None else names[: max(MOST_PANELS // len(parts[names[0]]), 1)]
    pairs = [(name, part) for name in names for part in parts[name]]
    if len(pairs) > MOST_ASKED:
        raise GiantstepError(
            f"{len(pairs)} panels are too many for one picture: ask for one metric, "
            f"or for fewer values of {' and '.join(name for name, _ in pairs[0][1])}"
        )
    line = _drawn_line(answer, x)
    with house_style(size):
        figure, panels = paper_panels(len(pairs), with_caption)
        for panel, (name, part) in zip(panels, pairs, strict=True):
            own = _drawn_of(shown, name, part)
            _draw(panel, answer, own, line.of(name, part), x)
            if part:
                panel.set_title(_title(part))
        _draw_legend_key(figure, shown, _is_drawn_as_map(answer, x))
        if with_caption:
            add_picture_title(figure, answer.learner, answer_facts(answer), answer.target)
        move_legends_off_curves(panels)
        return save_figure(figure, path)


def draw(
    result: Any,
    *,
    x: str | None = None,
    metric: GivenMetric = None,
    ax: Axes | None = None,
    patience: float = PATIENCE_SECONDS,
) -> Axes:
    """Draw one metric of an answer into ``ax``, or into a new pyplot figure; returns the axes.

    ``x`` is what was swept, ``step`` or ``direction``; ``metric`` by default the first that
    varies. ``patience`` is how many seconds the theory between the points of a curve may take.
    Of an explanation ``metric`` is ``staircase`` or ``grand_staircase``.
    """
    if isinstance(result, Explanation):
        return _draw_staircase(result, metric, ax)
    if isinstance(result, SpectrumComparison):
        with house_style():
            ax = ax or new_panel_axes()
            draw_with_outliers(ax, result)
        return ax
    shown = _drawn_numbers(result, x, metric)
    names = unique(number.metric for number in shown)
    if not names:
        raise GiantstepError("there is no number to draw")
    if metric is not None and len(names) > 1:
        raise GiantstepError(f"metric = {metric!r}: one picture has one metric, draw them in turn")
    own = [number for number in shown if number.metric == names[0]]
    x = _drawn_axis(result, own, x)
    is_map = _is_drawn_as_map(result, x)
    # One map is of one direction: the first.
    part = next(_drawn_parts(result, x, own)) if is_map else ()
    own, titles = _drawn_of(own, names[0], part), [_title(part)] if part else []
    with house_style():
        ax = ax or new_panel_axes()
        _draw(ax, result, own, _drawn_line(result, x, patience).of(names[0], ()), x)
        if any(n.mean == n.mean for n in own) and any(n.theory == n.theory for n in own):
            titles.append(f"dots: simulation, {'colours' if is_map else 'lines'}: theory")
        ax.set_title("; ".join(titles))
        move_legends_off_curves([ax])
    return ax


def _draw_staircase(found: Explanation, metric: GivenMetric, ax: Axes | None) -> Axes:
    drawings = {"staircase": draw_leaps, "grand_staircase": draw_classes}
    name = "staircase" if metric is None else str(metric)
    if name not in drawings:
        raise GiantstepError(f"metric = {metric!r}: use {' or '.join(drawings)}")
    with house_style():
        ax = ax or new_panel_axes()
        drawings[name](ax, found)
    return ax


def _drawn_numbers(answer: Answer, x: str | None, metric: GivenMetric) -> list[Datum]:
    """What is drawn: of a grid the last step, of a single point every step if there are more."""
    chosen = shown_metrics(answer, metric)
    if (answer.axes and x != STEP) or (metric is not None and "[" in str(metric)):
        return _drawn_after_all_steps(chosen.shown or chosen.constant)
    kept = unique(number.metric for number in chosen.shown)
    order = {name: i for i, name in enumerate(kept)}
    every = [number for number in answer.numbers() if number.metric in kept]
    both = [n for n in every if n.mean == n.mean and n.theory == n.theory]
    return sorted(both or every, key=lambda number: order[number.metric])


def _drawn_after_all_steps(numbers: Sequence[Datum]) -> list[Datum]:
    """Where the number of steps was swept, what holds after all of them, without the step."""
    return [
        n._replace(place=tuple(pair for pair in n.place if pair[0] != STEP))
        if "steps" in n.at
        else n
        for n in numbers
        if n.at.get(STEP) in (None, n.at.get("steps", n.at.get(STEP)))
    ]


def _drawn_of(numbers: Sequence[Datum], metric: str, part: Place) -> list[Datum]:
    """The numbers of a metric that stand at that part of the grid, their places without it."""
    names = [name for name, _ in part]
    return [
        n._replace(place=tuple(pair for pair in n.place if pair[0] not in names))
        for n in numbers
        if n.metric == metric and all(n.at.get(name, at) == at for name, at in part)
    ]


def _drawn_axis(answer: Answer, shown: Sequence[Datum], x: str | None) -> str | None:
    """The axis to draw along: as asked for, the longest that was swept, else steps or times."""
    known = unique(axis for number in shown for axis in number.at)
    if x is not None and x not in known:
        raise GiantstepError(f"x = {x!r} is no axis of this result: use {', '.join(known)}")
    if x is not None:
        return x
    if answer.axes:
        return max(answer.axes, key=lambda name: len(answer.axes[name]))
    several = [axis for axis in known if len({n.at.get(axis) for n in shown}) > 1]
    return next((axis for axis in (STEP, TIME) if axis in several), None)


def _other_drawn_axes(answer: Answer, x: str | None) -> list[str]:
    """What was swept beside the axis of the picture, the longest first."""
    return sorted(
        (name for name in answer.axes if name != x), key=lambda name: -len(answer.axes[name])
    )


def _drawn_parts(answer: Answer, x: str | None, shown: Sequence[Datum]) -> Iterator[Place]:
    """Every combination of what neither the axis of the picture nor its colours show."""
    rest = {name: list(answer.axes[name].labels) for name in _other_drawn_axes(answer, x)[1:]}
    if _is_drawn_as_map(answer, x):
        # Curves tell directions apart by colours; a map has none left.
        for name in unique(axis for n in shown for axis in n.at if axis not in answer.axes):
            if len(own := unique(n.at[name] for n in shown if name in n.at)) > 1:
                rest[name] = own
    for values in itertools.product(*rest.values()):
        yield tuple(zip(rest, values, strict=True))


def _title(part: Place) -> str:
    return drawn_literal(", ".join(named_answer_coordinate(axis, at) for axis, at in part))


class Line(NamedTuple):
    """Theory between the points: its numbers, and where their labels stand."""

    numbers: list[Datum]
    positions: Mapping[Any, float]

    def of(self, metric: str, part: Place) -> Line:
        """What belongs to one panel."""
        return Line(_drawn_of(self.numbers, metric, part), self.positions)


def _drawn_line(answer: Answer, x: str | None, patience: float = PATIENCE_SECONDS) -> Line:
    """The theory between the points along the axis of the picture."""
    if x is None or x not in answer.axes or not answer.predictions or _is_drawn_as_map(answer, x):
        return Line([], {})
    dense = ask_theory_between(answer, x, patience=patience)
    return (
        Line([], {})
        if dense is None
        else Line(_drawn_after_all_steps(list(dense.numbers())), dense.axes[x].of)
    )


def _is_drawn_as_map(answer: Answer, x: str | None) -> bool:
    up = [answer.axes[name] for name in _other_drawn_axes(answer, x)][:1]
    return x in answer.axes and any(each.ticks is None and len(each) > MOST_CURVES for each in up)


def _draw(panel: Any, answer: Answer, shown: Sequence[Datum], line: Line, x: str | None) -> None:
    """Curves along the axis of the picture, or a map; without an axis, dots place by place."""
    if all(np.isnan(n.mean) and np.isnan(n.theory) for n in shown):
        panel.set_axis_off()
        panel.text(0.5, 0.5, "there is no finite number here", ha="center", va="center")
        return
    # A metric such as the exit time has no place along the times of the others.
    if x is None or any(x not in number.at for number in shown):
        panel.set_ylabel(drawn_metric_label(shown[0].metric))
        _draw_places(panel, shown)
        return
    if _is_drawn_as_map(answer, x):
        _draw_map(panel, answer.axes[x], answer.axes[_other_drawn_axes(answer, x)[0]], shown)
        return
    panel.set_ylabel(drawn_metric_label(shown[0].metric))
    axis = answer.axes.get(x) or Axis(x, tuple(unique(n.at[x] for n in shown)))
    _label_panel_axis(panel, axis, "x")
    curves, dense = _curves(shown, x), _curves(line.numbers, x)
    named = _named_drawn_curves(list(curves))
    for number, (place, curve) in enumerate(curves.items()):
        colour = COLOURS[number % len(COLOURS)]
        at = [axis.of[n.at[x]] for n in curve]
        line_at, line_of = at, [n.theory for n in curve]
        if smooth := dense.get(place):
            line_at = [line.positions[n.at[x]] for n in smooth]
            line_of = [n.theory for n in smooth]
        style: dict[str, Any] = {"marker": "_", "markersize": 18} if len(line_at) == 1 else {}
        predicted = not np.all(np.isnan(line_of))
        if predicted:
            draw_line(panel, line_at, line_of, colour, named[place], **style)
        mean, sem = [n.mean for n in curve], np.nan_to_num([n.sem for n in curve])
        if not np.all(np.isnan(mean)):
            label = None if predicted else named[place]
            panel.errorbar(at, mean, sem, fmt="o", color=colour, capsize=2, label=label)
    if _draw_chance(panel, answer, shown[0].metric, axis) or len(curves) > 1:
        panel.legend()


def _draw_chance(panel: Any, answer: Answer, metric: str, axis: Axis) -> bool:
    """The overlap of a random vector, where the dimension is known and the same along a curve."""
    power = {"overlap": -0.5, "overlap_squared": -1.0}.get(metric)
    dims: set[Any] = {getattr(question.settings, "dim", None) for question in answer.questions}
    if power is None or None in dims or (len(dims) > 1 and axis.name != "dim"):
        return False
    style = {"color": GREY, "linestyle": ":", "linewidth": 1.0}
    label = "chance, $1/\\sqrt{d}$" if power == -0.5 else "chance, $1/d$"
    if axis.name == "dim":
        at = np.sort(axis.numbers)
        panel.plot(at, at**power, label=label, **style)
    else:
        panel.axhline(float(dims.pop()) ** power, label=label, **style)
    return True


def _draw_map(panel: Any, across: Axis, up: Axis, shown: Sequence[Datum]) -> None:
    """Contours of theory, and simulations as dots in the same colours."""
    from matplotlib.ticker import MaxNLocator

    at = {(n.at[across.name], n.at[up.name]): n for n in shown if across.name in n.at}
    grid = np.full((2, len(up), len(across)), np.nan)
    for j, above in enumerate(up.labels):
        for i, beside in enumerate(across.labels):
            if (beside, above) in at:
                grid[:, j, i] = at[beside, above].theory, at[beside, above].mean
    theory, mean = grid[:, np.argsort(up.numbers)][:, :, np.argsort(across.numbers)]
    x, y = np.sort(across.numbers), np.sort(up.numbers)
    low, high = np.nanmin(grid), np.nanmax(grid)
    high = high if high > low else low + 1.0
    drawn, colours = None, {"cmap": "viridis", "vmin": low, "vmax": high}
    if not np.isnan(theory).all():
        levels = MaxNLocator(12).tick_values(low, high)
        drawn = panel.contourf(x, y, theory, levels=levels, **colours)
    if not np.isnan(mean).all():
        beside, above = np.meshgrid(x, y)
        edge = "white" if drawn is not None else "none"
        look = {"edgecolors": edge, "s": 22, "clip_on": False, "zorder": 3}
        dots = panel.scatter(beside, above, c=mean, **look, **colours)
        drawn = drawn or dots
    panel.grid(False)
    for axis, side in ((across, "x"), (up, "y")):
        _label_panel_axis(panel, axis, side)
    panel.figure.colorbar(drawn, ax=panel, label=drawn_literal(drawn_metric_label(shown[0].metric)))


def _label_panel_axis(panel: Any, axis: Axis, side: str) -> None:
    """The name of an axis, its scale, and the ticks of what is no number."""
    panel.set(**{f"{side}label": drawn_axis_label(axis)})
    panel.set(**{f"{side}scale": "log" if axis.is_logarithmic else "linear"})
    if axis.ticks is not None or axis.name in (STEP, "steps"):
        ticks = [drawn_literal(str(label)) for label in axis.labels]
        panel.set(**{f"{side}ticks": list(axis.numbers), f"{side}ticklabels": ticks})
    elif axis.is_logarithmic and max(axis.numbers) < 100 * min(axis.numbers):
        ticks_by_decades(getattr(panel, f"{side}axis"), min(axis.numbers), max(axis.numbers))


def _draw_places(panel: Any, shown: Sequence[Datum]) -> None:
    names = [legend_label(number.place) for number in shown]
    at = range(len(shown))
    panel.plot(
        at, [n.theory for n in shown], color=COLOURS[0], marker="_", markersize=18, linestyle=""
    )
    mean, sem = [n.mean for n in shown], np.nan_to_num([n.sem for n in shown])
    panel.errorbar(at, mean, sem, fmt="o", color=COLOURS[0], capsize=2)
    panel.set_xticks(list(at), names)
    panel.set_xlim(-0.6, len(shown) - 0.4)


def _curves(shown: Sequence[Datum], axis: str) -> dict[Place, list[Datum]]:
    """The numbers along an axis, by the rest of their places."""
    curves: dict[Place, list[Datum]] = {}
    for number in shown:
        if axis in number.at:
            rest = tuple(pair for pair in number.place if pair[0] != axis)
            curves.setdefault(rest, []).append(number)
    return curves


def _named_drawn_curves(places: Sequence[Place]) -> dict[Place, str]:
    """Names of curves: what tells them apart, and the step where it is beyond the first."""
    coordinates: dict[str, set[Any]] = {}
    for place in places:
        for axis, at in place:
            coordinates.setdefault(axis, set()).add(at)
    kept = [a for a, own in coordinates.items() if len(own) > 1 or (a == STEP and max(own) > 1)]
    return {p: legend_label(tuple(pair for pair in p if pair[0] in kept)) for p in places}


def _draw_legend_key(figure: Figure, shown: Sequence[Datum], is_map: bool) -> None:
    """What lines and dots are, for the whole picture; nothing where there is one kind alone."""
    from matplotlib.lines import Line2D

    if not any(n.mean == n.mean for n in shown) or not any(n.theory == n.theory for n in shown):
        return
    if is_map:
        figure.supxlabel("colours: theory, dots: simulation", fontsize=8)
        return
    theory = Line2D([], [], color="black")
    simulation = Line2D([], [], color="black", marker="o", linestyle="")
    figure.legend(
        [theory, simulation], ["theory", "simulation"], loc="outside lower center", ncols=2
    )
