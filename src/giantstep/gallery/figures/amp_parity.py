"""The parity of two directions: message passing and its state evolution.

Bayes-optimal message passing for sign(h1 h2). Left: overlap with each direction; right: mean square
error of the posterior mean on fresh data. Lines: state evolution; dots: {seeds} runs at d = {dim}
(squares: d = {small}) from a small random start, with standard errors. Dotted: the threshold pi^2/4
below which no fast algorithm is known to find anything. Close to it runs scatter, and nothing is
claimed; further away than 1.4 the claim allows 0.02 more than 4 standard errors for what finite d
leaves.
"""

from __future__ import annotations

from giantstep.bibliography import cite
from giantstep.gallery.figure import DataFrame, Picture, Sizes, Tables, Workbench, figure_sizes
from giantstep.gallery.message_panels import draw_message_panels, message_figure_table
from giantstep.gallery.panels import on_panel_line

TARGET = "sign(h1*h2)"
#: Closer to the transition than this, the size of a run decides where it gets.
FAR = 1.4


def rows(sizes: Sizes, bench: Workbench) -> Tables:
    """Overlap and test error by samples per dimension; the transition is on every line."""
    from giantstep.language.problem import Problem
    from giantstep.theory.amp.phases import linear_threshold

    threshold = linear_threshold(Problem.of(TARGET))
    table = message_figure_table(TARGET, 8.0, [threshold], sizes, bench)
    yield table.assign(threshold=threshold)


def draw(table: DataFrame) -> Picture:
    """Overlap on the left, test error on the right, the transition dotted in both."""
    return draw_message_panels(table, [table.threshold.iloc[0]], 1.08)


def claims(table: DataFrame) -> dict[str, bool]:
    """Where the overlap leaves zero, and whether the dots are on the line."""
    import numpy as np

    first = table[table.direction == "h1"]
    line = first[first.overlap_squared.isna()].sort_values("alpha")
    below, above = (line[line.alpha < 2.46], line[line.alpha > 2.6])
    runs = first.dropna(subset="overlap_squared")
    large = runs[runs.dim == runs.dim.max()]
    far = large[(large.alpha - large.threshold).abs() > FAR]
    return {
        "the transition is at pi^2/4": abs(table.threshold.iloc[0] - np.pi**2 / 4) < 1e-4,
        "the overlap is zero below it and grows above it": below["overlap_squared.theory"].max()
        < 1e-6
        and above["overlap_squared.theory"].is_monotonic_increasing
        and above["overlap_squared.theory"].min() > 0.02,
        "further than 1.4 from it, runs at the larger d are within 4 standard errors plus 0.02 of "
        "the lines": on_panel_line(far, "overlap_squared", errors=4, allowance=0.02)
        and on_panel_line(far, "test_error", errors=4, allowance=0.02),
    }


REFERENCES = cite("2405.15480", "1806.05451")
SIZES = figure_sizes(
    points=(17, 45, 120),
    dots=((1.0, 6.0), (1.0, 2.0, 3.0, 4.0, 5.0, 6.5), tuple(0.5 * k for k in range(2, 17))),
    small=(200, 150, 200),
    dim=(200, 300, 600),
    seeds=(3, 4, 8),
)
