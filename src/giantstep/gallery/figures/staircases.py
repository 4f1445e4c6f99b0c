"""The staircase of correlations and the grand staircase, side by side.

Which directions are found once others are known, for {targets} targets: from correlations with the
label (above: giant steps on fresh samples) and from any function of it (below: message passing, or
steps on repeated samples). He2(h1) + sign(h1 h2 h3) climbs both alike; with He4 the first
correlation is of degree 3, while a function of the label shows h1 at order 2; the parity alone
takes d^3 samples by correlations, and is hard for any function of the label: its stair is not
climbed with n of order d (dashed). Thresholds are those of weak recovery.
"""

from __future__ import annotations

from giantstep.bibliography import cite
from giantstep.explanation.explain import explain
from giantstep.gallery.figure import DataFrame, Picture, Sizes, Tables, Workbench, figure_sizes
from giantstep.gallery.staircase import Tread, draw_treads, drawn_class_treads, drawn_leap_treads
from giantstep.gallery.style import new_figure

TARGETS = {
    "He2(h1) + sign(h1*h2*h3)": r"$\mathrm{He}_2(h_1) + \mathrm{sign}(h_1 h_2 h_3)$",
    "He4(h1) + sign(h1*h2*h3)": r"$\mathrm{He}_4(h_1) + \mathrm{sign}(h_1 h_2 h_3)$",
    "sign(h1*h2*h3)": r"$\mathrm{sign}(h_1 h_2 h_3)$",
}
STANDARD, GRAND, HARD = TARGETS
KINDS = {
    "giant steps": ("fresh samples: correlations", drawn_leap_treads),
    "message passing": ("repetition, message passing: any function", drawn_class_treads),
}
DIRECTIONS = 3


def rows(sizes: Sizes, bench: Workbench) -> Tables:
    """One line per stair."""

    chosen = list(TARGETS)[-sizes.targets :]
    for number, target in enumerate(chosen):
        explanation = explain(target)
        for kind, (_, treads) in KINDS.items():
            for stair, tread in enumerate(treads(explanation)):
                yield {"target": target, "kind": kind, "stair": stair, **tread._asdict()}
        bench.report((number + 1) / len(chosen))


def draw(table: DataFrame) -> Picture:
    """One column per target, one row per staircase."""
    names = list(dict.fromkeys(table.target))
    figure, panels = new_figure(
        3.2 * len(names), 5.6, nrows=2, ncols=len(names), sharey=True, squeeze=False
    )
    for column, target in enumerate(names):
        for line, (kind, (title, _)) in enumerate(KINDS.items()):
            here = table[(table.target == target) & (table.kind == kind)]
            treads = [
                Tread(*values) for values in here[list(Tread._fields)].itertuples(index=False)
            ]
            panel = panels[line, column]
            draw_treads(panel, treads, DIRECTIONS)
            panel.set_title(f"{TARGETS[target]}\n{title}" if line == 0 else title, fontsize=8)
            if column:
                panel.set_ylabel("")
    return figure


def claims(table: DataFrame) -> dict[str, bool]:
    """Which stairs there are, and which are climbed."""
    found: dict[str, bool] = {}
    stairs = {
        key: (tuple(part.leap), tuple(part["size"]), bool(part.climbed.all()))
        for key, part in table.groupby(["target", "kind"], sort=False)
    }
    if (STANDARD, "giant steps") in stairs:
        found["with He2 both ways take the same stairs, h1 and then h2 and h3, each of order 2"] = (
            stairs[STANDARD, "giant steps"][:2]
            == stairs[STANDARD, "message passing"][:2]
            == ((2, 2), (1, 2))
        )
    if (GRAND, "giant steps") in stairs:
        first = stairs[GRAND, "giant steps"][0][0]
        found["with He4 the first stair is higher for correlations than for message passing"] = (
            first > stairs[GRAND, "message passing"][0][0] == 2
        )
    found["the parity of three signs alone is hard: a stair of order 3 that is not climbed"] = (
        stairs[HARD, "message passing"] == ((3,), (3,), False)
    )
    return found


REFERENCES = cite("2405.15480", "2302.11055", "2402.03220")
SIZES = figure_sizes(targets=(1, 3, 3))
