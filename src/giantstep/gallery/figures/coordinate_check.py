"""In the right unit of step size, curves for growing d are one curve.

Root mean square cosine of the neurons with h1 after two giant steps on y = h1 + h1 h2, over the
step size: n = 4d, 8 relu neurons. Left, in our unit (a neuron of norm 1 moves by step size times
the mean gradient): curves for all d collapse, so a step size tuned at small d holds at large d.
Right, the same runs over the learning rate that does the same for weights with entries of size 1
and inputs divided by sqrt(d): the best one grows with d. Line: limit of large d; dots: {seeds}
simulations, exact in law, with standard errors. At the smallest d they differ from the limit by a
term of order 1/d, for which the claim allows 0.02.
"""

from __future__ import annotations

from giantstep.asking.verbs import SIMULATE
from giantstep.gallery.figure import (
    Along,
    DataFrame,
    Picture,
    Sizes,
    Tables,
    Workbench,
    figure_sizes,
)
from giantstep.gallery.panels import Side, curves_by_dimension, draw_curves, on_panel_line
from giantstep.gallery.style import new_figure
from giantstep.settings.giant_step import GiantStep

STEPS = 2
SETTINGS = GiantStep(samples="4d", steps=STEPS, width="8")


def rows(sizes: Sizes, bench: Workbench) -> Tables:
    """Overlaps with h1 by dimension and step size, in our unit and in the other one."""
    import numpy as np
    import pandas

    along = Along("step_size", "{:g}".format, "step_size", (0.1, 5.0), ratios=True)
    line, dots = along.places(sizes.points), along.places(sizes.dots)
    found = bench.curve(
        ["overlap"],
        SETTINGS,
        "h1 + h1*h2",
        along,
        Sizes(points=np.unique([*line, *dots]), dots=dots, seeds=sizes.seeds),
        dots_alone={"dim": list(sizes.dims)},
        verbs=(SIMULATE,),
    )
    found = found[(found.step == STEPS) & (found.direction == "h1")]
    limit = found.loc[found.overlap.isna(), ["step_size", "overlap.theory"]]
    simulated = found[found.overlap.notna()].drop(columns="overlap.theory")
    dims = pandas.DataFrame({"dim": sizes.dims})
    table = limit.merge(dims, how="cross").merge(simulated, how="left", on=["dim", "step_size"])
    yield table.assign(learning_rate=table.dim * table.step_size)


def draw(table: DataFrame) -> Picture:
    """The same runs over our unit and over the other one."""
    figure, (left, right) = new_figure(7.4, 3.6, ncols=2, sharey=True)
    overlap = Side("overlap", "overlap with $h_1$ (cosine)", limits=(0, 0.85))
    dims = curves_by_dimension(*sorted(table.dim.unique()))
    first = table[table.dim == table.dim.min()]
    left.plot(first.step_size, first["overlap.theory"], color="black", label="limit of large $d$")
    dots = table.drop(columns="overlap.theory")
    draw_curves(left, dots, Side("step_size", "step size", "log"), overlap, dims)
    rate = Side("learning_rate", r"learning rate $= d \times$ step size", "log")
    draw_curves(right, table, rate, overlap, dims)
    left.set_title("our unit")
    right.set_title(r"rate for weights of size 1, inputs over $\sqrt{d}$")
    left.legend(loc="upper left")
    return figure


def claims(table: DataFrame) -> dict[str, bool]:
    """One curve in our unit, several in the other."""
    dots = table.dropna(subset="overlap")
    best = dots.loc[dots.groupby("dim").overlap.idxmax()].set_index("dim")
    dims = table.dim.unique()
    return {
        "each dot is within 5 standard errors plus 0.02 of the limit": on_panel_line(
            table, "overlap", errors=5, allowance=0.02
        ),
        "in our unit the curves for all d lie within 0.1 of one another": bool(
            _drawn_gap(dots, "step_size") < 0.1
        ),
        "in the other unit they are over 0.3 apart": bool(_drawn_gap(dots, "learning_rate") > 0.3),
        "in the other unit the best learning rate grows with d": bool(
            best.learning_rate[max(dims)] > 3 * best.learning_rate[min(dims)]
        ),
    }


def _drawn_gap(dots: DataFrame, unit: str) -> float:
    """The largest gap between two dimensions' curves where both are known."""
    import numpy as np

    curves = [np.array([part[unit], part.overlap]) for _, part in dots.groupby("dim")]
    low, high = max(x[0] for x, _ in curves), min(x[-1] for x, _ in curves)
    places = np.geomspace(low, high, 50)
    heights = [np.interp(np.log(places), np.log(x), y) for x, y in curves]
    return float(np.max(np.ptp(heights, axis=0)))


REFERENCES = (
    "Dandi et al. 2023, arXiv:2305.18270",
    "Yang et al. 2022, arXiv:2203.03466 (coordinate check)",
)
SIZES = figure_sizes(
    points=(5, 17, 33),
    dots=(5, 9, 17),
    dims=((256, 4096), (256, 512, 1024, 2048, 4096), (256, 512, 1024, 2048, 4096)),
    seeds=(8, 8, 64),
)
