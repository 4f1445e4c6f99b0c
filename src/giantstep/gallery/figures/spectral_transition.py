"""An eigenvector finds the direction as soon as message passing can.

Squared cosine between the target's direction and the top eigenvector of the matrix sum_i T(y_i) x_i
x_i^T with the optimal T(y) = 1 - 1/E[h^2 | y], against the samples, for three even targets. Lines:
limit of large d; dots: {seeds} simulations at d = {dim}. Dotted: where message passing leaves zero;
the optimal spectral method does so at the same place. Just below it, eigenvectors at finite d keep
a little overlap; the claim allows 0.06 for that.
"""

from __future__ import annotations

from giantstep.bibliography import cite
from giantstep.gallery.figure import (
    Along,
    DataFrame,
    Picture,
    Sizes,
    Tables,
    Workbench,
    figure_sizes,
)
from giantstep.gallery.panels import Side, draw_guide, on_panel_line, overlay_panels
from giantstep.gallery.style import COLOURS
from giantstep.language.problem import Problem
from giantstep.settings.spectral import Spectral
from giantstep.theory.amp.phases import linear_threshold

TARGETS = {"h1^2": "$h^2$", "step(1 - |h1|)": "$1_{|h| < 1}$", "He4(h1)": "$\\mathrm{He}_4(h)$"}


def rows(sizes: Sizes, bench: Workbench) -> Tables:
    """Overlaps along the samples, in the limit and simulated."""
    along = Along("samples", "{:g}d".format, "alpha", (0.2, 4.0))
    found = bench.curve(["overlap_squared"], Spectral(dim=sizes.dim), list(TARGETS), along, sizes)
    thresholds = {target: linear_threshold(Problem.of(target)) for target in TARGETS}
    yield found.assign(threshold=found.target.map(thresholds))


def draw(table: DataFrame) -> Picture:
    """One line per target, its transition dotted."""
    figure, (panel,) = overlay_panels(
        table,
        Side("alpha", r"samples per dimension $\alpha = n/d$"),
        Side("overlap_squared", "squared cosine with the direction", limits=(-0.03, 1.03)),
        curves=("target", TARGETS),
        legend="lower right",
    )
    thresholds = table.groupby("target").threshold.first()
    for target, colour in zip(TARGETS, COLOURS, strict=False):
        draw_guide(panel, f"{thresholds[target]:.3g}", x=thresholds[target], colour=colour)
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
        "away from it, dots lie within 4 standard errors plus 0.06 of the line": on_panel_line(
            away, "overlap_squared", errors=4, allowance=0.06
        ),
    }


REFERENCES = cite("1708.05932", "2405.15480")
SIZES = figure_sizes(points=(5, 39, 77), dots=(3, 8, 16), dim=(150, 500, 2000), seeds=(6, 6, 12))
