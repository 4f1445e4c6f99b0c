"""A grand staircase: message passing and its state evolution.

Bayes-optimal message passing for h1^2 + sign(h1 h2 h3). Left: overlaps; right: mean square error of
the posterior mean on fresh data. Lines: state evolution; dots: {seeds} runs at d = {dim} (squares:
d = {small}) from a small random start, with standard errors. Dotted: weak recovery of h1 at 0.575,
of h2 and h3, given h1, at pi^2/4. The overlap with h1 jumps to 1 at 1.40. Close to a transition
runs at finite d scatter, and approach the line as d grows; away from it a shift of order 1/d is
left, for which the claim allows 0.05.
"""

from __future__ import annotations

from giantstep.bibliography import cite
from giantstep.gallery.figure import DataFrame, Picture, Sizes, Tables, Workbench, figure_sizes
from giantstep.gallery.message_panels import draw_message_panels, message_figure_table
from giantstep.gallery.panels import on_panel_line

TARGET = "h1^2 + sign(h1*h2*h3)"


def rows(sizes: Sizes, bench: Workbench) -> Tables:
    """Overlaps and test error by samples per dimension; both thresholds are on every line."""
    from giantstep.language.targets import Target
    from giantstep.theory.learnability.thresholds import easy_thresholds

    stairs = easy_thresholds(Target(TARGET))
    first, second = (stair.alpha.value for stair in stairs if stair.alpha is not None)
    table = message_figure_table(TARGET, 6.0, [first, second], sizes, bench)
    yield table.assign(first=first, second=second)


def draw(table: DataFrame) -> Picture:
    """Overlaps on the left, test error on the right, both thresholds dotted."""
    return draw_message_panels(table, [table["first"].iloc[0], table.second.iloc[0]], 3.4)


def claims(table: DataFrame) -> dict[str, bool]:
    """Where each direction is found, and whether the runs agree between the transitions."""
    import numpy as np

    theory = table[table.dim.isna()].pivot_table("overlap_squared.theory", "alpha", "direction")
    first, second, alpha = theory.h1, theory.h2, theory.index
    rise = first.diff().max()
    at = first.diff().idxmax()
    dots = table[table.dim == table.dim.max()]
    settled = dots[dots.alpha.between(1.8, 2.2) | (dots.alpha > 3.4)]
    known, later = (settled[settled.direction == name] for name in ("h1", "h2"))
    return {
        "thresholds are 0.575 and pi^2/4": abs(table["first"].iloc[0] - 0.575166) < 2e-3
        and abs(table.second.iloc[0] - np.pi**2 / 4) < 2e-3,
        "h1 is recovered perfectly before h2 and h3 begin": bool(
            (first[alpha > 1.45] > 0.999).all()
            and (second[alpha < 2.4] < 1e-4).all()
            and (second[alpha > 2.8] > 0.05).all()
        ),
        "h1 jumps to 1 at 1.40": bool(rise > 0.12 and abs(at - 1.40) < 0.02),
        "runs at the larger d agree: h1 perfectly, h2 within 4 standard errors plus 0.05": bool(
            (known["overlap_squared"] - known["overlap_squared.theory"]).abs().max() < 1e-2
            and on_panel_line(later, "overlap_squared", errors=4, allowance=0.05)
        ),
    }


REFERENCES = cite("2405.15480")
SIZES = figure_sizes(
    points=(5, 12, 60),
    dots=((2.0,), (1.2, 2.0, 4.0), (0.4, 0.8, 1.0, 1.2, 1.6, 2.0, 3.0, 4.0, 5.0)),
    small=(80, 125, 150),
    dim=(80, 400, 400),
    seeds=(3, 4, 8),
)
