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
from giantstep.gallery.figure import Along, DataFrame, Picture, Sizes, Workbench
from giantstep.gallery.panels import lay_over, on_the_line
from giantstep.gallery.style import COLOURS, new_figure
from giantstep.settings.giant_step import GiantStep

STEPS = 2
SETTINGS = GiantStep(samples="4d", steps=STEPS, width="8")


def rows(sizes: Sizes, bench: Workbench) -> DataFrame:
    """Overlaps with h1 by dimension and step size, in our unit and in the other one."""
    import numpy as np
    import pandas

    line, dots = (np.geomspace(0.1, 5.0, count).round(4) for count in (sizes.points, sizes.dots))
    dims = pandas.DataFrame({"dim": sizes.dims})
    found = bench.curve(
        ["overlap"],
        SETTINGS,
        "h1 + h1*h2",
        Along("step_size", "{:g}".format, "step_size"),
        np.unique([*line, *dots]),
        dots,
        dots_alone={"dim": list(sizes.dims)},
        verbs=(SIMULATE,),
        seeds=sizes.seeds,
    )
    found = found[(found.step == STEPS) & (found.direction == "h1")]
    limit = found.loc[found.overlap.isna(), ["step_size", "overlap.theory"]]
    simulated = found[found.overlap.notna()].drop(columns="overlap.theory")
    table = limit.merge(dims, how="cross").merge(simulated, how="left", on=["dim", "step_size"])
    return table.assign(learning_rate=table.dim * table.step_size)


def draw(table: DataFrame) -> Picture:
    """The same runs over our unit and over the other one."""
    figure, (left, right) = new_figure(7.8, 3.4, ncols=2, sharey=True)
    first = table[table.dim == table.dim.min()]
    left.plot(first.step_size, first["overlap.theory"], color="black", label="limit of large $d$")
    for dim, colour in zip(sorted(table.dim.unique()), COLOURS, strict=False):
        here = table[table.dim == dim]
        lay_over(
            left, here.drop(columns="overlap.theory"), "step_size", "overlap", colour, f"$d={dim}$"
        )
        lay_over(right, here, "learning_rate", "overlap", colour)
    for panel in (left, right):
        panel.set_xscale("log")
    left.set(
        title="our unit", xlabel="step size", ylabel="overlap with $h_1$ (cosine)", ylim=(0, 0.85)
    )
    right.set(
        title=r"rate for weights of size 1, inputs over $\sqrt{d}$",
        xlabel=r"learning rate $= d \times$ step size",
    )
    left.legend(loc="upper left")
    return figure


def claims(table: DataFrame) -> dict[str, bool]:
    """One curve in our unit, several in the other."""
    dots = table.dropna(subset="overlap")
    best = dots.loc[dots.groupby("dim").overlap.idxmax()].set_index("dim")
    dims = table.dim.unique()
    return {
        "each dot is within 5 standard errors plus 0.02 of the limit": on_the_line(
            table, "overlap", errors=5, allowance=0.02
        ),
        "in our unit the curves for all d lie within 0.1 of one another": bool(
            _spread(dots, "step_size") < 0.1
        ),
        "in the other unit they are over 0.3 apart": bool(_spread(dots, "learning_rate") > 0.3),
        "in the other unit the best learning rate grows with d": bool(
            best.learning_rate[max(dims)] > 3 * best.learning_rate[min(dims)]
        ),
    }


def _spread(dots: DataFrame, unit: str) -> float:
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
SIZES = {
    "reduced": Sizes(points=5, dots=5, dims=(256, 4096), seeds=8),
    "quick": Sizes(points=17, dots=9, dims=(256, 512, 1024, 2048, 4096), seeds=8),
    "full": Sizes(points=33, dots=17, dims=(256, 512, 1024, 2048, 4096), seeds=64),
}
