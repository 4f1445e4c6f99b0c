"""From random features to a giant step: the risk over the step size.

Excess test error after one step on 20 d samples, against its size; target sin(h1), tanh, a = 1, p =
d, readout fitted to 2 d other samples with ridge 0.1. Line: theory with corrections of order 1/d at
d = {dim}; dots: direct simulation, {seeds} seeds. Dotted: where a step of d^(alpha - 1/2) lies at
this d, the step eta = n^alpha of networks with readouts of size N^(-1/2): the small (alpha = 0) and
the large rate (1/2), and between them the exponents from which the square and the cube of the
learned direction enter the features. The corrections leave out terms of order 1/d^2, for which the
claim allows 3 %.
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
from giantstep.gallery.panels import (
    Side,
    draw_linear_floor,
    draw_mark,
    on_panel_line,
    overlay_panels,
)
from giantstep.gallery.style import COLOURS

#: Rates of others by their exponent; the k-th power of the learned direction enters the features
#: beyond n^((k-1)/(2k)).
MARKS = {0.0: "small\nrate", 1 / 4: "1/4", 1 / 3: "1/3", 0.5: "large\nrate"}


def rows(sizes: Sizes, bench: Workbench) -> Tables:
    """Errors along the step size."""
    settings = STEP.replace(readout_samples="2d", dim=sizes.dim, method="direct")
    metrics = ("test_error", "random_features_error", "linear_floor")
    along = Along("step_size", float, "size", (0.02, 6.0), ratios=True)
    found = bench.curve(metrics, settings, "sin(h1)", along, sizes)
    yield found[found.step == 1].assign(dim=sizes.dim)


def draw(table: DataFrame) -> Picture:
    """The error, where others put their small and large rates, and the exponents between them."""
    figure, (panel,) = overlay_panels(
        table.assign(curve="one step"),
        Side("size", "step size", "log"),
        Side("test_error", "test error", "log", ticks=[0.02, 0.05, 0.1, 0.2]),
        curves=("curve", {"one step": "one step"}),
        legend=None,
    )
    first, dim = table.iloc[0], float(table.dim.iloc[0])
    panel.axhline(first["random_features_error.theory"], color=COLOURS[1], label="random features")
    draw_linear_floor(panel, first["linear_floor.theory"])
    # eta = n^alpha of a network with a ~ N(0, 1/N) is eta / sqrt N here, and N, n are of order d.
    for alpha, name in MARKS.items():
        draw_mark(panel, name, dim ** (alpha - 0.5))
    panel.legend(loc="lower left")
    return figure


def claims(table: DataFrame) -> dict[str, bool]:
    """From random features down below the linear floor."""
    line = table[table.test_error.isna()].sort_values("size")
    error = line["test_error.theory"]
    first = line.iloc[0]
    floor, plain = first["linear_floor.theory"], first["random_features_error.theory"]
    return {
        "the smallest step is worth nothing: within 2 % of random features": bool(
            abs(error.iloc[0] / plain - 1) < 0.02
        ),
        "a small rate stays above the best linear predictor, a large one passes below it": bool(
            (error[line["size"] < 0.3] > floor).all() and error.min() < 0.9 * floor
        ),
        "simulated errors lie within 4 standard errors plus 3 % of the theory": on_panel_line(
            table, "test_error", errors=4, relative=0.03
        ),
    }


REFERENCES = cite("2205.01445", "2310.07891", "2402.04980")
SIZES = figure_sizes(points=(7, 37, 61), dots=(3, 7, 11), dim=(100, 250, 700), seeds=(8, 6, 12))
