"""Convex losses other than the square: logistic and hinge.

Labels sign(h1), fitted on random features erf(z/sqrt 2), p = 2d, d = {dim}, by the logistic and the
hinge loss with two ridges. Left: share of wrong signs on fresh data; right: training loss. Where
the data can be separated the loss with a small ridge is almost zero. Lines: limit of large d
(replica); dots: {seeds} simulations with standard errors. Finite d shifts the dots by order 1/d,
for which the claim allows 3 %.
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
from giantstep.gallery.panels import Side, on_panel_line, overlay_panels
from giantstep.settings.options import Values
from giantstep.settings.random_features import RandomFeatures

LOSSES = ("logistic", "hinge")
RIDGES = {0.001: "ridge 0.001", 0.1: "ridge 0.1"}


def rows(sizes: Sizes, bench: Workbench) -> Tables:
    """Errors and training losses by loss, ridge and samples."""
    settings = RandomFeatures(
        loss=Values(LOSSES), ridge=list(RIDGES), activation="erf2", width="2d", dim=sizes.dim
    )
    along = Along("samples", "{:g}d".format, "ratio", (0.5, 6.0), ratios=True)
    yield bench.curve(("test_error", "train_loss"), settings, "sign(h1)", along, sizes)


def draw(table: DataFrame) -> Picture:
    """The share of wrong signs and the training loss; one colour per loss and ridge."""
    names = {loss + text: f"{loss}, {text}" for loss in LOSSES for text in RIDGES.values()}
    return overlay_panels(
        table.assign(curve=table.loss + table.ridge.map(RIDGES)),
        Side("ratio", "samples / $d$", "log", ticks=[0.5, 1, 2, 4, 6]),
        Side("test_error", "share of wrong signs"),
        Side("train_loss", "training loss"),
        curves=("curve", names),
        legend="above",
    )[0]


def claims(table: DataFrame) -> dict[str, bool]:
    """Dots on the lines; more samples help."""
    lines = table[table.test_error.isna()].sort_values("ratio")
    falls = [
        part["test_error.theory"].is_monotonic_decreasing
        for _, part in lines[lines.ridge == max(RIDGES)].groupby("loss")
    ]
    return {
        "each share of wrong signs is within 4 standard errors plus 3 % of its line": on_panel_line(
            table, "test_error", errors=4, relative=0.03
        ),
        "with the larger ridge more samples always help": all(falls),
    }


REFERENCES = cite("2002.09339", "2102.08127")
SIZES = figure_sizes(points=(4, 13, 31), dots=(2, 4, 7), dim=(100, 150, 300), seeds=(6, 8, 16))
