"""What three layers learn of a tree, and two cannot.

Test error over the variance of the labels on y = tanh(c h), h the sum of p over d^(1/2) leaves, d =
{dim}; mean over {seeds} seeds with standard errors, cut at 1.3. All but the lazy network share
their first layer. Dotted: best polynomials of degree 2, 3, 4 in the true leaves; dashed: the
theorem's kappa = 3/2, and where half of the leaves are predicted to show in the second moments of
the labels. No sharp threshold is visible at 3/2, where hardly anything is learned: at such d the
first layer needs ten times the samples at which it sees anything. From few samples the third layer
does not help, and p = He2 + He3 takes many more.
"""

from __future__ import annotations

import math

from giantstep.asking.verbs import SIMULATE
from giantstep.bibliography import cite
from giantstep.gallery.figure import DataFrame, Picture, Sizes, Workbench
from giantstep.gallery.panels import draw_dots, guide
from giantstep.gallery.style import COLOURS, new_figure
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


def rows(sizes: Sizes, bench: Workbench) -> DataFrame:
    """Errors by tree, network and samples, with floors and the predicted samples of a half span."""
    import pandas

    parts = []
    samples = [round(sizes.dim**kappa) for kappa in sizes.kappas]
    for tree in TREES:
        law = predict(TreeProblem(tree), ThreeLayer(dim=sizes.dim)).metrics
        floors = {f"floor{k}": law["floor"][k - 1] for k in (2, 3, 4)}
        for scenario in ("lazy", "joint"):
            settings = ThreeLayer(
                dim=sizes.dim,
                scenario=scenario,
                width=sizes.width,
                second_width=sizes.second_width,
                samples=samples,
            )
            part = bench.table(
                ["test_error_relative"], settings, tree, verbs=(SIMULATE,), seeds=sizes.seeds
            )
            parts.append(part.assign(tree=tree, half=law["kappa_half_span"], **floors))
    table = pandas.concat(parts, ignore_index=True)
    return table.assign(kappa=[math.log(n) / math.log(sizes.dim) for n in table.samples])


def draw(table: DataFrame) -> Picture:
    """One panel per tree, one colour per network; floors dotted."""
    figure, panels = new_figure(8.4, 3.9, ncols=len(TREES), sharey=True)
    for panel, (tree, title) in zip(panels, TREES.items(), strict=True):
        here = table[table.tree == tree]
        for (name, label), colour in zip(NETWORKS.items(), COLOURS, strict=False):
            own = here[here.network == name]
            draw_dots(panel, own, "kappa", "test_error_relative", colour, label)
        floors: dict[float, list[str]] = {}
        for degree in (2, 3, 4):
            floors.setdefault(round(here[f"floor{degree}"].iloc[0], 6), []).append(str(degree))
        for floor, degrees in floors.items():
            guide(panel, f"best of degree {' and '.join(degrees)}", y=floor)
        guide(panel, "theorem: 3/2", x=THEOREM)
        guide(panel, "half of the leaves", x=here.half.iloc[0])
        panel.set(title=title, xlabel=r"$\kappa = \log n / \log d$", ylim=(0, HIGHEST))
    panels[0].set_ylabel("test error / variance")
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside upper center", ncols=3)
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
SIZES = {
    "reduced": Sizes(kappas=(1.5, 2.2), dim=36, width=120, second_width=150, seeds=3),
    "quick": Sizes(
        kappas=(1.5, 1.66, 1.82, 1.98, 2.14, 2.3), dim=36, width=250, second_width=400, seeds=3
    ),
    "full": Sizes(
        kappas=(1.5, 5 / 3, 11 / 6, 2.0, 2.1, 2.2),
        dim=64,
        width=500,
        second_width=1000,
        seeds=5,
    ),
}
