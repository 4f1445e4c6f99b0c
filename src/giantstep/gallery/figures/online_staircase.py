"""One sample at a time climbs the staircase.

Cosines of one neuron on the sphere with the target's directions, one sample at a time, correlation
loss. Left: relu, step size 0.3, from overlaps of 0.05. Right: relu(z-1), step size 0.02, from
overlaps of 0.2; the sign alone is a hard target, and the first direction opens the way to the
others. With weight 1 on the sign instead of 5 the second stair was not climbed in any setting
tried. Lines: equations of motion in the limit of large d; dots: {seeds} simulations, exact in law,
d = {dim}, with standard errors.
"""

from __future__ import annotations

from typing import Any

from giantstep.bibliography import cite
from giantstep.gallery.figure import DataFrame, Picture, Sizes, Workbench, at_scales
from giantstep.gallery.panels import DIRECTIONS, Side, on_the_line, overlay
from giantstep.settings.online_sgd import OnlineSgd

#: Target and settings of each panel.
CASES: dict[str, dict[str, Any]] = {
    "h1 + h1*h2": {
        "activation": "relu",
        "step_size": "0.3",
        "start_overlap": "0.05",
        "times": "0,1,2,3,4,6,8,10,12,16",
    },
    "He2(h1) + 5*sign(h1*h2*h3)": {
        "activation": "relu(z-1)",
        "step_size": "0.02",
        "start_overlap": "0.2",
        "times": "0,25,50,75,100,150,200,250,300,400",
    },
}
TITLES = {
    "h1 + h1*h2": "$y = h_1 + h_1 h_2$",
    "He2(h1) + 5*sign(h1*h2*h3)": r"$y = \mathrm{He}_2(h_1) + 5\,\mathrm{sign}(h_1 h_2 h_3)$",
}


def rows(sizes: Sizes, bench: Workbench) -> DataFrame:
    """Overlaps along time by target and direction."""
    import pandas

    parts = []
    for target, options in CASES.items():
        settings = OnlineSgd(**options, loss="correlation", dim=sizes.dim)
        found = bench.table(["overlap"], settings, target, seeds=sizes.seeds)
        parts.append(found.assign(target=target))
    return pandas.concat(parts, ignore_index=True)


def draw(table: DataFrame) -> Picture:
    """One panel per target, one colour per direction; the third lies on the second."""
    return overlay(
        table,
        Side("time", "samples / $d$"),
        Side("overlap", "overlap (cosine)"),
        panels=("target", TITLES),
        curves=DIRECTIONS,
        sharey=False,
        legend="above",
    )[0]


def claims(table: DataFrame) -> dict[str, bool]:
    """Dots on lines; the second direction starts to rise once the first is known."""
    overlap = table.set_index(["target", "direction", "time"])["overlap"].sort_index()
    early, late = (overlap[target] for target in CASES)
    return {
        "each dot is within 5 standard errors of the equations": on_the_line(
            table[table.time > 0], "overlap", errors=5
        ),
        "h1 + h1*h2: both directions are learned, h1 before h2": (
            early["h1", 4.0] > 2 * early["h2", 4.0] and early["h2", 16.0] > 0.3
        ),
        "He2 + 5 sign: h2 and h3 rise after h1, while h1 is above 0.5": (
            late["h2", 400.0] > late["h2", 100.0] + 0.08 and late["h1", 200.0] > 0.5
        ),
    }


REFERENCES = cite("2405.15459", "2202.08658")
SIZES = at_scales(dim=(400, 1000, 4000), seeds=(8, 16, 100))
