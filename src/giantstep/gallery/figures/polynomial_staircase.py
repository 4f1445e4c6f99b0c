"""Kernel regression learns degree k from d^k samples.

Excess test error of ridge regression with the kernel exp(<x, x'>/d) from n = d^kappa samples on the
sphere of radius sqrt(d); ridge 0.1; the target is a sum of degrees 1, 2 and 3 of one direction in
equal shares. Lines: theory, dashed where d is too large to simulate; dots: {seeds} simulations.
Dotted: the stairs that the curve approaches as d grows: degree k is learned once n exceeds d^k,
however few directions the target has, because a kernel does not find them. The theory is a
deterministic equivalent, which leaves out terms of order 1/d and 1/n; its claim allows 0.02 for
them.
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
from giantstep.gallery.panels import (
    Side,
    curves_by_dimension,
    draw_mark,
    on_panel_line,
    overlay_panels,
)
from giantstep.gallery.style import GREY
from giantstep.language.problem import Problem
from giantstep.settings.kernel import Kernel

DEGREES = 3
TARGET = "(h1 + He2(h1)/sqrt(2) + He3(h1)/sqrt(6))/sqrt(3)"
#: Dimensions that are simulated; the larger shows the first stair, the smaller reaches the second.
SIMULATED = (20, 100)
BEYOND = (10**6, 10**12)


def rows(sizes: Sizes, bench: Workbench) -> Tables:
    """Test errors by dimension and exponent of the samples."""
    import math

    for dim in (*SIMULATED, *BEYOND):
        along = Along("samples", "d^{:g}".format, "kappa", (0.4, DEGREES + 0.75))
        most = math.log(sizes.most) / math.log(dim)
        dots = along._replace(ends=(0.6, most)).places(sizes.dots) if dim in SIMULATED else ()
        part = bench.curve(
            ["test_error"],
            Kernel(dim=dim, ridge=0.1, kernel="exp"),
            Problem.of(TARGET, inputs="sphere"),
            along,
            Sizes(points=sizes.points, dots=dots, seeds=sizes.seeds),
        )
        yield part.assign(dim=float(dim))


def draw(table: DataFrame) -> Picture:
    """One line per dimension, and the stairs that they approach."""
    figure, (panel,) = overlay_panels(
        table,
        Side("kappa", r"exponent $\kappa$ of the samples $n = d^\kappa$", limits=(0.3, 3.8)),
        Side("test_error", "test error"),
        curves=curves_by_dimension(*SIMULATED, *BEYOND),
    )
    levels = [1 - degree / DEGREES for degree in range(DEGREES + 1)]
    stairs = {"color": GREY, "linestyle": ":", "linewidth": 1.2, "baseline": None}
    panel.stairs(levels, [0.3, 1, 2, 3, 3.8], label="limit of large $d$", **stairs)
    for degree in range(1, DEGREES + 1):
        draw_mark(panel, "$n = d$" if degree == 1 else f"$n = d^{degree}$", degree)
    panel.legend(loc="lower left")
    return figure


def claims(table: DataFrame) -> dict[str, bool]:
    """Dots on the line; stairs as d grows."""
    lines = table[table.test_error.isna()].pivot_table("test_error.theory", "kappa", "dim")
    middle = [lines.index[abs(lines.index - (k + 0.5)).argmin()] for k in range(DEGREES)]
    gaps = [
        max(abs(lines[dim][kappa] - 1 + k / DEGREES) for k, kappa in enumerate(middle))
        for dim in sorted(lines)
    ]
    return {
        "each dot is within 5 standard errors plus 0.02 of its line": on_panel_line(
            table, "test_error", errors=5, allowance=0.02
        ),
        "half-way up each stair, the largest d is within 0.01 of its height": gaps[-1] < 0.01,
        "the two larger d are nearer to the stairs than the two smaller": (
            max(gaps[2:]) < min(gaps[:2])
        ),
    }


REFERENCES = cite("1904.12191", "2101.10588")
SIZES = figure_sizes(
    points=(15, 71, 141), dots=(3, 7, 11), most=(250, 1200, 4000), seeds=(8, 8, 12)
)
