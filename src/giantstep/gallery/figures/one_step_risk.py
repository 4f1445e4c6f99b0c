"""The test error drops: random features against one giant step.

Excess test error against the samples of the readout fit, before and after one giant step of size 3
on 20 d other samples; target sin(h1), tanh, p = d, a = 1, ridge 0.1. Lines: exact in the limit of
large d. Symbols: direct simulation at d = {small} (squares) and at d = {large} (dots), {seeds}
seeds. One step leaves the kernel regime: on this target it beats every linear predictor (dashed),
which random features cannot do at any n proportional to d. Dotted: bounds on what the best ridge
can reach. The theory that dots are held against leaves out terms of order 1/d^2: the claim allows 3
% for them.
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
    draw_linear_floor,
    on_panel_line,
    overlay_panels,
)
from giantstep.gallery.style import GREY, legend_above
from giantstep.settings.giant_step import GiantStep

#: The network of all figures of the error: only what they vary differs.
STEP = GiantStep(
    activation="tanh", readout="ones", samples="20d", step_size=3, width="1d", ridge=0.1
)
METRICS = ("test_error", "random_features_error", "bound_upper", "bound_lower", "linear_floor")
#: Smallest n/d that is simulated: with fewer, single runs scatter too widely for a standard error.
FEWEST = 0.6


NAMES = {"after": "one giant step", "before": "random features"}


def rows(sizes: Sizes, bench: Workbench) -> Tables:
    """Errors of random features and of one step, in the limit and simulated at two dimensions."""
    import numpy as np

    along = Along("readout_samples", "{:g}d".format, "ratio", (FEWEST, 3.0))
    found = bench.curve(
        METRICS,
        STEP,
        "sin(h1)",
        along,
        Sizes(
            points=along._replace(ends=(0.2, 3.0)).places(sizes.points),
            dots=sizes.dots,
            seeds=sizes.seeds,
        ),
        dots_alone={"dim": [sizes.small, sizes.large], "method": "direct"},
    )
    before, after = (found[found.step == step].set_index(["dim", "ratio"]) for step in (0, 1))
    after = after.rename(columns=lambda name: name.replace("test_error", "after"))
    table = after.assign(
        **{
            "before": before["test_error"],
            "before.sem": before["test_error.sem"],
            "before.theory": after["random_features_error.theory"],
        }
    ).reset_index()
    yield table.assign(dim=table.dim.fillna(np.inf))


def draw(table: DataFrame) -> Picture:
    """Errors on a logarithmic axis; open squares for the smaller dimension."""
    import pandas

    # The lines are those of the limit; the theory at the dots' own d is in the table.
    limit = table.dim == float("inf")
    curves = [
        pandas.DataFrame(
            {
                "ratio": table.ratio,
                "dim": table.dim,
                "error": table[name],
                "error.sem": table[f"{name}.sem"],
                "error.theory": table[f"{name}.theory"].where(limit),
                "curve": name,
            }
        )
        for name in NAMES
    ]
    figure, (panel,) = overlay_panels(
        pandas.concat(curves, ignore_index=True),
        Side("ratio", "readout samples / d"),
        Side("error", "test error", "log"),
        curves=("curve", NAMES),
        squares=("dim", "d"),
        legend=None,
    )
    first = table[limit].iloc[0]
    draw_linear_floor(panel, first["linear_floor.theory"])
    for name, words in (("bound_upper", "bounds on the best ridge"), ("bound_lower", None)):
        panel.axhline(first[f"{name}.theory"], color=GREY, linestyle=":", label=words)
    legend_above(figure, 2)
    return figure


def claims(table: DataFrame) -> dict[str, bool]:
    """One step beats the linear floor, random features do not, and dots sit on the line."""
    import numpy as np

    limit, dots = table[np.isinf(table.dim)], table[np.isfinite(table.dim)]
    floor = limit["linear_floor.theory"].iloc[0]
    return {
        "after one step the error is below the best linear predictor's": (
            limit["after.theory"].max() < floor and dots.after.max() < floor
        ),
        "random features stay above the best linear predictor": (
            limit["before.theory"].min() > floor and dots.before.min() > floor
        ),
        "simulated errors lie within 4 standard errors plus 3 % of the theory at their d": (
            on_panel_line(dots, "after", errors=4, relative=0.03)
        ),
    }


REFERENCES = cite("2402.04980", "2410.18938")
SIZES = figure_sizes(
    points=(5, 40, 100),
    dots=(2, 6, 15),
    small=(60, 100, 200),
    large=(120, 400, 1600),
    seeds=(6, 8, 20),
)
