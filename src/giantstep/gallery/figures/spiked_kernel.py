"""Which degrees a kernel learns as a spike in the inputs grows.

Excess risk of ridge regression with the kernel exp(<x, x'>/d) on inputs whose first direction has
variance 1 + d^gamma, for targets of degree 1, 2 and 3 in that direction; n = d, ridge 0.01. Lines:
theory, up to terms of order 1/d, for which the claim about degrees 1 and 2 allows 5 %; dots:
{seeds} simulations at d = 300. Nothing is claimed of the dots of degree 3. Degree k is learned once
gamma exceeds 1 - 1/k (dotted): sharply as d grows, hardly visibly at d = 300.
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
from giantstep.gallery.style import COLOURS, GREY
from giantstep.settings.kernel import Kernel

DEGREES = {"h1": 1, "He2(h1)/sqrt(2)": 2, "He3(h1)/sqrt(6)": 3}
DIMENSIONS = {300: "$d = 300$", 10**6: "$d = 10^6$", 10**24: "$d = 10^{24}$"}


def rows(sizes: Sizes, bench: Workbench) -> Tables:
    """Test errors by dimension, degree and exponent of the spike."""
    found = bench.curve(
        ["test_error"],
        Kernel(dim=list(DIMENSIONS), samples="1d", ridge=0.01),
        list(DEGREES),
        Along("inputs", "spiked:d^{:g}".format, "exponent", (0.02, 0.82)),
        sizes,
        dots_alone={"dim": [min(DIMENSIONS)]},
    )
    yield found.assign(dim=found.dim.astype(float), degree=found.target.map(DEGREES))


def draw(table: DataFrame) -> Picture:
    """One panel per dimension, one line per degree."""
    figure, panels = overlay_panels(
        table,
        Side("exponent", r"exponent $\gamma$ of the spike $d^\gamma$"),
        Side("test_error", "test error"),
        panels=("dim", DIMENSIONS),
        curves=("degree", {degree: f"degree {degree}" for degree in DEGREES.values()}),
        legend="above",
    )
    for panel in panels:
        panel.axhline(0, color=GREY, linewidth=0.8)
        for degree, colour in ((2, COLOURS[1]), (3, COLOURS[2])):
            draw_guide(panel, f"$1 - 1/{degree}$", x=1 - 1 / degree, colour=colour)
    return figure


def claims(table: DataFrame) -> dict[str, bool]:
    """Degree k is learned once the exponent exceeds 1 - 1/k."""
    far = table[table.dim == 1e24]
    found = {
        "each dot of degrees 1 and 2 is within 4 standard errors plus 5 % of its line": (
            on_panel_line(table[table.degree < 3], "test_error", errors=4, relative=0.05)
        )
    }
    for degree in (2, 3):
        risk = far[far.degree == degree].set_index("exponent")["test_error.theory"]
        threshold = 1 - 1 / degree
        found[f"degree {degree} is unlearned below its threshold and learned above, d = 1e24"] = (
            risk[risk.index < threshold - 0.12].min() > 0.9
            and risk[risk.index > threshold + 0.08].max() < 0.1
        )
    near = table[(table.dim == 300) & (table.degree == 2) & table.test_error.isna()]
    risk = near.set_index("exponent")["test_error.theory"].sort_index()
    found["at d = 300 degree 2 is half learned already at gamma = 0.4, and not yet at 0.6"] = (
        risk[risk.index < 0.43].iloc[-1] < 0.9 and risk[risk.index > 0.57].iloc[0] > 0.1
    )
    return found


REFERENCES = cite("ba-2023")
SIZES = figure_sizes(points=(9, 33, 65), dots=(2, 7, 15), seeds=(2, 6, 30))
