"""How many samples the gradient of a giant step needs.

Left: excess test error after one giant step, against the samples of its gradient; target sin(h1),
tanh, p = d, a = 1, readout fitted to 2 d other samples with ridge 0.1. Lines: theory with
corrections of order 1/d at d = {dim}; dots: direct simulation, {seeds} seeds. Right: root mean
square cosine of the neurons with the target's direction, and (black) that of the direction they all
moved along, which sets what the step is worth. The corrections leave out terms of order 1/d^2: the
claims allow 3 % and 1 % for them.
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
from giantstep.gallery.figures.one_step_risk import STEP
from giantstep.gallery.panels import Side, draw_linear_floor, on_panel_line, overlay_panels
from giantstep.gallery.style import COLOURS

STEPS = (1.0, 3.0)


def rows(sizes: Sizes, bench: Workbench) -> Tables:
    """Errors along the batch, for two step sizes."""
    chosen = {"step_size": list(STEPS), "readout_samples": "2d", "method": "direct"}
    settings = STEP.replace(**chosen, dim=sizes.dim)
    metrics = ("test_error", "overlap", "random_features_error", "linear_floor", "alignment")
    along = Along("samples", "{:g}d".format, "ratio", (0.5, 50.0), ratios=True)
    found = bench.curve(metrics, settings, "sin(h1)", along, sizes)
    yield found[found.step == 1]


def draw(table: DataFrame) -> Picture:
    """Errors on the left, cosines with the target's direction on the right."""
    figure, (left, right) = overlay_panels(
        table,
        Side("ratio", "samples of the gradient / d", "log", ticks=[0.5, 1, 2, 5, 10, 20, 50]),
        Side("test_error", "test error", "log", ticks=[0.02, 0.05, 0.1, 0.2]),
        Side("overlap", "cosine with the target's direction", limits=(0, 1.02)),
        curves=("step_size", {step: f"step size {step:g}" for step in STEPS}),
    )
    first = table.iloc[0]
    left.axhline(first["random_features_error.theory"], color=COLOURS[3], label="no step")
    draw_linear_floor(left, first["linear_floor.theory"])
    line = table[table.step_size == STEPS[0]].sort_values("ratio")
    right.plot(line.ratio, line["alignment.theory"], color="black", label="the gradient's mean")
    left.legend(loc="lower left")
    right.legend(loc="lower right")
    return figure


def claims(table: DataFrame) -> dict[str, bool]:
    """A larger batch is better, and a small one can be worse than no step."""
    drawn = table[table.test_error.isna()].sort_values("ratio")
    lines = [part for _, part in drawn.groupby("step_size")]
    return {
        "the error falls as the batch grows": all(
            part["test_error.theory"].is_monotonic_decreasing for part in lines
        ),
        "only a large batch beats the best linear predictor": all(
            part["test_error.theory"].iloc[0] > part["linear_floor.theory"].iloc[0]
            for part in lines
        )
        and lines[-1]["test_error.theory"].iloc[-1] < lines[-1]["linear_floor.theory"].iloc[0],
        "simulated errors lie within 4 standard errors plus 3 % of the theory": on_panel_line(
            table, "test_error", errors=4, relative=0.03
        ),
        "simulated overlaps lie within 4 standard errors plus 1 % of the theory": on_panel_line(
            table, "overlap", errors=4, relative=0.01
        ),
    }


REFERENCES = cite("2402.04980", "2410.18938")
SIZES = figure_sizes(points=(5, 21, 60), dots=(2, 5, 15), dim=(80, 200, 1000), seeds=(6, 8, 20))
