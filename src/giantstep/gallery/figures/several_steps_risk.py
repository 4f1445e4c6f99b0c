"""What each further giant step takes off the test error.

Test error against n/d, samples of every step and of the fit; p = d, a = 1, ridge 0.1. Lines:
theory after 0, 1, 2, 3 steps, large d. Symbols: simulation after 1 and 3 steps at d = {small}
(squares) and {large} (dots), {seeds} seeds; finite d is allowed 10 %. Dashed: best linear
predictor.
"""

from __future__ import annotations

from giantstep.asking.verbs import SIMULATE
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
from giantstep.gallery.figures.one_step_risk import STEP
from giantstep.gallery.panels import (
    Side,
    draw_linear_floor,
    on_panel_line,
    overlay_panels,
    ticks_at,
)
from giantstep.gallery.style import SHADES, legend_above

STEPS = 3
#: By target: how it is written, activation and step size.
PANELS = {
    "sin(h1)": (r"$\sin(h_1)$", "tanh", 3),
    "h1 + h1*h2": (r"$h_1 + h_1h_2$", "relu", 1),
    "h1 + He3(h1)*h2/sqrt(6)": (r"$h_1 + \mathrm{He}_3(h_1)\,h_2/\sqrt{6}$", "relu", 1.5),
}


def rows(sizes: Sizes, bench: Workbench) -> Tables:
    """Errors by step and samples, in the limit and simulated at two dimensions."""
    import numpy as np

    for target, (_, activation, step_size) in PANELS.items():
        own = {"activation": activation, "step_size": step_size, "steps": STEPS}
        settings = STEP.replace(**own, test_samples=4000)
        found = bench.curve(
            ["test_error", "linear_floor"],
            settings,
            target,
            Along("samples", "{:g}d".format, "ratio"),
            sizes,
            dots_alone={"dim": [sizes.small, sizes.large]},
            verbs=(SIMULATE,),
        )
        # Dots are compared with the limit, which the line has at their place.
        limit = found.groupby(["step", "ratio"])["test_error.theory"].transform("max")
        known = {"test_error.theory": limit, "dim": found.dim.fillna(np.inf)}
        yield found.assign(panel=target, **known)


def draw(table: DataFrame) -> Picture:
    """One panel per target; darker lines are later steps."""
    # Dots after the first and the last step; in between they would cover one another.
    hidden = table.step.isin(range(2, STEPS)) | (table.step == 0)
    figure, panels = overlay_panels(
        table.assign(test_error=table.test_error.mask(hidden)),
        Side("ratio", "samples of each step / d", "log2"),
        Side("test_error", "test error", "log"),
        panels=("panel", {target: title for target, (title, *_) in PANELS.items()}),
        curves=("step", {t: f"{t} step{'' if t == 1 else 's'}" for t in range(STEPS + 1)}),
        squares=("dim", "d"),
        colours=SHADES,
        sharey=False,
        legend=None,
    )
    for panel, target in zip(panels, PANELS, strict=True):
        draw_linear_floor(panel, table[table.panel == target]["linear_floor.theory"].max())
    for panel, marks in zip(panels, ((0.01, 0.03, 0.1, 0.3), *[(1, 1.5, 2)] * 2), strict=True):
        ticks_at(panel.yaxis, marks)
    legend_above(figure)
    return figure


def claims(table: DataFrame) -> dict[str, bool]:
    """Later steps help where there are samples, and dots come to the lines as d grows."""
    dots = table.dropna(subset="test_error")
    errors = table.pivot_table("test_error.theory", ["panel", "ratio"], "step")
    most = errors.groupby("panel").tail(1)
    return {
        "at the most samples the second and third steps lower the error": bool(
            (most.diff(axis=1).iloc[:, 2:] < 0).all(axis=None)
        ),
        "the second step lowers the error of h1 + h1*h2 by more than 5 % there": bool(
            (most.loc["h1 + h1*h2"][2] < 0.95 * most.loc["h1 + h1*h2"][1]).all()
        ),
        "at the larger d simulations lie within 4 standard errors plus 10 % of the limit": (
            on_panel_line(
                dots[(dots.dim == dots.dim.max()) & (dots.step > 0)],
                "test_error",
                errors=4,
                relative=0.1,
            )
        ),
    }


REFERENCES = cite("2305.18270", "2410.18938")
SIZES = figure_sizes(
    points=((4, 32), (1, 2, 4, 8, 16, 32), (1, 1.5, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64)),
    dots=((4, 32), (2, 8, 32), (1, 2, 4, 8, 16, 32)),
    small=(50, 60, 100),
    large=(120, 150, 400),
    seeds=(6, 8, 16),
)
