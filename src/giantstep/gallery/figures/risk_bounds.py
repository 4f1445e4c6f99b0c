"""Bounds on what the best ridge reaches after one step.

Left: excess test error of ridge regression on spiked random features at its best ridge, against the
samples; target sin(h1), tanh, spike 0.9 exactly along h1, p = 3 d. Line: exact in the limit of
large d; dots on the dashed line: {seeds} simulations at d = {dim} and the theory there, which
leaves out terms of order 1/d^2: the claim allows 2 % for them. Band: between the upper bound, where
only the mean of the features given the learned direction is fitted (an infinite ridge), and the
lower bound, the error of the best function in the span that the features reach. Right: the best
ridge.
"""

from __future__ import annotations

from giantstep.asking.verbs import predict, simulate
from giantstep.bibliography import cite
from giantstep.gallery.figure import DataFrame, Picture, Sizes, Workbench
from giantstep.gallery.panels import lay_over, linear_floor, on_the_line, ticks_at
from giantstep.gallery.style import COLOURS, new_figure
from giantstep.settings.spiked_random_features import SpikedRandomFeatures

TARGET = "sin(h1)"
FEWEST, MOST = 0.5, 50.0
#: Ridges beyond these are those of their end: at the upper one nothing but the mean is fitted.
LEAST_RIDGE, LARGEST_RIDGE = 1e-3, 1e4


def rows(sizes: Sizes, bench: Workbench) -> DataFrame:
    """Errors at the best ridge by samples, in the limit and simulated."""
    import numpy as np
    import pandas

    lines = []
    places: list[tuple[int | None, float]] = [
        (None, ratio) for ratio in np.geomspace(FEWEST, MOST, sizes.points)
    ]
    places += [(sizes.dim, ratio) for ratio in np.geomspace(FEWEST, MOST, sizes.dots)]
    for number, (dim, ratio) in enumerate(places):
        settings = _with_best_ridge(
            SpikedRandomFeatures(
                activation="tanh",
                spike="0.9",
                dim=dim,
                readout_samples=f"{ratio:.4g}d",
                width="3d",
            )
        )
        law = predict(settings, TARGET).metrics
        line = {"dim": dim or np.inf, "ratio": ratio, "ridge": settings.ridge}
        names = ("test_error", "bound_upper", "bound_lower", "linear_floor")
        line |= {f"{name}.theory": float(law[name]) for name in names}
        if dim is not None:
            run = simulate(settings, TARGET, seeds=sizes.seeds)
            line |= {"test_error": float(run.mean("test_error"))}
            line |= {"test_error.sem": float(run.sem("test_error"))}
        lines.append(line)
        bench.report((number + 1) / len(places))
    return pandas.DataFrame(lines)


def _with_best_ridge(settings: SpikedRandomFeatures) -> SpikedRandomFeatures:
    """The settings at the ridge of least predicted error, to a few per cent of the ridge."""
    import math

    from scipy.optimize import minimize_scalar

    def risk(log_ridge: float) -> float:
        chosen = settings.replace(ridge=math.exp(log_ridge))
        return float(predict(chosen, TARGET).metrics["test_error"])

    ends = math.log(LEAST_RIDGE), math.log(LARGEST_RIDGE)
    found = minimize_scalar(risk, bounds=ends, method="bounded", options={"xatol": 0.1})
    return settings.replace(ridge=float(f"{math.exp(found.x):.4g}"))


def draw(table: DataFrame) -> Picture:
    """The best error between its two bounds, and the ridge that reaches it."""
    import numpy as np

    figure, (left, right) = new_figure(7.6, 3.8, ncols=2)
    limit, dots = table[np.isinf(table.dim)], table[np.isfinite(table.dim)]
    first = limit.iloc[0]
    lower, upper = (first[f"bound_{side}.theory"] for side in ("lower", "upper"))
    left.axhspan(
        lower, upper, color=COLOURS[4], alpha=0.25, linewidth=0, label="between the bounds"
    )
    linear_floor(left, first["linear_floor.theory"])
    lay_over(left, limit, "ratio", "test_error", COLOURS[0], "limit of large $d$")
    lay_over(
        left,
        dots,
        "ratio",
        "test_error",
        COLOURS[1],
        label=f"$d = {dots.dim.iloc[0]:.0f}$",
        linestyle="--",
    )
    left.set(ylabel="test error at the best ridge", yscale="log")
    ticks_at(left.yaxis, [0.01, 0.02, 0.05, 0.1])
    right.plot(limit.ratio, limit.ridge, color=COLOURS[0])
    right.set(ylabel="best ridge", yscale="log")
    for panel in (left, right):
        panel.set(xscale="log", xlabel="readout samples / d")
        ticks_at(panel.xaxis, [0.5, 1, 2, 5, 10, 20, 50])
    left.legend(loc="lower left")
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
            on_the_line(table, "test_error", errors=4, relative=0.02)
        ),
    }


REFERENCES = cite("2410.18938")
SIZES = {
    "reduced": Sizes(points=4, dots=2, dim=80, seeds=8),
    "quick": Sizes(points=13, dots=4, dim=120, seeds=8),
    "full": Sizes(points=25, dots=7, dim=300, seeds=20),
}
