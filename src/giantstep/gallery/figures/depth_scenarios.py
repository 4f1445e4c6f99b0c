"""What three layers learn of a tree, and two cannot.

Test error over the variance of the labels on y = tanh(c h), h the sum of p over d^(1/2) leaves, d =
{dim}; mean over {seeds} seeds with standard errors, cut at 1.3. All but the lazy network share
their first layer. Dotted: best polynomials of degree 2, 3, 4 in the true leaves; upright: the
theorem's kappa = 3/2, and where half of the leaves are predicted to show in the second moments of
the labels. No sharp threshold is visible at 3/2, where hardly anything is learned: at such d the
first layer needs ten times the samples at which it sees anything. From few samples the third layer
does not help, and p = He2 + He3 takes many more.
"""

from __future__ import annotations

import math

from giantstep.asking.verbs import SIMULATE
from giantstep.bibliography import cite
from giantstep.gallery.figure import DataFrame, Picture, Sizes, Tables, Workbench, figure_sizes
from giantstep.gallery.panels import Side, draw_guide, overlay_panels
from giantstep.language.problem import TreeProblem
from giantstep.settings.three_layer import ThreeLayer
from giantstep.theory.three_layer.prediction import predict

TREES = {
    "tree-he2": r"$p = \mathrm{He}_2$",
    "tree-authors": r"$p = \mathrm{He}_2/2 + \mathrm{He}_3/6$",
    "tree-slides": r"$p = \mathrm{He}_2 + \mathrm{He}_3$",
}
NETWORKS = {
    "lazy": "I: lazy, quadratic in $x$",
    "two-layer": "two layers",
    "first-layer": "II: second layer random",
    "second-layer": "III: second layer trained",
    "joint": "III, both trained jointly",
}
#: Where the theorem has its threshold.
THEOREM = 1.5
#: Errors are drawn up to here.
HIGHEST = 1.3


def rows(sizes: Sizes, bench: Workbench) -> Tables:
    """Errors by tree, network and samples, with floors and the predicted samples of a half span."""

    settings = ThreeLayer(
        dim=sizes.dim,
        width=sizes.width,
        second_width=sizes.second_width,
        samples=[round(sizes.dim**kappa) for kappa in sizes.kappas],
    )
    asking = {"verbs": (SIMULATE,), "seeds": sizes.seeds}
    for tree in TREES:
        law = predict(TreeProblem(tree), ThreeLayer(dim=sizes.dim)).metrics
        known = {f"floor{k}": law["floor"][k - 1] for k in (2, 3, 4)}
        known |= {"tree": tree, "half": law["kappa_half_span"]}
        for scenario in ("lazy", "joint"):
            chosen = settings.replace(scenario=scenario)
            part = bench.table(["test_error_relative"], chosen, tree, **asking)
            kappa = [math.log(n) / math.log(sizes.dim) for n in part.samples]
            yield part.assign(**known, kappa=kappa)


def draw(table: DataFrame) -> Picture:
    """One panel per tree, one colour per network; floors dotted."""
    figure, panels = overlay_panels(
        table,
        Side("kappa", r"$\kappa = \log n / \log d$"),
        Side("test_error_relative", "test error / variance", limits=(0, HIGHEST)),
        panels=("tree", TREES),
        curves=("network", NETWORKS),
        legend="above",
    )
    for panel, tree in zip(panels, TREES, strict=True):
        first = table[table.tree == tree].iloc[0]
        floors: dict[float, list[str]] = {}
        for degree in (2, 3, 4):
            floors.setdefault(round(first[f"floor{degree}"], 6), []).append(str(degree))
        for floor, degrees in floors.items():
            draw_guide(panel, f"degree {', '.join(degrees)}", y=floor, at=0.28)
        draw_guide(panel, "theorem: 3/2", x=THEOREM, at=0.02)
        draw_guide(panel, "half of the leaves", x=first.half, at=0.02)
    return figure


def claims(table: DataFrame) -> dict[str, bool]:
    """The third layer pays from many samples, and not from few; no threshold at 3/2."""
    errors = table.pivot_table("test_error_relative", ["tree", "kappa"], "network")
    spread = table.pivot_table("test_error_relative.sem", ["tree", "kappa"], "network")
    easy, doubt = errors.loc["tree-he2"], spread.loc["tree-he2"]
    most, least = easy.iloc[-1], easy.iloc[0]
    gap = most["first-layer"] - most["second-layer"]
    doubt_of_gap = math.hypot(*doubt.iloc[-1][["first-layer", "second-layer"]])
    slides = errors.loc["tree-slides"]
    return {
        "He2, most samples: II - III is above 3 standard errors": gap > 3 * doubt_of_gap,
        "He2, most samples: I above II above III above III joint": most["lazy"]
        > most["first-layer"]
        > most["second-layer"]
        > most["joint"],
        "He2, n = d^1.5: every network leaves more than half of the variance": least.min() > 0.5,
        "He2, n = d^1.5: the third layer does not help": least[["second-layer", "joint"]].min()
        > least[["two-layer", "first-layer"]].min() - 0.02,
        "He2 + He3, n = d^1.5: nobody learns anything": slides.iloc[0].min() > 0.85,
        "He2 + He3: trained three layers are always behind those on He2": bool(
            (slides["second-layer"] > easy["second-layer"] - 0.1).all()
        )
        and slides["second-layer"].iloc[-1] > most["second-layer"] + 0.1,
    }


REFERENCES = cite("2502.13961")
SIZES = figure_sizes(
    kappas=((1.5, 2.2), (1.5, 1.66, 1.82, 1.98, 2.14, 2.3), (1.5, 5 / 3, 11 / 6, 2.0, 2.1, 2.2)),
    dim=(36, 36, 64),
    width=(120, 250, 500),
    second_width=(150, 400, 1000),
    seeds=(3, 3, 5),
)
