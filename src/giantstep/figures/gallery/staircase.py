"""The staircase: directions that a network learns one giant step after another."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from giantstep.figures.figure import Figure, Workbench
from giantstep.figures.panels import lay_over, on_the_line, over_steps
from giantstep.figures.style import COLOURS, new_figure
from giantstep.studies.study import Study
from giantstep.targets import Target

if TYPE_CHECKING:
    import pandas
    from matplotlib.figure import Figure as Picture

#: Sum and difference of two directions become the axes. Of ex3a, h2 - h3 then drops out.
ROTATIONS = {
    "ex1": {"h1": "(h1 + h2)/sqrt(2)", "h2": "(h1 - h2)/sqrt(2)"},
    "ex2": {"h1": "(h1 + h2)/sqrt(2)", "h2": "(h1 - h2)/sqrt(2)"},
    "ex3a": {"h2": "(h2 + h3)/sqrt(2)", "h3": "(h2 - h3)/sqrt(2)"},
    "ex3b": {},
}
TITLES = {
    "ex1": "$h_1 + h_2 + h_1^2 - h_2^2$",
    "ex2": "$h_1 + h_2 + h_1^2 + h_2^2$",
    "ex3a": "$h_1 + h_1 h_2 + h_1 h_3$",
    "ex3b": r"$h_1 + h_1 h_2 + \mathrm{He}_3(h_1) h_3$",
}
DIRECTIONS = {
    "ex1": ("$h_1+h_2$", "$h_1-h_2$"),
    "ex2": ("$h_1+h_2$", "$h_1-h_2$"),
    "ex3a": ("$h_1$", "$h_2+h_3$"),
    "ex3b": ("$h_1$", "$h_2$", "$h_3$"),
}
STEPS = 3
SETTINGS = {"samples": "8d", "steps": STEPS, "step_size": "2", "width": "8"}


class Sizes(NamedTuple):
    """Dimension and number of networks."""

    dim: int
    seeds: int


def rows(sizes: Sizes, bench: Workbench) -> pandas.DataFrame:
    """Overlaps by example, direction and step."""
    import pandas

    parts = []
    for example, rotation in ROTATIONS.items():
        summary = bench.summary(
            Study(
                name=f"staircase {example} {sizes.dim}",
                learner="giant-step",
                problem={"target": _rotated(example, rotation)},
                settings={**SETTINGS, "dim": sizes.dim},
                seeds=sizes.seeds,
            )
        )
        parts.append(over_steps(summary, "overlap").assign(example=example, dim=sizes.dim))
    return pandas.concat(parts, ignore_index=True)


def _rotated(example: str, rotation: dict[str, str]) -> str:
    text = Target(example).text
    return re.sub(r"\bh\d\b", lambda name: f"({rotation.get(name[0], name[0])})", text)


def draw(table: pandas.DataFrame) -> Picture:
    """One panel an example, one line a direction."""
    figure, panels = new_figure(8.4, 3.3, ncols=len(TITLES), sharey=True)
    for panel, (example, title) in zip(panels, TITLES.items(), strict=True):
        for direction, label in enumerate(DIRECTIONS[example]):
            here = table[(table.example == example) & (table.direction == direction)]
            lay_over(panel, here, "step", "overlap", COLOURS[direction])
            end = here["overlap.theory"].iloc[-1]
            panel.annotate(
                label,
                (STEPS, end),
                xytext=(6, 0),
                textcoords="offset points",
                va="center",
                color=COLOURS[direction],
            )
        panel.set_title(title)
        panel.set_xlim(-0.2, STEPS + 1.9)
        panel.set_xticks(range(STEPS + 1))
        panel.set_xlabel("giant steps")
    panels[0].set_ylabel("overlap with the direction (cosine)")
    return figure


def claims(table: pandas.DataFrame) -> dict[str, bool]:
    """Dots on the lines; which direction is learned when."""
    overlap = table.set_index(["example", "direction", "step"])["overlap"].sort_index()
    noise = 2 * table.dim.iloc[0] ** -0.5
    return {
        "each dot is within 5 standard errors + 0.005 of its line": on_the_line(
            table, "overlap", errors=5, allowance=0.005
        ),
        "the first step learns h1 (or h1 + h2) and nothing else": all(
            overlap[example, 0, 1] > 0.3
            and all(overlap[example, other, 1] < noise for other in range(1, len(names)))
            for example, names in DIRECTIONS.items()
        ),
        "the second step learns h1 - h2 where the squares differ in sign, and never otherwise": (
            overlap["ex1", 1, 2] > 0.2 and overlap["ex2", 1].max() < noise
        ),
        "the second step learns h2 and h3 at once": all(
            overlap[example, direction, 2] > noise
            for example in ("ex3a", "ex3b")
            for direction in range(1, len(DIRECTIONS[example]))
        ),
    }


FIGURE = Figure(
    name="staircase",
    title="Directions that a network learns one giant step after another",
    caption="""Root mean square cosine of the neurons with directions of the target, after each
    giant step on a fresh batch: d = {dim}, n = 8d samples per step, 8 relu neurons, step size 2,
    readout +-1. A step learns a direction that enters the target linearly, given those already
    known: h1 - h2, h2 + h3, h2 and h3 wait for the second step; where the squares have one sign,
    h1 - h2 is never learned. Lines: limit of large d with the fluctuations of this d; dots:
    {seeds} simulations, exact in law, with standard errors.""",
    references=("Dandi et al. 2023, arXiv:2305.18270, examples 1-3",),
    sizes={
        "reduced": Sizes(dim=4000, seeds=8),
        "quick": Sizes(dim=16_000, seeds=16),
        "full": Sizes(dim=64_000, seeds=32),
    },
    rows=rows,
    draw=draw,
    claims=claims,
)
