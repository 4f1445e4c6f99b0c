"""Two against three layers on a tree, both trained by AdamW.

Test error over the variance of the labels of relu networks d-512-1 and d-256-32-1, trained by AdamW
on the same samples of y = tanh(c h), h the sum of p over d^(1/2) leaves, d = {dim}; mean over
{seeds} seeds with standard errors. Dotted: the best cubic polynomial in the true leaves. Weight
decay 2 or 4, whichever a fifth of the samples prefers. From the most samples both networks find the
leaves equally well: what three layers gain is no better first layer.
"""

from __future__ import annotations

import math

from giantstep.asking.verbs import SIMULATE
from giantstep.bibliography import cite
from giantstep.gallery.figure import (
    DataFrame,
    Picture,
    Sizes,
    Tables,
    Workbench,
    figure_sizes,
    figure_table,
)
from giantstep.gallery.panels import Side, draw_guide, overlay_panels
from giantstep.language.problem import TreeProblem
from giantstep.settings.three_layer import ThreeLayer
from giantstep.theory.three_layer.prediction import predict

TREES = {
    "tree-he2": r"$p = \mathrm{He}_2$",
    "tree-authors": r"$p = \mathrm{He}_2/2 + \mathrm{He}_3/6$",
}
NETWORKS = {"adam-2": "two layers", "adam-3": "three layers"}


def rows(sizes: Sizes, bench: Workbench) -> Tables:
    """Errors and alignments by tree, network and samples, with the floor of cubic polynomials."""

    samples = [round(sizes.dim**kappa) for kappa in sizes.kappas]
    settings = ThreeLayer(dim=sizes.dim, scenario="adam", samples=samples)
    for tree in sizes.trees:
        floor = predict(TreeProblem(tree), settings.points[0]).metrics["floor"][2]
        answer = bench.answer(settings, tree, verbs=(SIMULATE,), seeds=sizes.seeds)
        spans = figure_table(answer, ["span"]).rename(columns={"stage": "network"})
        part = figure_table(answer, ["test_error_relative"]).merge(spans, on=["samples", "network"])
        yield part.assign(tree=tree, floor3=floor)


def draw(table: DataFrame) -> Picture:
    """Errors, one panel per tree, one colour per network."""
    ticks = [n for n in (300, 1000, 3000, 10_000) if n < 1.3 * table.samples.max()]
    figure, panels = overlay_panels(
        table,
        Side("samples", "samples $n$", "log", ticks=ticks),
        Side("test_error_relative", "test error / variance", limits=(0, None)),
        panels=("tree", TREES),
        curves=("network", NETWORKS),
        legend="upper right",
    )
    for panel, tree in zip(panels, table.tree.unique(), strict=True):
        floor = table[table.tree == tree].floor3.iloc[0]
        draw_guide(panel, "best cubic in the leaves", y=floor, at=0.25)
    return figure


def claims(table: DataFrame) -> dict[str, bool]:
    """Three layers beat two from many samples, on every tree."""
    most = table[table.samples == table.samples.max()]
    errors = most.pivot_table("test_error_relative", "tree", "network")
    doubts = most.pivot_table("test_error_relative.sem", "tree", "network")
    gaps = errors["adam-2"] - errors["adam-3"]
    spans = most.pivot_table("span", "tree", "network")
    doubt = [math.hypot(*pair) for pair in doubts.to_numpy()]
    return {
        "from the most samples three layers are better by 3 standard errors": bool(
            (gaps > [3 * each for each in doubt]).all()
        ),
        "there both find the leaves: their spans are above 0.9 and differ by less than 0.03": bool(
            (spans > 0.9).all(axis=None)
            and ((spans["adam-2"] - spans["adam-3"]).abs() < 0.03).all()
        ),
    }


REFERENCES = cite("2502.13961")
SIZES = figure_sizes(
    trees=(("tree-he2",), ("tree-he2",), ("tree-he2", "tree-authors")),
    kappas=((2.4,), (1.6, 1.75, 1.95, 2.1, 2.25, 2.4), (1.5, 5 / 3, 11 / 6, 2.0, 2.1, 2.2)),
    dim=(25, 25, 64),
    seeds=(3, 3, 5),
)
