"""Where the neurons go in the plane of two target directions.

Cosines of {width} relu neurons with h1 and h2 before and after giant steps on fresh batches; one
network each, simulated exactly in law. First two rows: d = {dim}, step size 2; the linear part puts
every neuron on the line of h1 + h2 (grey), and a second step leaves it only where the squares have
opposite signs. Last row: d = {small}; a target of leap 2 is not learned from 8d samples, which
leave noise of order d^(-1/2); from 2d^2, with step size 4 d^(1/2), neurons spread over the whole
plane (shaded: the subspace predicted).
"""

from __future__ import annotations

from typing import Any, NamedTuple

from giantstep.asking.verbs import simulate
from giantstep.bibliography import cite
from giantstep.gallery.figure import DataFrame, Picture, Sizes, Tables, Workbench, figure_sizes
from giantstep.gallery.style import COLOURS, GREY, new_figure
from giantstep.settings.giant_step import GiantStep
from giantstep.theory.learnability.staircase import predicted_subspaces


class Cloud(NamedTuple):
    """A target, its formula, and the settings and the step of each panel of its row."""

    target: str
    formula: str
    panels: tuple[tuple[str, dict[str, Any], int], ...]


GIANT: dict[str, Any] = {"samples": "8d", "step_size": "2"}
SQUARE: dict[str, Any] = {"samples": "2*d^2", "step_size": "4*d^0.5"}
START, ONE = ("start", GIANT, 0), ("one step, $n = 8d$", GIANT, 1)
TWO, LARGE = ("two steps, $n = 8d$", GIANT, 2), ("one step, $n = 2d^2$", SQUARE, 1)
EXAMPLES = (
    Cloud("ex1", "$h_1 + h_2 + h_1^2 - h_2^2$", (START, ONE, TWO)),
    Cloud("ex2", "$h_1 + h_2 + h_1^2 + h_2^2$", (START, ONE, TWO)),
    Cloud(
        "He2(h1) + He2(h2)",
        r"$\mathrm{He}_2(h_1) + \mathrm{He}_2(h_2)$",
        (START, ONE, LARGE),
    ),
)


def rows(sizes: Sizes, bench: Workbench) -> Tables:
    """Cosines of every neuron with h1 and h2, by target and panel."""
    import pandas

    for number, example in enumerate(EXAMPLES):
        dim = sizes.small if number == 2 else sizes.dim
        runs = {}
        for column, (_, settings, step) in enumerate(example.panels):
            key = settings["samples"]
            if key not in runs:
                steps = max(t for _, other, t in example.panels if other == settings)
                fixed: dict[str, Any] = {"dim": dim, "width": sizes.width, "method": "in-law"}
                chosen = GiantStep(**fixed, **settings, steps=steps)
                runs[key] = simulate(chosen, example.target, seeds=1)
            cosines = runs[key].arrays["cosines"][0, step]
            cloud = pandas.DataFrame({"h1": cosines[:, 0], "h2": cosines[:, 1]})
            yield cloud.assign(target=example.target, column=column, step=step, dim=dim)
        bench.report((number + 1) / len(EXAMPLES))


def draw(table: DataFrame) -> Picture:
    """One row per target, one panel per stage; the line that is learned is grey."""
    figure, panels = new_figure(6.4, 6.8, nrows=3, ncols=3, sharex=True, sharey=True)
    for line, example in zip(panels, EXAMPLES, strict=True):
        for column, (panel, (title, _, step)) in enumerate(zip(line, example.panels, strict=True)):
            here = table[(table.target == example.target) & (table.column == column)]
            _draw_space(panel, example, step, title)
            panel.scatter(here.h1, here.h2, s=5, color=COLOURS[0], alpha=0.6, linewidths=0)
            panel.set_title(title, fontsize=8)
            panel.set_aspect("equal")
        line[0].set_ylabel(f"{example.formula}\n\ncosine with $h_2$", fontsize=8)
    for panel in panels[-1]:
        panel.set_xlabel("cosine with $h_1$")
    panels[0, 0].set(xlim=(-1, 1), ylim=(-1, 1))
    return figure


def _draw_space(panel: Any, example: Cloud, step: int, title: str) -> None:
    """The predicted subspace: nothing, a line, or the whole plane."""
    from giantstep.language.targets import Target

    leap = 2 if "^2" in title else 1
    space = predicted_subspaces(Target(example.target), step, leap)[step]
    if len(space) == 1:
        panel.axline((0, 0), tuple(space[0]), color=GREY, linewidth=0.9, zorder=0)
    elif len(space) == 2:
        panel.set_facecolor("#eef4f8")


def claims(table: DataFrame) -> dict[str, bool]:
    """How far the clouds reach along the diagonal and across it."""
    import numpy as np

    def reach(target: str, column: int) -> tuple[float, float]:
        here = table[(table.target == target) & (table.column == column)]
        along, across = (here.h1 + here.h2) / 2**0.5, (here.h1 - here.h2) / 2**0.5
        return float(np.sqrt((along**2).mean())), float(np.sqrt((across**2).mean()))

    noise = 3 * table.dim.max() ** -0.5
    leap = EXAMPLES[2].target
    chance = 3 * table.dim.min() ** -0.5
    return {
        "one step puts the neurons of the first two rows on the line of h1 + h2": all(
            reach(target, 1)[0] > 0.5 and reach(target, 1)[1] < noise for target in ("ex1", "ex2")
        ),
        "a second step leaves the line where the squares differ in sign, and stays on it where "
        "they agree": reach("ex1", 2)[1] > 0.25 and reach("ex2", 2)[1] < noise,
        "a target of leap 2 is not learned from 8d samples, and in both directions at once from "
        "2d^2": max(reach(leap, 1)) < chance and min(reach(leap, 2)) > 1.2 * chance,
    }


REFERENCES = cite("2305.18270")
SIZES = figure_sizes(dim=(1000, 2000, 8000), small=(150, 200, 400), width=(80, 200, 300))
