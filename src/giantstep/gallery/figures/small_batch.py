"""Below n = d^leap one giant step learns nothing, whatever its size.

Root mean square cosine of 32 relu neurons with the direction of y = He2(h), a target of leap 2,
after one step, against its size. Left: from n = d^1.5 samples the overlap falls as d grows at every
step size; a larger step only adds noise. Right: from n = d^2 it stays. Lines: theory at dimension
d, dashed where d is too large to simulate; dots: root mean square over {seeds} simulations, exact
in law, with standard errors. The claim allows 5 % for what theory leaves out at finite d; at d =
64, where a few large labels make the noise, dots lie up to 13 % below the line, and nothing is
claimed of them.
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
from giantstep.gallery.panels import Side, curves_by_dimension, on_panel_line, overlay_panels
from giantstep.settings.giant_step import GiantStep

#: Samples of the two panels, below and at the power that leap 2 asks for.
SAMPLES = {"d^1.5": "$n = d^{1.5}$", "d^2": "$n = d^2$"}
SIMULATED = (64, 256)
BEYOND = (10**5, 10**8)


def rows(sizes: Sizes, bench: Workbench) -> Tables:
    """Overlaps after one step by samples, dimension and step size in units of d^(1/2)."""
    found = bench.curve(
        ["overlap"],
        GiantStep(dim=[*SIMULATED, *BEYOND], samples=list(SAMPLES), width="32"),
        "He2(h1)",
        Along("step_size", "{:g}*d^0.5".format, "size", (0.25, 64.0), ratios=True),
        sizes,
        dots_alone={"dim": list(SIMULATED)},
        root_mean_square=True,
    )
    yield found[found.step == 1].rename(columns={"samples": "batch"})


def draw(table: DataFrame) -> Picture:
    """One panel per batch, one line per dimension."""
    return overlay_panels(
        table,
        Side("size", r"step size / $\sqrt{d}$", "log2"),
        Side("overlap", "overlap with $h$ (cosine)", limits=(0, 0.8)),
        panels=("batch", SAMPLES),
        curves=curves_by_dimension(*SIMULATED, *BEYOND),
        legend="upper left",
    )[0]


def claims(table: DataFrame) -> dict[str, bool]:
    """Dots on the lines; the best overlap falls below the power, and stays at it."""
    best = table.groupby(["batch", "dim"])["overlap.theory"].max()
    small, enough = best["d^1.5"], best["d^2"]
    far = max(BEYOND)
    return {
        "beyond d = 64 each dot is within 4 standard errors plus 5 % of its line": on_panel_line(
            table[table.dim > 64], "overlap", errors=4, relative=0.05
        ),
        "from d^1.5 samples the best step size reaches less and less as d grows, to nothing": bool(
            small.sort_index().is_monotonic_decreasing and small[far] < 0.02
        ),
        "from d^2 samples it reaches the same at any d beyond 1e5": bool(
            abs(enough[far] / enough[min(BEYOND)] - 1) < 0.03 and enough[far] > 0.3
        ),
    }


REFERENCES = cite("2305.18270")
SIZES = figure_sizes(points=(9, 41, 81), dots=(3, 5, 9), seeds=(8, 16, 64))
