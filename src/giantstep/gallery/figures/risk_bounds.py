"""Bounds on what the best ridge reaches after one step.

Left: excess test error of ridge regression on spiked random features at its best ridge (right),
against the samples; target sin(h1), tanh, spike 0.9 exactly along h1, p = 3 d. Dots: {seeds}
simulations at d = {dim}; solid: theory there; dashed: large d. Band: between an infinite ridge,
which fits only the mean of the features given the learned direction, and the error of the best
function in the span that the features reach. Theory at d leaves out terms of order 1/d^2: the claim
allows 2 % for them.
"""

from __future__ import annotations

import math

from giantstep.asking.verbs import PREDICT, VERBS, predict
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
from giantstep.gallery.panels import Side, draw_curves, draw_linear_floor, on_panel_line
from giantstep.gallery.style import COLOURS, legend_above, new_figure
from giantstep.settings.spiked_random_features import SpikedRandomFeatures

TARGET = "sin(h1)"
SETTINGS = SpikedRandomFeatures(activation="tanh", spike="0.9", width="3d")
METRICS = ("test_error", "bound_upper", "bound_lower", "linear_floor")
#: Logarithms between which the ridge is sought: at the upper one nothing but the mean is fitted.
RIDGES = (math.log(1e-3), math.log(1e4))


def rows(sizes: Sizes, bench: Workbench) -> Tables:
    """Errors at the best ridge by samples, in the limit and simulated."""
    import numpy as np

    along = Along("readout_samples", "{:.4g}d".format, "ratio", (0.5, 50.0), ratios=True)
    places: list[tuple[int | None, float]] = [
        *((None, ratio) for ratio in along.places(sizes.points)),
        *((sizes.dim, ratio) for ratio in along.places(sizes.dots)),
    ]
    for number, (dim, ratio) in enumerate(places):
        best = _figure_best_ridge(SETTINGS.replace(dim=dim, readout_samples=along.write(ratio)))
        verbs = (PREDICT,) if dim is None else VERBS
        point = bench.table(METRICS, best, TARGET, verbs=verbs, seeds=sizes.seeds)
        yield point.assign(dim=dim or np.inf, ratio=ratio, ridge=best.ridge)
        bench.report((number + 1) / len(places))


def _figure_best_ridge(settings: SpikedRandomFeatures) -> SpikedRandomFeatures:
    """The settings at the ridge of least predicted error, to a few per cent of the ridge."""
    from scipy.optimize import minimize_scalar

    def risk(log_ridge: float) -> float:
        chosen = settings.replace(ridge=math.exp(log_ridge))
        return float(predict(chosen, TARGET).metrics["test_error"])

    found = minimize_scalar(risk, bounds=RIDGES, method="bounded", options={"xatol": 0.1})
    return settings.replace(ridge=float(f"{math.exp(found.x):.4g}"))


def draw(table: DataFrame) -> Picture:
    """The best error between its two bounds, and the ridge that reaches it."""
    figure, (left, right) = new_figure(7.4, 3.8, ncols=2)
    small, far = sorted(table.dim.unique())
    sizes = ("dim", {small: f"$d = {small:.0f}$", far: "limit of large $d$"})
    samples = Side("ratio", "readout samples / $d$", "log", ticks=[0.5, 1, 2, 5, 10, 20, 50])
    error = Side("test_error", "test error at the best ridge", "log", ticks=[0.01, 0.02, 0.05, 0.1])
    draw_curves(left, table, samples, error, sizes)
    first = table.iloc[0]
    band = {"color": COLOURS[4], "alpha": 0.25, "linewidth": 0, "label": "between the bounds"}
    left.axhspan(first["bound_lower.theory"], first["bound_upper.theory"], **band)
    draw_linear_floor(left, first["linear_floor.theory"])
    ridges = table[table.dim == far].rename(columns={"ridge": "best.theory"})
    draw_curves(right, ridges, samples, Side("best", "best ridge, large $d$", "log"))
    legend_above(figure, 2)
    return figure


def claims(table: DataFrame) -> dict[str, bool]:
    """The best ridge lies between the bounds, nearer to the lower one with more samples."""
    import numpy as np

    limit = table[np.isinf(table.dim)].sort_values("ratio")
    best = limit["test_error.theory"]
    upper, lower = limit["bound_upper.theory"], limit["bound_lower.theory"]
    return {
        "in the limit the error at the best ridge lies between the bounds": bool(
            (best <= upper * (1 + 1e-6)).all() and (best >= lower).all()
        ),
        "more samples do better": best.is_monotonic_decreasing,
        "simulated errors lie within 4 standard errors plus 2 % of the theory at their d": (
            on_panel_line(table, "test_error", errors=4, relative=0.02)
        ),
    }


REFERENCES = cite("2410.18938")
SIZES = figure_sizes(points=(4, 13, 25), dots=(2, 6, 7), dim=(80, 120, 300), seeds=(8, 8, 20))
