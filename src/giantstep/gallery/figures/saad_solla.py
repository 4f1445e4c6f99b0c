"""A plateau, then each neuron takes a part of its own.

Two neurons with activation erf(z/sqrt 2) learn the sum of two such, one sample at a time, square
loss, free weights, step size 0.5 in our unit, from cosines of 0.2 and 0.05. Left: cosines of the
first neuron with both directions; right: the test error, with its plateau. Lines: the closed
equations of Saad and Solla in the limit of large d; dots: {seeds} simulations, exact in law, d =
{dim}, with standard errors.
"""

from __future__ import annotations

from typing import Any

from giantstep.asking.verbs import predict, simulate
from giantstep.bibliography import cite
from giantstep.gallery.figure import (
    DataFrame,
    Picture,
    Sizes,
    Tables,
    Workbench,
    figure_columns,
    figure_sizes,
)
from giantstep.gallery.panels import draw_line_and_dots, on_panel_line
from giantstep.gallery.style import COLOURS, new_figure
from giantstep.language.problem import Problem
from giantstep.settings.online_sgd import OnlineSgd

TARGET, NOISE = "erf(h1/sqrt(2)) + erf(h2/sqrt(2))", 1e-4
OPTIONS: dict[str, Any] = {
    "activation": "erf2",
    "geometry": "free",
    "width": 2,
    "readout": "2",
    "step_size": 0.5,
}
START = "0.2,0.05;0.05,0.2"
TIMES = "0:80:21"


#: Of the cosines of the first neuron.
NAMES = {"own": "with its own direction", "other": "with the other"}


def rows(sizes: Sizes, bench: Workbench) -> Tables:
    """Risk along time, and the cosines of the first neuron with both directions."""
    import pandas

    settings = OnlineSgd(dim=sizes.dim, times=TIMES, start_overlap=START, **OPTIONS)
    problem = Problem(TARGET, NOISE)
    law = predict(settings, problem)
    run = simulate(settings, problem, seeds=sizes.seeds, progress=bench.progress)
    table = pandas.DataFrame(
        {
            "time": settings.time_list,
            **figure_columns("test_error", run.metrics["test_error"]),
            "test_error.theory": law.metrics["test_error"],
        }
    )
    for direction, name in enumerate(NAMES):
        table = table.assign(
            **figure_columns(name, run.arrays["cosines"][:, :, 0, direction]),
            **{f"{name}.theory": law.arrays["cosines"][:, 0, direction]},
        )
    yield table


def draw(table: DataFrame) -> Picture:
    """Cosines of a neuron with its own and with the other direction; the risk."""
    figure, (left, right) = new_figure(7.4, 3.3, ncols=2)
    for (name, label), colour in zip(NAMES.items(), COLOURS, strict=False):
        draw_line_and_dots(left, table, "time", name, colour, label)
    left.set(xlabel="samples / $d$", ylabel="cosine of the first neuron")
    left.legend(loc="center right")
    draw_line_and_dots(right, table, "time", "test_error", COLOURS[2])
    right.set(xlabel="samples / $d$", ylabel="test error", yscale="log")
    return figure


def claims(table: DataFrame) -> dict[str, bool]:
    """Dots on lines; first both directions alike, then one."""
    early, last = table[table.time == 8.0].iloc[0], table.iloc[-1]
    return {
        "the risk and both cosines are within 5 standard errors of the equations": all(
            on_panel_line(table[table.time > 0], name, errors=5)
            for name in ("test_error", "own", "other")
        ),
        "early, a neuron knows both directions alike: cosines within 0.3": bool(
            abs(early.own - early.other) < 0.3
        ),
        "late, it has chosen: cosines above 0.9 and below 0.3": bool(
            last.own > 0.9 and abs(last.other) < 0.3
        ),
    }


REFERENCES = cite("saad-solla-1995")
SIZES = figure_sizes(dim=(500, 1000, 4000), seeds=(8, 16, 100))
