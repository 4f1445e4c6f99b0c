"""Bounds on the best risk of spiked features, and how the ridge moves between them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from giantstep.figures.figure import Figure, Workbench
from giantstep.figures.panels import LineAndDots, lay_over, on_the_line
from giantstep.figures.style import COLOURS, GREY, new_figure
from giantstep.studies.study import Study

if TYPE_CHECKING:
    import pandas
    from matplotlib.figure import Figure as Picture

SAMPLES = ("2d", "10d", "50d")


def rows(sizes: LineAndDots, bench: Workbench) -> pandas.DataFrame:
    """Errors along the ridge, for three numbers of samples."""
    import numpy as np
    import pandas

    parts = []
    for samples in SAMPLES:
        for dim, verbs, points in (
            (None, ["predict"], sizes.points),
            (sizes.dim, ["simulate", "predict"], sizes.dots),
        ):
            table = bench.summary(
                Study(
                    name=f"risk-bounds {samples} {dim}",
                    learner="spiked-random-features",
                    problem={"target": "sin(h1)"},
                    settings={
                        **{"activation": "tanh", "spike": "0.9", "dim": dim},
                        **{"readout_samples": samples, "width": "3d"},
                    },
                    axes={"ridge": np.geomspace(1e-2, 1e4, points).round(6).tolist()},
                    seeds=sizes.seeds,
                    verbs=verbs,
                )
            )
            parts.append(table.assign(samples=samples, dim=dim or np.inf))
    kept = ["samples", "dim", "ridge", "test_error", "test_error.sem", "test_error.theory"]
    kept += ["bound_upper.theory", "bound_lower.theory", "linear_floor.theory"]
    return pandas.concat(parts, ignore_index=True)[kept]


def draw(table: pandas.DataFrame) -> Picture:
    """One line for each number of samples, between the two bounds."""
    figure, panel = new_figure(5.4, 4.2)
    for samples, colour in zip(SAMPLES, COLOURS, strict=False):
        part = table[table.samples == samples]
        finite = part.dropna(subset="test_error")
        limit = part[part.test_error.isna()]
        lay_over(panel, limit, "ridge", "test_error", colour, f"n = {samples[:-1]} d")
        lay_over(panel, finite, "ridge", "test_error", colour, linestyle=":", linewidth=1)
    first = table.iloc[0]
    for name, words, style in (
        ("linear_floor", "best linear predictor", "--"),
        ("bound_upper", "upper bound", "-."),
        ("bound_lower", "lower bound", ":"),
    ):
        panel.axhline(first[f"{name}.theory"], color=GREY, linestyle=style, label=words)
    panel.set_xscale("log")
    panel.set_yscale("log")
    panel.set_xlabel("ridge")
    panel.set_ylabel("test error")
    figure.legend(loc="outside upper center", ncols=3)
    return figure


def claims(table: pandas.DataFrame) -> dict[str, bool]:
    """The best ridge lies between the bounds; a strong one reaches the upper bound."""
    limit = table[table.test_error.isna()]
    first = limit.iloc[0]
    upper, lower = first["bound_upper.theory"], first["bound_lower.theory"]
    best = limit.groupby("samples")["test_error.theory"].min()
    last = limit[limit.ridge == limit.ridge.max()]["test_error.theory"]
    return {
        "the error at the best ridge lies between the bounds": bool(
            (best <= upper).all() and (best >= lower).all()
        ),
        "more samples do better at the best ridge": best[list(SAMPLES)].is_monotonic_decreasing,
        "at the strongest ridge the error is within 1 % of the upper bound": bool(
            ((last / upper - 1).abs() < 0.01).all()
        ),
        "simulated errors lie within 4 standard errors and 1 % of the theory": on_the_line(
            table, "test_error", errors=4, allowance=0.01 * table.test_error.mean()
        ),
    }


FIGURE = Figure(
    name="risk-bounds",
    title="Bounds on what the best ridge reaches after one step",
    caption="""Excess test error of ridge regression on spiked random features against the ridge,
    for n = 2 d, 10 d and 50 d; target sin(h1), tanh, spike 0.9 exactly along h1, p = 3 d. Lines:
    exact in the limit of large d; dots on dotted lines: {seeds} simulations at d = {dim} and the
    theory there. As the ridge grows in the limit the fit keeps only the mean of the
    features given the learned direction, and the error is the upper bound; the best ridge lies
    between it and the lower bound, the error of the best function in the span that the features
    reach.""",
    references=("Dandi et al. 2024, arXiv:2410.18938",),
    sizes={
        "reduced": LineAndDots(points=7, dots=2, dim=60, seeds=8),
        "quick": LineAndDots(points=37, dots=5, dim=80, seeds=5),
        "full": LineAndDots(points=61, dots=13, dim=400, seeds=40),
    },
    rows=rows,
    draw=draw,
    claims=claims,
)
