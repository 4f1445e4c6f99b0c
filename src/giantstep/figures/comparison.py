"""A simulation laid over its prediction: dots with error bars on lines."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import Any

import numpy as np

from giantstep.errors import NoTheory
from giantstep.figures.style import COLOURS, house_style, new_figure, save
from giantstep.sizes import Size
from giantstep.twins.comparison import Comparison

#: More panels than this do not fit a page; the table has every metric.
MOST_PANELS = 4


def draw_comparison(comparison: Comparison, path: Path, axis: str | None = None) -> Path:
    """One panel a metric. The horizontal axis is the swept setting, else the step, else none."""
    names = [name for name in comparison.shared if np.size(comparison.prediction.metrics[name])]
    if not names:
        raise NoTheory("simulation and prediction share no metric: there is nothing to lay over")
    names = names[:MOST_PANELS]
    width = max(3.3 * len(names) + 0.6, 5.0)
    with house_style():
        figure, panels = new_figure(width, 3.8, ncols=len(names), squeeze=False)
        for panel, name in zip(panels[0], names, strict=True):
            _draw_metric(panel, comparison, name, axis)
        handles, labels = panels[0][0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=2)
        caption = "\n".join(textwrap.wrap(_caption(comparison, axis), int(15 * width)))
        figure.suptitle(caption, fontsize=8)
        return save(figure, path)


def _draw_metric(panel: Any, comparison: Comparison, name: str, axis: str | None) -> None:
    pair = comparison.pair(name)
    assert pair is not None, name
    mean, sem, theory = pair
    if theory.ndim == 0:
        theory, mean, sem = theory[None], mean[None], sem[None]
        panel.set_xticks([])
    positions = np.arange(len(theory), dtype=float)
    if axis is not None:
        positions, label = _sweep_positions(comparison, axis)
        panel.set_xlabel(label)
        if positions[0] > 0 and positions[-1] / positions[0] > 50:
            panel.set_xscale("log")
    elif len(theory) > 1:
        panel.set_xlabel("giant steps" if comparison.run.learner == "giant-step" else "index")
        panel.set_xticks(positions)
    columns = theory.reshape(len(theory), -1)
    for k in range(columns.shape[1]):
        colour = COLOURS[k % len(COLOURS)]
        suffix = f", direction {k + 1}" if columns.shape[1] > 1 else ""
        marker = {"marker": "_", "markersize": 18} if len(theory) == 1 else {}
        panel.plot(positions, columns[:, k], color=colour, label="theory" + suffix, **marker)
        panel.errorbar(
            positions,
            mean.reshape(len(theory), -1)[:, k],
            np.nan_to_num(sem.reshape(len(theory), -1)[:, k]),
            fmt="o",
            color=colour,
            capsize=2,
            label="simulation" + suffix,
        )
    panel.set_ylabel(name.replace("_", " "))


def _sweep_positions(comparison: Comparison, axis: str) -> tuple[np.ndarray, str]:
    values = comparison.run.settings[axis]
    if isinstance(values[0], int | float):
        return np.asarray(values, dtype=float), axis.replace("_", " ")
    sizes = [Size.parse(value) for value in values]
    unit = "" if sizes[0].power == 0 else f" / d^{sizes[0].power:g}".replace("d^1", "d")
    return np.array([size.coefficient for size in sizes]), axis.replace("_", " ") + unit


def _caption(comparison: Comparison, axis: str | None) -> str:
    shown = ("target", "activation", "dim", "samples", "width", "step_size", "ridge")
    settings = {**comparison.run.settings, **comparison.run.problem}
    parts = [
        f"{name.replace('_', ' ')} {settings[name]}"
        for name in shown
        if settings.get(name) is not None and name != axis
    ]
    seeds = len(next(iter(comparison.run.metrics.values())))
    return f"{comparison.run.learner}: {', '.join(parts)} ({seeds} seeds)"
