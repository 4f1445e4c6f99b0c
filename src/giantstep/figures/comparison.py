"""A simulation laid over its prediction: dots with error bars on lines."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from giantstep.errors import NoTheory
from giantstep.figures.style import COLOURS, house_style, new_figure, save
from giantstep.places import STEP, words
from giantstep.results import described, unique
from giantstep.sweep import Positions, Sweep
from giantstep.twins.comparison import Comparison, Line, swept_lines

#: More panels than this do not fit a page; the table has every metric.
MOST_PANELS = 4
#: Theory, mean and standard error of a line.
_DRAWN = ("prediction", "mean", "sem")
_CAPTION = ("target", "activation", "dim", "samples", "width", "step_size", "ridge")


def draw_comparison(comparison: Comparison | Sweep[Comparison], path: Path) -> Path:
    """One panel a metric. The horizontal axis is what was swept, else the step, else the place."""
    sweep = comparison if isinstance(comparison, Sweep) else None
    lines = list(swept_lines(comparison) if isinstance(comparison, Sweep) else comparison.lines())
    names = unique(line.metric for line in lines)[:MOST_PANELS]
    if not names:
        raise NoTheory("simulation and prediction share no metric: there is nothing to lay over")
    width = max(3.3 * len(names) + 0.6, 5.0)
    with house_style():
        figure, panels = new_figure(width, 3.8, ncols=len(names), squeeze=False)
        for panel, name in zip(panels[0], names, strict=True):
            _draw_metric(panel, [line for line in lines if line.metric == name], sweep)
            panel.set_ylabel(name.replace("_", " "))
        figure.legend(*_key(), loc="outside lower center", ncols=2)
        caption = "\n".join(textwrap.wrap(_caption(comparison), int(15 * width)))
        figure.suptitle(caption, fontsize=8)
        return save(figure, path)


def _draw_metric(panel: Any, lines: Sequence[Line], sweep: Sweep[Comparison] | None) -> None:
    """Curves over the swept values or over the steps; without either, dots place by place."""
    steps = unique(dict(line.place)[STEP] for line in lines if STEP in dict(line.place))
    curves = _curves(lines, STEP if sweep is None else sweep.axis)
    if sweep is not None:
        positions = sweep.positions
        panel.set_xscale("log" if positions.is_logarithmic else "linear")
    elif len(steps) > 1:
        positions = Positions("giant steps", steps)
    else:
        curves = {"": [(words(line.place), line) for line in lines]}
        positions = Positions("", list(dict(curves[""])))
    panel.set_xlabel(positions.label)
    if sweep is None or positions.ticks is not None:
        panel.set_xticks(list(positions.of.values()), [str(value) for value in positions.of])
    for colour, (name, curve) in zip(_colours(len(curves)), curves.items(), strict=True):
        at = [positions.of[value] for value, _ in curve]
        theory, mean, sem = ([getattr(line, part) for _, line in curve] for part in _DRAWN)
        connected = len(at) > 1 and positions.label != ""
        style = {} if connected else {"marker": "_", "markersize": 18, "linestyle": ""}
        panel.plot(at, theory, color=colour, label=name, **style)
        panel.errorbar(at, mean, np.nan_to_num(sem), fmt="o", color=colour, capsize=2)
    if len(curves) > 1:
        panel.legend(loc="best")


def _curves(lines: Sequence[Line], axis: str) -> dict[str, list[tuple[Any, Line]]]:
    """The lines along an axis with their values on it, by the rest of their places in words."""
    curves: dict[str, list[tuple[Any, Line]]] = {}
    for line in lines:
        rest = tuple(pair for pair in line.place if pair[0] != axis)
        curves.setdefault(words(rest), []).append((dict(line.place).get(axis), line))
    return curves


def _colours(count: int) -> list[str]:
    return [COLOURS[k % len(COLOURS)] for k in range(count)]


def _key() -> tuple[list[Any], list[str]]:
    """What lines and dots are, for the legend of the whole picture."""
    from matplotlib.lines import Line2D

    theory = Line2D([], [], color="black")
    simulation = Line2D([], [], color="black", marker="o", linestyle="")
    return [theory, simulation], ["theory", "simulation"]


def _caption(comparison: Comparison | Sweep[Comparison]) -> str:
    if isinstance(comparison, Sweep):
        about, first = described(comparison), comparison.points[0]
        fields: Mapping[str, Any] = {**about["settings"], **about["problem"]}
        fields = {name: value for name, value in fields.items() if name != comparison.axis}
    else:
        first, fields = comparison, {**comparison.settings, **comparison.problem}
    parts = [
        f"{name.replace('_', ' ')} {fields[name]}"
        for name in _CAPTION
        if fields.get(name) is not None
    ]
    return f"{first.learner}: {', '.join(parts)} ({first.settings['seeds']} seeds)"
