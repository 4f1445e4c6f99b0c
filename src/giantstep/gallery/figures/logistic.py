"""Convex losses other than the square: logistic and hinge.

Labels sign(h1), fitted on random features erf(z/sqrt 2), p = 2d, d = {dim}, by the logistic and the
hinge loss with two ridges. Above: share of wrong signs on fresh data; below: training loss. Where
the data can be separated the loss with a small ridge is almost zero. Lines: limit of large d
(replica); dots: {seeds} simulations with standard errors. Finite d shifts the dots by order 1/d,
for which the claim allows 3 %.
"""

from __future__ import annotations

from giantstep.bibliography import cite
from giantstep.gallery.figure import Along, DataFrame, Picture, Sizes, Workbench
from giantstep.gallery.panels import lay_over, on_the_line, ticks_at
from giantstep.gallery.style import COLOURS, new_figure
from giantstep.settings.options import Values
from giantstep.settings.random_features import RandomFeatures

LOSSES = ("logistic", "hinge")
RIDGES = {0.001: "ridge 0.001", 0.1: "ridge 0.1"}
FEWEST, MOST = 0.5, 6.0


def rows(sizes: Sizes, bench: Workbench) -> DataFrame:
    """Errors and training losses by loss, ridge and samples."""
    import numpy as np

    line, dots = (np.geomspace(FEWEST, MOST, n).round(4) for n in (sizes.points, sizes.dots))
    settings = RandomFeatures(
        loss=Values(LOSSES), ridge=list(RIDGES), activation="erf2", width="2d", dim=sizes.dim
    )
    along = Along("samples", "{:g}d".format, "ratio")
    metrics = ("test_error", "train_loss")
    return bench.curve(metrics, settings, "sign(h1)", along, line, dots, seeds=sizes.seeds)


def draw(table: DataFrame) -> Picture:
    """One column per loss: the share of wrong signs above, the training loss below."""
    figure, panels = new_figure(7.0, 5.2, nrows=2, ncols=2, sharex=True, sharey="row")
    for column, loss in enumerate(LOSSES):
        for (ridge, label), colour in zip(RIDGES.items(), COLOURS, strict=False):
            here = table[(table.loss == loss) & (table.ridge == ridge)]
            lay_over(panels[0, column], here, "ratio", "test_error", colour, label)
            lay_over(panels[1, column], here, "ratio", "train_loss", colour, label)
        panels[0, column].set_title(f"{loss} loss")
        panels[1, column].set(xlabel="samples / d", xscale="log")
        ticks_at(panels[1, column].xaxis, [0.5, 1, 2, 4, 6])
    panels[0, 0].set_ylabel("share of wrong signs")
    panels[1, 0].set_ylabel("training loss")
    panels[0, 0].legend(loc="upper right")
    return figure


def claims(table: DataFrame) -> dict[str, bool]:
    """Dots on the lines; more samples help."""
    lines = table[table.test_error.isna()].sort_values("ratio")
    falls = [
        part["test_error.theory"].is_monotonic_decreasing
        for _, part in lines[lines.ridge == max(RIDGES)].groupby("loss")
    ]
    return {
        "each share of wrong signs is within 4 standard errors plus 3 % of its line": on_the_line(
            table, "test_error", errors=4, relative=0.03
        ),
        "with the larger ridge more samples always help": all(falls),
    }


REFERENCES = cite("2002.09339", "2102.08127")
SIZES = {
    "reduced": Sizes(points=4, dots=2, dim=100, seeds=6),
    "quick": Sizes(points=13, dots=4, dim=150, seeds=8),
    "full": Sizes(points=31, dots=7, dim=300, seeds=16),
}
