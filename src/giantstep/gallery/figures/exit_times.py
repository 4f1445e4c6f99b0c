"""The higher the leap, the longer SGD stays at its start.

Samples that one-pass SGD needs until the cosine of its neuron with the direction of the target has
the size 1/2, from a cosine of d^(-1/2): y = h (step size 0.5/d), He2(h) (0.03/d) and He3(h) (0.1
d^(-3/2)), correlation loss, an activation with the same Hermite degree. They grow as d, d log d and
d^2. Lines: the equations of motion; dots: medians of {seeds} simulations, exact in
law, with errors. The lines count no noise, which at these d moves the median by a term that falls
with d: the claim allows 10 % for it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from giantstep.asking.verbs import predict, simulate
from giantstep.bibliography import cite
from giantstep.gallery.figure import DataFrame, Picture, Sizes, Tables, Workbench, figure_sizes
from giantstep.gallery.panels import Side, on_panel_line, overlay_panels
from giantstep.language.problem import Problem
from giantstep.numerics.scaling import fit_power, sample_median
from giantstep.settings.online_sgd import OnlineSgd

#: The size of the cosine at which a neuron has left.
UNTIL = 0.5
#: By leap: target, activation and step size.
CASES: dict[int, tuple[str, str, str]] = {
    1: ("h1", "identity", "0.5"),
    2: ("He2(h1)/sqrt(2)", "He2(z)/2", "0.03"),
    3: ("He3(h1)/sqrt(12)", "He3(z)/3", "0.1d^-0.5"),
}


def rows(sizes: Sizes, bench: Workbench) -> Tables:
    """Median exit times with their errors, and those of the equations."""

    points = [
        (leap, sizes.lowest * 2**number)
        for leap in CASES
        for number in range(1 + (sizes.doublings if leap < 3 else sizes.doublings3))
    ]
    for done, (leap, dim) in enumerate(points):
        yield {"leap": leap, "dim": dim, **_figure_exits(leap, dim, sizes.seeds)}
        bench.report((done + 1) / len(points))


def _figure_exits(leap: int, dim: int, seeds: int) -> dict[str, Any]:
    text, sigma, step_size = CASES[leap]
    scale = {1: 1.2, 2: 10 * np.log(dim), 3: 5.5 * dim}[leap]
    settings = OnlineSgd(
        dim=dim,
        activation=sigma,
        step_size=step_size,
        loss="correlation",
        start_overlap="d^-0.5",
        until=UNTIL,
        times=f"{3.5 * scale:.6g}",
        test_samples=1,
    )
    problem = Problem(text)
    times = simulate(settings, problem, seeds=seeds).metrics["exit_time"]
    middle, error = sample_median(times)
    return {
        "exit_time": middle,
        "exit_time.sem": error,
        "exit_time.theory": predict(settings, problem).metrics["exit_time"],
        "left": float(np.mean(np.isfinite(times))),
    }


def draw(table: DataFrame) -> Picture:
    """Samples to leave over the dimension."""
    ends = {
        f"samples{end}": table.dim * table[f"exit_time{end}"] for end in ("", ".sem", ".theory")
    }
    return overlay_panels(
        table.assign(**ends),
        Side("dim", "dimension $d$", "log2"),
        Side("samples", "samples until the overlap is 1/2", "log"),
        curves=("leap", {leap: f"leap {leap}" for leap in CASES}),
        legend="upper left",
    )[0]


def claims(table: DataFrame) -> dict[str, bool]:
    """Medians near the equations; the powers of d that the leaps promise."""
    growth = {
        leap: 1 + fit_power(here.dim, here["exit_time"], here["exit_time.sem"]).slope
        for leap, here in table.groupby("leap")
    }
    return {
        "each median is within 4 errors plus 10 % of the equations": on_panel_line(
            table, "exit_time", errors=4, relative=0.1
        ),
        "samples grow about as d, d log d and d^2": (
            0.9 < growth[1] < 1.25 < growth[2] + 0.1 < 1.6 < growth[3] < 2.4
        ),
        "more than half of the runs have left when the simulation ends": bool(
            (table.left > 0.5).all()
        ),
    }


REFERENCES = cite("2003.10409")
SIZES = figure_sizes(
    lowest=(50, 50, 100), doublings=(2, 4, 4), doublings3=(1, 2, 2), seeds=(41, 101, 401)
)
