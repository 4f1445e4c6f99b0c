"""Which degrees a kernel learns as a spike in the inputs grows.

Excess risk of ridge regression with the kernel exp(<x, x'>/d) on inputs whose first direction has
variance 1 + d^gamma, for targets of degree 1, 2 and 3 in that direction; n = d, ridge 0.01. Lines:
theory, up to terms of order 1/d, for which the claim about degrees 1 and 2 allows 5 %; dots:
{seeds} simulations at d = 300. Nothing is claimed of the dots of degree 3. Degree k is learned once
gamma exceeds 1 - 1/k (dotted): sharply as d grows, hardly visibly at d = 300.
"""

from __future__ import annotations

from giantstep.bibliography import cite
from giantstep.gallery.figure import Along, DataFrame, Picture, Sizes, Workbench
from giantstep.gallery.panels import lay_over, on_the_line
from giantstep.gallery.style import COLOURS, GREY, new_figure
from giantstep.settings.kernel import Kernel

DEGREES = {"h1": 1, "He2(h1)/sqrt(2)": 2, "He3(h1)/sqrt(6)": 3}
DIMENSIONS = {300: "$d = 300$", 10**6: "$d = 10^6$", 10**24: "$d = 10^{24}$"}


def rows(sizes: Sizes, bench: Workbench) -> DataFrame:
    """Test errors by dimension, degree and exponent of the spike."""
    import numpy as np

    line, dots = (np.linspace(0.02, 0.82, n).round(4) for n in (sizes.points, sizes.dots))
    found = bench.curve(
        ["test_error"],
        Kernel(dim=list(DIMENSIONS), samples="1d", ridge=0.01),
        list(DEGREES),
        Along("inputs", "spiked:d^{:g}".format, "exponent"),
        line,
        dots,
        dots_alone={"dim": [min(DIMENSIONS)]},
        seeds=sizes.seeds,
    )
    return found.assign(dim=found.dim.astype(float), degree=found.target.map(DEGREES))


def draw(table: DataFrame) -> Picture:
    """One panel per dimension, one line per degree."""
    figure, panels = new_figure(8.4, 3.6, ncols=len(DIMENSIONS), sharey=True)
    for panel, (dim, label) in zip(panels, DIMENSIONS.items(), strict=True):
        for degree, colour in zip(DEGREES.values(), COLOURS, strict=False):
            here = table[(table.dim == float(dim)) & (table.degree == degree)]
            lay_over(panel, here, "exponent", "test_error", colour, f"degree {degree}")
            if degree > 1:
                panel.axvline(1 - 1 / degree, color=colour, linestyle=":", linewidth=1)
        panel.axhline(0, color=GREY, linewidth=0.8)
        panel.set(title=label, xlabel=r"exponent $\gamma$ of the spike $d^\gamma$")
    panels[0].set_ylabel("test error")
    panels[-1].legend(loc="center left", bbox_to_anchor=(0.05, 0.5))
    return figure


def claims(table: DataFrame) -> dict[str, bool]:
    """Degree k is learned once the exponent exceeds 1 - 1/k."""
    far = table[table.dim == 1e24]
    found = {
        "each dot of degrees 1 and 2 is within 4 standard errors plus 5 % of its line": on_the_line(
            table[table.degree < 3], "test_error", errors=4, relative=0.05
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
SIZES = {
    "reduced": Sizes(points=9, dots=2, seeds=2),
    "quick": Sizes(points=33, dots=7, seeds=6),
    "full": Sizes(points=65, dots=15, seeds=30),
}
