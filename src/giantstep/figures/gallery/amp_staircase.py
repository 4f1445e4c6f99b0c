"""Message passing on a grand staircase: the first direction opens the way to the two others."""

from __future__ import annotations

from typing import TYPE_CHECKING

from giantstep.figures.figure import Figure, Workbench
from giantstep.figures.message_panels import Sizes, lay_over_sizes, mark, message_curve
from giantstep.figures.style import COLOURS, GREY, new_figure

if TYPE_CHECKING:
    import pandas
    from matplotlib.figure import Figure as Picture

TARGET = "h1^2 + sign(h1*h2*h3)"


def rows(sizes: Sizes, bench: Workbench) -> pandas.DataFrame:
    """Overlaps and test error by samples per dimension; both thresholds are on every line."""
    from giantstep.targets import Target
    from giantstep.theory.learnability.thresholds import easy_thresholds

    stairs = easy_thresholds(Target(TARGET))
    first, second = (stair.alpha.value for stair in stairs if stair.alpha is not None)
    table = message_curve("amp-staircase", TARGET, 6.0, [first, second], sizes, bench)
    return table.assign(first=first, second=second)


def draw(table: pandas.DataFrame) -> Picture:
    """Overlaps on the left, test error on the right, both thresholds dotted."""
    figure, (left, right) = new_figure(7.0, 3.6, ncols=2)
    lay_over_sizes(left, table, "overlap_squared_1", COLOURS[0], "$h_1$")
    lay_over_sizes(left, table, "overlap_squared_2", COLOURS[2], "$h_2$")
    lay_over_sizes(left, table, "overlap_squared_3", COLOURS[3], "$h_3$", linestyle="--")
    lay_over_sizes(right, table, "test_error", COLOURS[1])
    thresholds = [table["first"].iloc[0], table.second.iloc[0]]
    mark(left, thresholds, "overlap squared", GREY)
    mark(right, thresholds, "test error", GREY)
    left.set_ylim(-0.03, 1.08)
    right.set_ylim(0, 3.4)
    left.legend(loc="center right")
    for alpha in thresholds:
        right.annotate(
            f"{alpha:.3f}", (alpha, 3.15), (3, 0), textcoords="offset points", color=GREY
        )
    return figure


def claims(table: pandas.DataFrame) -> dict[str, bool]:
    """Where each direction is found, and whether the runs agree between the transitions."""
    import numpy as np

    line = table.dropna(subset="overlap_squared_1.theory").sort_values("alpha")
    first, second = line["overlap_squared_1.theory"], line["overlap_squared_2.theory"]
    dots = table.dropna(subset="overlap_squared_1")
    dots = dots[dots.dim == dots.dim.max()]
    rise = first.diff().max()
    at = line.alpha[first.diff().idxmax()]
    settled = dots[dots.alpha.between(1.8, 2.2) | (dots.alpha > 3.4)]
    return {
        "thresholds are 0.575 and pi^2/4": abs(table["first"].iloc[0] - 0.575166) < 2e-3
        and abs(table.second.iloc[0] - np.pi**2 / 4) < 2e-3,
        "h1 is recovered perfectly before h2 and h3 begin": bool(
            (first[(line.alpha > 1.45)] > 0.999).all()
            and (second[line.alpha < 2.4] < 1e-4).all()
            and (second[line.alpha > 2.8] > 0.05).all()
        ),
        "h1 jumps to 1 at 1.40": bool(rise > 0.12 and abs(at - 1.40) < 0.02),
        "runs at the larger d agree: h1 perfectly, h2 within 4 standard errors plus 0.05": bool(
            len(settled) > 0
            and (
                (settled["overlap_squared_1"] - settled["overlap_squared_1.theory"]).abs() < 1e-2
            ).all()
            and (
                (settled["overlap_squared_2"] - settled["overlap_squared_2.theory"]).abs()
                < 4 * settled["overlap_squared_2.sem"] + 0.05
            ).all()
        ),
    }


FIGURE = Figure(
    name="amp-staircase",
    title="A grand staircase: message passing and its state evolution",
    caption="""Bayes-optimal message passing for h1^2 + sign(h1 h2 h3). Left: overlaps; right: mean
    square error of the posterior mean on fresh data. Lines: state evolution; dots: {seeds} runs at
    d = {dim} (squares: d = {small}) from a small random start, with standard errors. Dotted: weak
    recovery of h1 at 0.575, of h2 and h3, given h1, at pi^2/4. The overlap with h1 jumps to 1 at
    1.40. Close to a transition runs at finite d scatter, and approach the line as d grows; away
    from it a shift of order 1/d is left, for which the claim allows 0.05.""",
    references=("Troiani et al. 2024, arXiv:2405.15480",),
    sizes={
        "reduced": Sizes(points=5, dots=(2.0,), small=80, dim=80, seeds=3),
        "quick": Sizes(points=20, dots=(1.2, 2.0, 4.0), small=125, dim=400, seeds=4),
        "full": Sizes(
            points=60,
            dots=(0.4, 0.8, 1.0, 1.2, 1.6, 2.0, 3.0, 4.0, 5.0),
            small=150,
            dim=400,
            seeds=8,
        ),
    },
    rows=rows,
    draw=draw,
    claims=claims,
)
