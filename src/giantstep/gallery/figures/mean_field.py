"""Particles of a wide network in the flow of its risk.

A network with activation erf(z/sqrt 2) and readouts +1 and -1 learns y = tanh(2 h) in the
mean-field limit, in steps of 0.5. Left: every neuron is a particle with an overlap m with the
direction and a length rho of the rest; lines: paths of the flow; dots: the neurons of one network
of width {width}, d = {dim}, 50 d fresh samples per step. Right: the test error; line: the flow,
dots: {seeds} such networks with standard errors. Finite width, dimension and batches are not in the
flow: the claim allows 2 % for them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

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
from giantstep.gallery.panels import draw_line_and_dots, on_panel_line, ticks_at
from giantstep.gallery.style import COLOURS, new_figure
from giantstep.language.problem import Problem
from giantstep.settings.mean_field import MeanField

PROBLEM = Problem("tanh(2*h1)")
OPTIONS: dict[str, Any] = {"activation": "erf2", "step": 0.5, "samples": "50d"}
#: Times at which the simulated neurons are drawn.
SHOWN = (0.0, 2.5, 5.0, 10.0)
SIGNS = {1: "readout $+1$", -1: "readout $-1$"}


def rows(sizes: Sizes, bench: Workbench) -> Tables:
    """The risk along time, then place of every particle, in theory and in one network."""
    import pandas

    points = round(sizes.until / OPTIONS["step"]) + 1
    settings = MeanField(
        dim=sizes.dim, width=sizes.width, times=f"0:{sizes.until:g}:{points}", **OPTIONS
    )
    law = predict(settings, PROBLEM)
    run = simulate(settings, PROBLEM, seeds=sizes.seeds, progress=bench.progress)
    risk = {"time": settings.time_list, **figure_columns("test_error", run.metrics["test_error"])}
    risk |= {"test_error.theory": law.metrics["test_error"]}
    yield pandas.DataFrame(risk).assign(kind="risk")
    one = {name: array[0] for name, array in run.arrays.items()}
    for kind, arrays in (("theory", law.arrays), ("network", one)):
        norms = arrays["norms"]
        along = arrays["cosines"][..., 0] * norms
        beside = np.sqrt(np.maximum(norms**2 - along**2, 0.0))
        signs = np.repeat([1, -1], norms.shape[1] // 2)
        for number, time in enumerate(settings.time_list):
            place = {"neuron": np.arange(len(signs)), "sign": signs, "m": along[number]}
            part = pandas.DataFrame({**place, "rho": beside[number]})
            yield part.assign(kind=kind, time=time)


def draw(table: DataFrame) -> Picture:
    """Paths of the particles with the neurons of one network on them; the risk."""
    figure, (left, right) = new_figure(7.4, 3.3, ncols=2)
    for (sign, label), colour in zip(SIGNS.items(), COLOURS, strict=False):
        here = table[table.sign == sign]
        paths = here[here.kind == "theory"]
        for neuron in paths.neuron.unique()[:8]:
            path = paths[paths.neuron == neuron]
            left.plot(path.m, path.rho, color=colour, linewidth=0.7, alpha=0.7)
        dots = here[(here.kind == "network") & here.time.isin(SHOWN)]
        left.plot(dots.m, dots.rho, "o", color=colour, markersize=2.5, alpha=0.5, label=label)
    for time in SHOWN:
        there = table[(table.kind == "theory") & (table.time == time) & (table.sign == 1)]
        if len(there):
            place = (float(there.m.mean()), float(there.rho.mean()))
            left.annotate(f"t = {time:g}", place, xytext=(8, 5), textcoords="offset points")
    left.set(xlabel="overlap $m$ with $h_1$", ylabel=r"length $\rho$ of the rest", ylim=(0, 1.2))
    left.margins(x=0.2)
    left.legend(loc="lower center")
    risk = table[table.kind == "risk"]
    draw_line_and_dots(right, risk, "time", "test_error", COLOURS[2])
    right.set_yscale("log")
    ticks_at(right.yaxis, [0.05, 0.1, 0.2, 0.5])
    right.set(xlabel="time $t$ of the flow", ylabel="test error")
    return figure


def claims(table: DataFrame) -> dict[str, bool]:
    """Risks on the line; neurons where the particles are."""
    last = table[table.time == table.time.max()]
    places = last[last.kind != "risk"].groupby(["kind", "sign"])[["m", "rho"]].mean()
    gap = (places.loc["network"] - places.loc["theory"]).abs().to_numpy()
    risk = table[table.kind == "risk"]
    return {
        "each risk is within 5 standard errors plus 2 % of the flow": on_panel_line(
            risk, "test_error", errors=5, relative=0.02
        ),
        "at the end the mean neuron of either sign is within 0.1 of the particles": bool(
            gap.max() < 0.1
        ),
        "the risk has fallen to less than a fifth": bool(
            risk["test_error"].iloc[-1] < risk["test_error"].iloc[0] / 5
        ),
    }


REFERENCES = cite("1804.06561")
SIZES = figure_sizes(
    dim=(200, 400, 2000), width=(20, 40, 100), until=(5.0, 10.0, 10.0), seeds=(4, 6, 12)
)
