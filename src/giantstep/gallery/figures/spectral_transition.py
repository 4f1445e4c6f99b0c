"""An eigenvector finds the direction as soon as message passing can.

Squared cosine between the target's direction and the top eigenvector of the matrix sum_i T(y_i) x_i
x_i^T with the optimal T(y) = 1 - 1/E[h^2 | y], against the samples, for three even targets. Lines:
limit of large d; dots: {seeds} simulations at d = {dim}. Dotted: where message passing leaves zero;
the optimal spectral method does so at the same place. Just below it, eigenvectors at finite d keep
a little overlap; the claim allows 0.06 for that.
"""

from __future__ import annotations

from giantstep.bibliography import cite
from giantstep.gallery.figure import Along, DataFrame, Picture, Sizes, Workbench
from giantstep.gallery.panels import lay_over, on_the_line
from giantstep.gallery.style import COLOURS, new_figure
from giantstep.language.problem import Problem
from giantstep.settings.spectral import Spectral
from giantstep.theory.amp.phases import linear_threshold

TARGETS = {"h1^2": "$h^2$", "step(1 - |h1|)": "$1_{|h| < 1}$", "He4(h1)": "$\\mathrm{He}_4(h)$"}


def rows(sizes: Sizes, bench: Workbench) -> DataFrame:
    """Overlaps along the samples, in the limit and simulated."""
    import numpy as np

    line, dots = (np.linspace(0.2, 4.0, n).round(4) for n in (sizes.points, sizes.dots))
    along, targets = Along("samples", "{:g}d".format, "alpha"), list(TARGETS)
    found = bench.curve(
        ["overlap_squared"], Spectral(dim=sizes.dim), targets, along, line, dots, seeds=sizes.seeds
    )
    thresholds = {target: linear_threshold(Problem.of(target)) for target in TARGETS}
    return found.assign(threshold=found.target.map(thresholds))


def draw(table: DataFrame) -> Picture:
    """One line per target, its transition dotted."""
    figure, panel = new_figure(5.4, 3.9)
    for (target, label), colour in zip(TARGETS.items(), COLOURS, strict=False):
        part = table[table.target == target]
        lay_over(panel, part, "alpha", "overlap_squared", colour, label)
        panel.axvline(part.threshold.iloc[0], color=colour, linestyle=":", linewidth=1)
    panel.set(
        xlabel=r"samples per dimension $\alpha = n/d$",
        ylabel="squared cosine with the direction",
        ylim=(-0.03, 1.03),
    )
    panel.legend(loc="lower right")
    return figure


def claims(table: DataFrame) -> dict[str, bool]:
    """Nothing below the transition, and dots on the line away from it."""
    dots = table.dropna(subset="overlap_squared")
    line = table[table.overlap_squared.isna()]
    below, above = line[line.alpha < line.threshold], line[line.alpha > 1.05 * line.threshold]
    away = dots[(dots.alpha / dots.threshold - 1).abs() > 0.3]
    return {
        "theory: no overlap below the transition of message passing, some above": bool(
            (below["overlap_squared.theory"] == 0).all()
            and (above["overlap_squared.theory"] > 0).all()
        ),
        "away from it, dots lie within 4 standard errors plus 0.06 of the line": on_the_line(
            away, "overlap_squared", errors=4, allowance=0.06
        ),
    }


REFERENCES = cite("1708.05932", "2405.15480")
SIZES = {
    "reduced": Sizes(points=5, dots=3, dim=150, seeds=6),
    "quick": Sizes(points=39, dots=8, dim=500, seeds=6),
    "full": Sizes(points=77, dots=16, dim=2000, seeds=12),
}
