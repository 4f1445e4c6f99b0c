"""Any study, drawn: a metric along one axis, dots with error bars on lines of theory."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from giantstep.errors import GiantstepError, SettingsError
from giantstep.figures.style import COLOURS, house_style, new_figure, save
from giantstep.sizes import Size
from giantstep.studies.results import Results

if TYPE_CHECKING:
    import pandas

#: More curves than this cannot be told apart, whatever their colours.
MOST_CURVES = 24
#: From this ratio of last to first on, an axis is logarithmic.
LOG_RATIO = 50


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
        positions = Positions(list(dict.fromkeys(table[x])))
        for colour, (values, curve) in zip(_colours(len(curves)), curves, strict=True):
            label = ", ".join(map(str, values))
            at = np.array([positions.of[value] for value in curve[x]])
            _draw_curve(panel, at, curve, metric, colour, label)
        positions.prepare(panel, x)
        panel.set_ylabel(_words(metric))
        if others:
            panel.legend(loc="best", title=", ".join(map(_words, others)))
        panel.set_title(f"{results.name}: dots simulation, lines theory")
        return save(figure, path)


class Positions:
    """Where the values of an axis stand: numbers, multiples or powers of d, or one by one."""

    def __init__(self, values: Sequence[Any]) -> None:
        self.unit, self.ticks = "", None
        sizes = _sizes(values)
        if sizes is not None and len({size.power for size in sizes}) == 1:
            numbers = [size.coefficient for size in sizes]
            power = sizes[0].power
            self.unit = "" if power == 0 else " / d" if power == 1 else f" / d^{power:g}"
        elif sizes is not None and len({size.coefficient for size in sizes}) == 1:
            numbers = [size.power for size in sizes]
            self.unit = ", power of d"
        else:
            numbers = [float(i) for i in range(len(values))]
            self.ticks = [str(value) for value in values]
        self.of = dict(zip(values, numbers, strict=True))

    def prepare(self, panel: Any, name: str) -> None:
        """Label the axis, and make it logarithmic where its values ask for it."""
        panel.set_xlabel(_words(name) + self.unit)
        numbers = sorted(self.of.values())
        if self.ticks is not None:
            panel.set_xticks(list(self.of.values()), self.ticks)
        elif numbers[0] > 0 and numbers[-1] / numbers[0] > LOG_RATIO:
            panel.set_xscale("log")


def _sizes(values: Sequence[Any]) -> list[Size] | None:
    if all(isinstance(value, int | float) for value in values):
        return [Size(float(value)) for value in values]
    try:
        return [Size.parse(value) for value in values]
    except SettingsError:
        return None


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
