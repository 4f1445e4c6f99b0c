"""Double descent of random features, and how a ridge ends it.

Excess test error of ridge regression on random relu features, target y = h + He2(h)/2 plus noise of
variance 0.1, d = {dim}. Left: n = 2d samples and more and more neurons; right: p = 2d neurons and
more and more samples. With almost no ridge the error explodes where neurons and samples are as many
(dotted), so that more data can hurt; with the best ridge at each point it falls throughout. Lines:
deterministic equivalent at this d; dots: {seeds} simulations with standard errors. The equivalent
leaves out terms of relative order 1/d, for which the claim allows 5 %.
"""

from __future__ import annotations

from giantstep.asking.verbs import PREDICT, VERBS, predict
from giantstep.bibliography import cite
from giantstep.gallery.figure import DataFrame, Picture, Sizes, Tables, Workbench, figure_sizes
from giantstep.gallery.panels import Side, draw_guide, on_panel_line, overlay_panels
from giantstep.language.problem import Problem
from giantstep.settings.random_features import RandomFeatures

PROBLEM = Problem.of("h1 + He2(h1)/2", noise=0.1)
#: The axis that varies, and the size that does not: twice the dimension.
OTHER = {"width": "samples", "samples": "width"}
SMALL_RIDGE = 1e-4
SMALL, BEST = "ridge 0.0001", "best ridge"


def rows(sizes: Sizes, bench: Workbench) -> Tables:
    """Test errors by varied size, its ratio to the other, and ridge."""
    import numpy as np

    for part, (axis, other) in enumerate(OTHER.items()):
        start = RandomFeatures(dim=sizes.dim).replace(**{other: "2d"})
        dots, line = (np.geomspace(0.1, 10.0, n).round(3) for n in (sizes.dots, sizes.points))
        ratios = np.unique([*dots, *line])
        for place, ratio in enumerate(ratios):
            settings = start.replace(**{axis: f"{2 * ratio:g}d"}, ridge=SMALL_RIDGE)
            best = predict(settings, PROBLEM, optimise=["ridge"]).settings.ridge
            asking = {"verbs": VERBS if ratio in dots else (PREDICT,), "seeds": sizes.seeds}
            for kind, ridge in ((SMALL, SMALL_RIDGE), (BEST, best)):
                point = bench.table(
                    ["test_error"], settings.replace(ridge=ridge), PROBLEM, **asking
                )
                yield point.assign(axis=axis, ratio=ratio, kind=kind, ridge=ridge)
            bench.report((part + (place + 1) / len(ratios)) / len(OTHER))


def draw(table: DataFrame) -> Picture:
    """One panel for each size that varies, one line per ridge."""
    figure, panels = overlay_panels(
        table,
        Side("ratio", scale="log", ticks=[0.1, 0.3, 1, 3, 10]),
        Side("test_error", "test error", "log", ticks=[1, 2, 5, 10, 20]),
        panels=("axis", {"width": "more neurons, $n = 2d$", "samples": "more samples, $p = 2d$"}),
        curves=("kind", {BEST: BEST, SMALL: SMALL}),
        legend="upper left",
    )
    labels = ("$p/n$, neurons per sample", "$n/p$, samples per neuron")
    for panel, label in zip(panels, labels, strict=True):
        draw_guide(panel, "$n = p$", x=1.0, at=0.01)
        panel.set_xlabel(label)
    return figure


def claims(table: DataFrame) -> dict[str, bool]:
    """Dots on the lines; a peak at n = p with a small ridge, a fall with the best one."""
    found = {
        "each dot is within 5 standard errors plus 5 % of its line": on_panel_line(
            table, "test_error", errors=5, relative=0.05
        )
    }
    for axis in OTHER:
        curve = table[table.axis == axis].pivot_table("test_error.theory", "ratio", "kind")
        found[f"with a ridge of 0.0001 the risk over {axis} peaks near n = p"] = 0.6 < curve[
            SMALL
        ].idxmax() < 1.6 and curve[SMALL].max() > 3 * max(curve[SMALL].iloc[[0, -1]])
        found[f"with the best ridge it falls with {axis}, and is never above the other"] = bool(
            (curve[BEST].diff().iloc[1:] < 0).all() and (curve[BEST] <= curve[SMALL]).all()
        )
    return found


REFERENCES = cite("1908.05355")
SIZES = figure_sizes(dim=(60, 100, 300), points=(5, 33, 81), dots=(3, 9, 17), seeds=(5, 12, 50))
