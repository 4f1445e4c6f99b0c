"""The drop: test error against readout samples, before and after one giant step."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from giantstep.figures.figure import Figure, Workbench
from giantstep.figures.panels import lay_over, on_the_line
from giantstep.figures.style import COLOURS, GREY, new_figure
from giantstep.studies.study import Study

if TYPE_CHECKING:
    import pandas
    from matplotlib.figure import Figure as Picture

STEP: dict[str, Any] = {
    **{"activation": "tanh", "readout": "ones", "samples": "20d", "step_size": 3},
    **{"width": "1d", "ridge": 0.1},
}


#: Smallest n/d that is simulated.
FEWEST = 0.6


class Sizes(NamedTuple):
    """Points of the line, dots on it, and the two dimensions of the dots."""

    points: int
    dots: int
    small: int
    large: int
    seeds: int


def rows(sizes: Sizes, bench: Workbench) -> pandas.DataFrame:
    """Errors of random features and of one step, in the limit and simulated at two dimensions."""
    import numpy as np
    import pandas

    def study(
        name: str, verb: str, points: int, first: float = 0.2, **more: Any
    ) -> pandas.DataFrame:
        ratios = np.linspace(first, 3.0, points).round(4)
        table = bench.summary(
            Study(
                name=f"one-step-risk {name}",
                learner="giant-step",
                problem={"target": "sin(h1)"},
                settings={**STEP, **more},
                axes={"readout_samples": [f"{ratio:g}d" for ratio in ratios]},
                seeds=sizes.seeds,
                verbs=[verb],
            )
        )
        return table.assign(ratio=ratios)

    limit = study("limit", "predict", sizes.points)
    limit = limit.rename(columns={"random_features_error.theory": "before.theory"})
    limit = limit.rename(columns={"test_error[1].theory": "after.theory"}).assign(dim=np.inf)
    parts = [limit]
    for dim in (sizes.small, sizes.large):
        # With fewer samples single runs scatter too widely for a standard error.
        law = study(f"law {dim}", "predict", sizes.dots, FEWEST, dim=dim)
        run = study(f"run {dim}", "simulate", sizes.dots, FEWEST, dim=dim, method="direct")
        columns = {
            f"{name}{suffix}": run[f"test_error[{step}]{suffix}"]
            for step, name in enumerate(("before", "after"))
            for suffix in ("", ".sem")
        }
        columns["after.theory"] = law["test_error[1].theory"]
        parts.append(pandas.DataFrame({"dim": dim, "ratio": run.ratio, **columns}))
    kept = ["dim", "ratio", "before", "before.sem", "before.theory"]
    kept += ["after", "after.sem", "after.theory"]
    bounds = ["bound_upper.theory", "bound_lower.theory", "linear_floor.theory"]
    return pandas.concat(parts, ignore_index=True)[kept + bounds]


def draw(table: pandas.DataFrame) -> Picture:
    """Errors on a logarithmic axis; filled dots for the larger dimension."""
    import numpy as np

    figure, panel = new_figure(5.4, 4.4)
    limit = table[np.isinf(table.dim)]
    lay_over(panel, limit, "ratio", "before", COLOURS[1], "random features")
    lay_over(panel, limit, "ratio", "after", COLOURS[0], "one giant step")
    dims = sorted(table.dim[np.isfinite(table.dim)].unique())
    for dim, marker, face in zip(dims, "so", ("white", None), strict=True):
        dots = table[table.dim == dim]
        for name, colour in (("before", COLOURS[1]), ("after", COLOURS[0])):
            panel.errorbar(
                *(dots.ratio, dots[name], dots[f"{name}.sem"]),
                **{"fmt": marker, "color": colour, "mfc": face or colour, "capsize": 2},
            )
        plain: dict[str, Any] = {"fmt": marker, "color": GREY, "mfc": face or GREY}
        panel.errorbar([], [], [], label=f"simulation, d = {dim:.0f}", **plain)
    first = limit.iloc[0]
    for name, words, style in (
        ("linear_floor", "best linear predictor", "--"),
        ("bound_upper", "bounds on the best ridge", ":"),
        ("bound_lower", None, ":"),
    ):
        panel.axhline(first[f"{name}.theory"], color=GREY, linestyle=style, label=words)
    panel.set_yscale("log")
    panel.set_xlabel("readout samples / d")
    panel.set_ylabel("test error")
    figure.legend(loc="outside upper center", ncols=2)
    return figure


def claims(table: pandas.DataFrame) -> dict[str, bool]:
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
            on_the_line(dots, "after", errors=4, relative=0.03)
        ),
    }


FIGURE = Figure(
    name="one-step-risk",
    title="The test error drops: random features against one giant step",
    caption="""Excess test error against the samples of the readout fit, before and after one giant
    step of size 3 on 20 d other samples; target sin(h1), tanh, p = d, a = 1, ridge 0.1. Lines:
    exact in the limit of large d. Symbols: direct simulation at d = {small} (squares) and at d =
    {large} (dots), {seeds} seeds. One step leaves the kernel regime: on this target it beats every
    linear predictor (dashed), which random features cannot do at any n proportional to d. Dotted:
    bounds on what the best ridge can reach. The theory that dots are held against leaves out terms
    of order 1/d^2: the claim allows 3 % for them.""",
    references=("Cui et al. 2024, arXiv:2402.04980", "Dandi et al. 2024, arXiv:2410.18938"),
    sizes={
        "reduced": Sizes(points=5, dots=2, small=60, large=120, seeds=6),
        "quick": Sizes(points=40, dots=6, small=100, large=400, seeds=8),
        "full": Sizes(points=100, dots=15, small=200, large=1600, seeds=20),
    },
    rows=rows,
    draw=draw,
    claims=claims,
)
