"""Kernel regression learns degree k from d^k samples.

Excess test error of ridge regression with the kernel exp(<x, x'>/d) from n = d^kappa samples on the
sphere of radius sqrt(d); ridge 0.1; the target is a sum of degrees 1, 2 and 3 of one direction in
equal shares. Lines: deterministic equivalent at dimension d, dashed where d is too large to
simulate; dots: {seeds} simulations with standard errors. The equivalent leaves out terms of order
1/d and 1/n; its claim allows 0.02 for them. As d grows the curve approaches stairs (dotted): degree
k is learned once n exceeds d^k, however few directions the target has, because a kernel does not
find them.
"""

from __future__ import annotations

from giantstep.bibliography import cite
from giantstep.gallery.figure import Along, DataFrame, Picture, Sizes, Workbench
from giantstep.gallery.panels import lay_over, on_the_line
from giantstep.gallery.style import COLOURS, GREY, new_figure
from giantstep.language.problem import Problem
from giantstep.settings.kernel import Kernel

DEGREES = 3
TARGET = "(h1 + He2(h1)/sqrt(2) + He3(h1)/sqrt(6))/sqrt(3)"
#: Dimensions that are simulated; the larger shows the first stair, the smaller reaches the second.
SIMULATED = (20, 100)
LABELS = {
    20: "$d = 20$",
    100: "$d = 100$",
    10**6: "$d = 10^6$, theory only",
    10**12: "$d = 10^{12}$, theory only",
}


def rows(sizes: Sizes, bench: Workbench) -> DataFrame:
    """Test errors by dimension and exponent of the samples."""
    import numpy as np
    import pandas

    parts = []
    line = np.linspace(0.4, DEGREES + 0.75, sizes.points).round(4)
    for dim in LABELS:
        dots = np.linspace(0.6, np.log(sizes.most) / np.log(dim), sizes.dots).round(4)
        part = bench.curve(
            ["test_error"],
            Kernel(dim=dim, ridge=0.1, kernel="exp"),
            Problem.of(TARGET, inputs="sphere"),
            Along("samples", "d^{:g}".format, "kappa"),
            line,
            dots if dim in SIMULATED else (),
            seeds=sizes.seeds,
        )
        parts.append(part.assign(dim=float(dim)))
    return pandas.concat(parts, ignore_index=True)


def draw(table: DataFrame) -> Picture:
    """One line per dimension, and the stairs that they approach."""
    figure, panel = new_figure(5.8, 4.1)
    levels = [1 - degree / DEGREES for degree in range(DEGREES + 1)]
    edges = [0.3, *range(1, DEGREES + 1), DEGREES + 0.8]
    panel.stairs(levels, edges, color=GREY, linestyle=":", linewidth=1.2, baseline=None)
    for (dim, label), colour in zip(LABELS.items(), COLOURS, strict=False):
        style = "-" if dim in SIMULATED else "--"
        here = table[table.dim == float(dim)]
        lay_over(panel, here, "kappa", "test_error", colour, label, linestyle=style)
    for degree in range(1, DEGREES + 1):
        panel.text(
            degree,
            1.02,
            f"$n = d^{degree}$".replace("^1", ""),
            transform=panel.get_xaxis_transform(),
            ha="center",
        )
    panel.set(
        xlim=(0.3, DEGREES + 0.8),
        xlabel=r"exponent $\kappa$ of the samples $n = d^\kappa$",
        ylabel="test error",
    )
    panel.legend(loc="lower left")
    return figure


def claims(table: DataFrame) -> dict[str, bool]:
    """Dots on the line; stairs as d grows."""
    lines = table[table.test_error.isna()].pivot_table("test_error.theory", "kappa", "dim")
    middle = [lines.index[abs(lines.index - (k + 0.5)).argmin()] for k in range(DEGREES)]
    gaps = {
        dim: max(abs(lines[dim][kappa] - 1 + k / DEGREES) for k, kappa in enumerate(middle))
        for dim in lines
    }
    return {
        "each dot is within 5 standard errors plus 0.02 of its line": on_the_line(
            table, "test_error", errors=5, allowance=0.02
        ),
        "half-way up each stair, the largest d is within 0.01 of its height": (
            gaps[float(max(LABELS))] < 0.01
        ),
        "the two larger d are nearer to the stairs than the two smaller": (
            max(list(gaps.values())[2:]) < min(list(gaps.values())[:2])
        ),
    }


REFERENCES = cite("1904.12191", "2101.10588")
SIZES = {
    "reduced": Sizes(points=15, dots=3, most=250, seeds=8),
    "quick": Sizes(points=71, dots=7, most=1200, seeds=8),
    "full": Sizes(points=141, dots=11, most=4000, seeds=12),
}
