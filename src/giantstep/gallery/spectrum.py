"""A spectrum: the predicted bulk over simulated values, without bins too, and the outliers."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from giantstep.answer.words import question_facts
from giantstep.asking.spectra import SpectrumComparison
from giantstep.gallery.panels import ticks_by_decades
from giantstep.gallery.paper import add_picture_title
from giantstep.gallery.style import COLOURS, GREY, Size, house_style, new_figure, save_figure

if TYPE_CHECKING:
    import pandas

_NAMES = {"weights": "singular value of W", "features": r"eigenvalue of $\Phi^T\Phi/d$"}
#: From this ratio of its edges on, a bulk is drawn on a logarithmic axis.
WIDE = 30
_SHOWN = (
    "target",
    "activation",
    "dim",
    "samples",
    "readout_samples",
    "width",
    "step_size",
    "spike",
)


def draw_spectrum(
    comparison: SpectrumComparison,
    path: Path,
    *,
    with_caption: bool = True,
    size: Size | None = None,
) -> Path:
    """Three panels: density, cumulative share, and the values beyond the bulk.

    ``size`` is one or two columns of a paper; one column has the panels below one another.
    """
    with house_style(size):
        figure, panels = new_figure(9.0, 3.3, ncols=3, width_ratios=(3, 3, 2))
        _draw_density(panels[0], comparison)
        _draw_cumulative(panels[1], comparison)
        _draw_outliers(panels[2], comparison)
        if not with_caption:
            return save_figure(figure, path)
        known = question_facts(comparison.settings, comparison.problem)
        shown = {name: known[name] for name in _SHOWN if known.get(name) is not None}
        steps = getattr(comparison.settings, "steps", 1)
        title = f"{comparison.kind} after {'one step' if steps == 1 else f'{steps} steps'}"
        add_picture_title(figure, title, shown, comparison.problem.target)
        return save_figure(figure, path)


def _is_wide_in_picture(comparison: SpectrumComparison) -> bool:
    """Whether the bulk spans so much that it is better seen by decades."""
    low, high = comparison.prediction.bulk_edges
    return 0 < low < high / WIDE


def _drawn_density(comparison: SpectrumComparison) -> tuple[np.ndarray, np.ndarray]:
    """The predicted density, per decade where the bulk is wide."""
    x, y = comparison.prediction.x, comparison.prediction.density
    return x, y * (np.log(10) * x if _is_wide_in_picture(comparison) else 1.0)


def _histogram(comparison: SpectrumComparison, bins: int = 40) -> tuple[np.ndarray, np.ndarray]:
    """Edges and heights of the simulated bulk, in the unit of :func:`_drawn_density`."""
    low, high = comparison.prediction.bulk_edges
    wide = _is_wide_in_picture(comparison)
    edges = np.linspace(0, 1.05 * high, bins + 1)
    if wide:
        edges = np.geomspace(low / 1.3, 1.1 * high, bins + 1)
    values = np.concatenate([run.values for run in comparison.runs])
    counts, _ = np.histogram(values, edges)
    share = (1 - comparison.prediction.mass_at_zero) / np.sum(values > 1e-9)
    return edges, counts * share / np.diff(np.log10(edges) if wide else edges)


def spectrum_figure_table(comparison: SpectrumComparison) -> pandas.DataFrame:
    """Everything that is drawn of a spectrum, one line per point, named by ``series``."""
    import pandas

    x, y = _drawn_density(comparison)
    curves = comparison.cumulative()
    outliers = [v for v in comparison.prediction.outliers if np.isfinite(v)]
    parts: list[dict[str, Any]] = [
        {"series": "density", "x": x, "y": y},
        {"series": "cumulative theory", "x": curves["x"], "y": curves["predicted"]},
        {"series": "outlier", "x": outliers, "rank": range(1, len(outliers) + 1)},
    ]
    if comparison.runs:
        edges, heights = _histogram(comparison)
        leading = comparison.leading
        error = leading.std(axis=0, ddof=1) / np.sqrt(len(leading)) if len(leading) > 1 else np.nan
        ranks = range(1, leading.shape[1] + 1)
        parts += [
            {"series": "histogram", "x": (edges[1:] + edges[:-1]) / 2, "y": heights},
            {"series": "cumulative", "x": curves["x"], "y": curves["simulated"].mean(axis=0)},
            {"series": "leading", "x": leading.mean(axis=0), "sem": error, "rank": ranks},
        ]
    frames = [pandas.DataFrame(part) for part in parts if len(part["x"])]
    return pandas.concat(frames, ignore_index=True).reindex(
        columns=["series", "rank", "x", "y", "sem"]
    )


def draw_bulk(
    panel: Any, table: pandas.DataFrame, colour: str = COLOURS[0], name: str = ""
) -> None:
    """The predicted density over a histogram of all runs, of a table of one spectrum."""
    line, bars = (table[table.series == series] for series in ("density", "histogram"))
    shade = {"color": colour if name else GREY, "alpha": 0.25, "linewidth": 0}
    label = None if name else "simulation"
    panel.fill_between(bars.x, bars.y, step="mid", label=label if len(bars) else None, **shade)
    panel.plot(line.x, line.y, color=colour, label=name or "theory")
    # A further bulk in the panel may be higher.
    panel.set_ylim(bottom=0, auto=True)


def draw_largest(panel: Any, table: pandas.DataFrame, beyond: float = 0.0) -> None:
    """On the floor of a density: outliers dotted where theory puts them, dots simulated."""
    for value in table[table.series == "outlier"].x:
        panel.axvline(value, color=COLOURS[0], linestyle=":", label="outlier, theory")
    largest = table[(table.series == "leading") & (table.x > beyond)]
    if len(largest):
        floor = [0.04 * panel.get_ylim()[1]] * len(largest)
        style = {"fmt": "o", "color": COLOURS[1], "zorder": 3, "label": "largest, simulated"}
        panel.errorbar(largest.x, floor, xerr=largest["sem"], **style)


def _draw_density(panel: Any, comparison: SpectrumComparison) -> None:
    """The predicted density over a histogram of all runs."""
    draw_bulk(panel, spectrum_figure_table(comparison))
    wide = _is_wide_in_picture(comparison)
    if wide:
        panel.set_xscale("log")
        ticks_by_decades(panel.xaxis, *panel.get_xlim())
    panel.set(xlabel=_NAMES[comparison.kind], ylabel="density per decade" if wide else "density")
    panel.legend(loc="best" if wide else "upper right")


def draw_with_outliers(panel: Any, comparison: SpectrumComparison) -> None:
    """The density, and on its floor the outliers: lines predicted, dots simulated."""
    _draw_density(panel, comparison)
    draw_largest(panel, spectrum_figure_table(comparison), comparison.prediction.bulk_edges[1])
    panel.legend()


def _draw_cumulative(panel: Any, comparison: SpectrumComparison) -> None:
    curves = comparison.cumulative()
    panel.plot(curves["x"], curves["predicted"], color=COLOURS[0], label="theory")
    if comparison.runs:
        some = slice(None, None, 12)
        panel.plot(
            curves["x"][some],
            curves["simulated"].mean(axis=0)[some],
            "o",
            color=COLOURS[1],
            markersize=3.5,
            label="simulation",
        )
    panel.set(xlabel=_NAMES[comparison.kind], ylabel="share of values below")
    panel.legend(loc="lower right")


def _draw_outliers(panel: Any, comparison: SpectrumComparison) -> None:
    """Largest values by rank, those too that grow with d."""
    edge, table = comparison.prediction.bulk_edges[1], spectrum_figure_table(comparison)
    values, leading = comparison.prediction.outliers, table[table.series == "leading"]
    predicted = table[table.series == "outlier"]
    finite, ranks = predicted.x, predicted["rank"]
    panel.axhline(edge, color=GREY, linestyle="--", linewidth=1, label="edge of the bulk")
    if len(finite):
        panel.hlines(finite, ranks - 0.35, ranks + 0.35, color=COLOURS[0], label="theory")
    if len(leading):
        style = {"fmt": "o", "color": COLOURS[1], "capsize": 2, "label": "simulation"}
        panel.errorbar(leading["rank"], leading.x, leading["sem"], **style)
    unbounded = [rank for rank, value in enumerate(values, 1) if math.isinf(value)]
    if unbounded:
        above = 1.5 * max([edge, *finite, *leading.x])
        marks = {"marker": "^", "linestyle": "none", "color": COLOURS[0]}
        panel.plot(unbounded, [above] * len(unbounded), label="theory, grows with d", **marks)
        panel.set_ylim(0, 1.5 * above)
    if not values:
        panel.set_title("no outlier is predicted")
    count = max(len(values), len(leading), 1)
    panel.set(xticks=range(1, 1 + count), xlim=(0.4, count + 0.6))
    if finite.max() > 10 * edge:
        panel.set_yscale("log")
    panel.set(xlabel="rank", ylabel="largest values")
    panel.legend(loc="upper right")
