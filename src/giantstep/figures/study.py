"""Any study, drawn: a metric along one axis, dots with error bars on lines of theory."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from giantstep.errors import GiantstepError
from giantstep.figures.style import COLOURS, house_style, new_figure, save
from giantstep.studies.results import Results
from giantstep.sweep import Positions

if TYPE_CHECKING:
    import pandas

#: More curves than this cannot be told apart, whatever their colours.
MOST_CURVES = 24


def draw_study(
    results: Results, path: Path, *, x: str | None = None, metric: str | None = None
) -> Path:
    """Draw ``metric`` along the axis ``x``; each combination of the other axes is a curve.

    Unless told, the axis is the longest one and the metric the first that has a prediction.
    """
    table = results.summary()
    axes = list(results.definition()["axes"])
    x, metric = _axis(x, axes, table), _metric(metric, axes, table)
    others = [axis for axis in axes if axis != x]
    curves = [((), table)] if not others else list(table.groupby(others, sort=False))
    if len(curves) > MOST_CURVES:
        raise GiantstepError(
            f"{len(curves)} curves are too many for one picture: fix an axis, "
            f"or choose --x among {', '.join(axes)}"
        )
    with house_style():
        figure, panel = new_figure()
        positions = Positions(x, list(dict.fromkeys(table[x])))
        for colour, (values, curve) in zip(_colours(len(curves)), curves, strict=True):
            label = _literal(", ".join(map(str, values)))
            at = np.array([positions.of[value] for value in curve[x]])
            _draw_curve(panel, at, curve, metric, colour, label)
        panel.set_xlabel(_literal(positions.label))
        if positions.ticks is not None:
            panel.set_xticks(
                list(positions.of.values()), [_literal(tick) for tick in positions.ticks]
            )
        elif positions.is_logarithmic:
            panel.set_xscale("log")
        panel.set_ylabel(_literal(_words(metric)))
        if others:
            panel.legend(loc="best", title=", ".join(map(_words, others)))
        panel.set_title(f"{_literal(results.name)}: dots simulation, lines theory")
        return save(figure, path)


def _draw_curve(
    panel: Any, at: np.ndarray, curve: pandas.DataFrame, metric: str, colour: str, label: str
) -> None:
    simulated = metric in curve
    if f"{metric}.theory" in curve:
        name = "_nolegend_" if simulated else label
        panel.plot(at, curve[f"{metric}.theory"], color=colour, label=name)
    if simulated:
        panel.errorbar(
            at,
            curve[metric],
            curve[f"{metric}.sem"].fillna(0.0) if f"{metric}.sem" in curve else None,
            fmt="o",
            color=colour,
            capsize=2,
            label=label,
        )


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


def _metric(given: str | None, axes: list[str], table: pandas.DataFrame) -> str:
    metrics = [*dict.fromkeys(name.partition(".")[0] for name in table if name not in axes)]
    if not metrics:
        raise GiantstepError("no cell of the study is done yet: there is nothing to draw")
    if given is None:
        return next((name for name in metrics if f"{name}.theory" in table), metrics[0])
    if given not in metrics:
        raise GiantstepError(f"--metric = {given!r} is unknown: use {', '.join(metrics)}")
    return given


def _colours(count: int) -> list[Any]:
    """The palette of the house; beyond it, a scale from dark to light."""
    if count <= len(COLOURS):
        return list(COLOURS[:count])
    import matplotlib as mpl

    return list(mpl.colormaps["viridis"](np.linspace(0, 0.9, count)))


def _words(name: str) -> str:
    return name.replace("_", " ")


def _literal(text: str) -> str:
    """The text as it is: a dollar sign in it begins no mathematics, and it stays on one line."""
    return "".join(c if c.isprintable() else "?" for c in text).replace("$", r"\$")
