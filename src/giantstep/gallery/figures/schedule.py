"""One giant step on 3n samples, or three steps on n each?

Test error against all samples of the gradient steps, spent in one, two or three equal batches; p =
d, a = 1, readout fitted to 4d more, ridge 0.1; tanh with step size 3 (left), relu with step size 1
(right). Lines: theory, large d. Dots: simulation at d = {dim}, {seeds} seeds; finite d is allowed
10 %. Dashed: best linear predictor.
"""

from __future__ import annotations

from functools import partial

from giantstep.asking.verbs import PREDICT, SIMULATE
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

STEPS = (1, 2, 3)
#: By target: how it is written, activation and step size.
PANELS = {
    "sin(h1)": (r"$\sin(h_1)$", "tanh", 3),
    "h1 + h1*h2": (r"$h_1 + h_1h_2$", "relu", 1),
}


def rows(sizes: Sizes, bench: Workbench) -> Tables:
    """Errors after the last step, by number of steps and total samples."""

    for target, (_, activation, step_size) in PANELS.items():
        for steps in STEPS:
            own = {"activation": activation, "step_size": step_size, "steps": steps}
            settings = STEP.replace(**own, readout_samples="4d", test_samples=4000)
            found = bench.curve(
                ["test_error", "linear_floor"],
                settings,
                target,
                Along("samples", partial(_figure_share, steps), "total"),
                sizes,
                dots_alone={"dim": sizes.dim},
                verbs=(SIMULATE,),
            )
            part = found[found.step == steps].assign(panel=target, steps=steps)
            # Dots are compared with the limit, which the line has at their place.
            limit = part.groupby("total")["test_error.theory"].transform("max")
            by = part.test_error.notna().map({True: SIMULATE, False: PREDICT})
            yield part.assign(**{"test_error.theory": limit, "by": by})


def _figure_share(steps: int, total: float) -> str:
    """The samples of each of so many steps."""
    return f"{total / steps:.6g}d"


def draw(table: DataFrame) -> Picture:
    """One panel per target; darker for more steps."""
    figure, panels = overlay_panels(
        table,
        Side("total", "samples of all steps / d", "log2"),
        Side("test_error", "test error", "log"),
        panels=("panel", {target: title for target, (title, *_) in PANELS.items()}),
        curves=("steps", {1: "one step", 2: "2 steps", 3: "3 steps"}),
        colours=SHADES[1:],
        sharey=False,
        legend=None,
    )
    for panel, target in zip(panels, PANELS, strict=True):
        draw_linear_floor(panel, table[table.panel == target]["linear_floor.theory"].max())
    for panel, marks in zip(panels, ((0.01, 0.02, 0.05, 0.1), (1, 1.2, 1.4, 1.6)), strict=True):
        ticks_at(panel.yaxis, marks)
    legend_above(figure, 4)
    return figure


def claims(table: DataFrame) -> dict[str, bool]:
    """Several steps on as many samples are better, and dots sit on the lines."""
    line = table[table.by == PREDICT]
    errors = line.pivot_table("test_error.theory", ["panel", "total"], "steps")
    most = errors.groupby("panel").tail(1)
    return {
        "at the most samples three steps on a third each have less error than one on all": bool(
            (most[3] < most[1]).all()
        ),
        "simulations lie within 4 standard errors plus 10 % of the limit": on_panel_line(
            table, "test_error", errors=4, relative=0.1
        ),
    }


REFERENCES = cite("2305.18270", "2410.18938")
SIZES = figure_sizes(
    points=((6, 48), (3, 5, 8, 13, 20, 32, 56, 96), (3, 4, 6, 9, 12, 18, 24, 36, 48, 72, 96)),
    dots=((6, 48), (5, 20, 96), (3, 6, 12, 24, 48, 96)),
    dim=(120, 150, 400),
    seeds=(6, 8, 16),
)
