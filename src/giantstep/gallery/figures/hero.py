"""Neurons turn to one direction, then to the next.

Target h1 + h1*h2. Left: cosines of {width} neurons, d = {dim}, relu; giant steps on n = 8d fresh
samples, step size 2, exact in law, straight between steps. Middle: theory (lines), {seeds} runs
(dots), chance (dotted). Right: singular values of a first layer after one step that grows; tanh,
d = {spectrum}, n = 4d, p = 1.5d.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from giantstep.asking.spectra import compare_spectra
from giantstep.asking.verbs import simulate
from giantstep.bibliography import cite
from giantstep.gallery.figure import DataFrame, Picture, Sizes, Tables, Workbench, figure_sizes
from giantstep.gallery.panels import DIRECTIONS, Side, draw_curves
from giantstep.gallery.spectrum import draw_bulk, draw_largest, spectrum_figure_table
from giantstep.gallery.style import COLOURS, GREY, new_figure
from giantstep.language.problem import Problem
from giantstep.settings.giant_step import GiantStep

TARGET, STEPS = "h1 + h1*h2", 3
SETTINGS = GiantStep(samples="8d", step_size=2, steps=STEPS, method="in-law")
#: Step sizes of the spectra, from and to, in units of the one at which the outlier leaves the bulk.
SMALLEST, LARGEST = 0.25, 3.0
#: Frames of a step, and of the rest after it.
MOVING, RESTING = 10, 4


def rows(sizes: Sizes, bench: Workbench) -> Tables:
    """Cosines of a network, overlaps of several, and spectra for each size of the step."""
    import pandas

    step = SETTINGS.replace(dim=sizes.dim)
    one = simulate(step.replace(width=sizes.width), TARGET, seeds=1).arrays["cosines"][0]
    for t, cosine in enumerate(one):
        cloud = pandas.DataFrame({"x": cosine[:, 0], "y": cosine[:, 1]})
        yield cloud.assign(series="neuron", step=t)
    bench.report(0.2)
    overlaps = bench.table(["overlap"], step, TARGET, seeds=sizes.seeds, root_mean_square=True)
    yield overlaps.assign(series="overlap", chance=sizes.dim**-0.5)
    problem = Problem.of(TARGET)
    layer = GiantStep(
        activation="tanh", readout="sign", samples="4d", width="1.5d", dim=sizes.spectrum
    )
    first = compare_spectra("weights", problem, layer, seeds=0)
    critical = first.prediction.details["critical_step_size"]
    for multiple in np.linspace(SMALLEST, LARGEST, sizes.sizes).round(2):
        grown = layer.replace(step_size=float(multiple * critical))
        found = compare_spectra("weights", problem, grown, seeds=sizes.spectra)
        yield spectrum_figure_table(found).assign(multiple=multiple)
    bench.report(1.0)


def draw(table: DataFrame) -> Picture:
    """The last frame."""
    figure, panels = new_figure(7.4, 2.7, ncols=3)
    _paint(panels, table, float(STEPS))
    return figure


def frames(table: DataFrame) -> Iterator[Picture]:
    """One picture, painted anew as time goes from 0 to the last step."""
    figure, panels = new_figure(7.4, 2.7, ncols=3)
    moving = np.arange(1, MOVING + 1) / MOVING
    times = [0.0] * RESTING
    for step in range(STEPS):
        times += [*(step + moving), *[step + 1.0] * RESTING]
    for time in [*times, *[float(STEPS)] * RESTING]:
        for panel in panels:
            panel.clear()
        _paint(panels, table, time)
        yield figure


def _paint(panels: Any, table: DataFrame, time: float) -> None:
    """Everything at a time that counts steps; between them neurons move straight."""
    cloud, stairs, spectrum = panels
    before, share = min(int(time), STEPS - 1), time - min(int(time), STEPS - 1)
    neurons = table[table.series == "neuron"]
    old, new = (neurons[neurons.step == t][["x", "y"]].to_numpy() for t in (before, before + 1))
    at = (1 - share) * old + share * new
    cloud.scatter(*at.T, s=9, color=COLOURS[4], linewidths=0, alpha=0.7)
    cloud.set(xlim=(-1, 1), ylim=(-1, 1), aspect="equal", title=f"neurons after step {int(time)}")
    cloud.set(xlabel="cosine with $h_1$", ylabel="cosine with $h_2$")
    overlaps = table[(table.series == "overlap") & (table.step <= time)]
    side = Side("overlap", "overlap (cosine)", limits=(0, 1))
    draw_curves(stairs, overlaps, Side("step", "giant steps"), side, DIRECTIONS)
    stairs.axhline(overlaps.chance.max(), color=GREY, linestyle=":", label="chance")
    stairs.set(xlim=(-0.1, STEPS + 0.1), xticks=range(STEPS + 1))
    stairs.set_title("a staircase: lines theory, dots runs")
    stairs.legend(loc="upper left")
    multiples = table.multiple.dropna().unique()
    multiple = min(multiples, key=lambda m: abs(m - time * LARGEST))
    here = table[table.multiple == multiple]
    spectrum.set_ylim(0, 1.2 * table[table.series == "density"].y.max())
    draw_bulk(spectrum, here, "black")
    draw_largest(spectrum, here[(here.series != "leading") | (here["rank"] == 1)])
    highest = table[table.series == "leading"].x.max()
    spectrum.set(xlim=(0, 1.1 * highest), ylim=(0, 1.2 * table[table.series == "density"].y.max()))
    spectrum.set(xlabel="singular value", ylabel="density", title="an outlier leaves the bulk")


def claims(table: DataFrame) -> dict[str, bool]:
    """Which way the cloud reaches after each step, and where the largest singular value is."""
    neurons = table[table.series == "neuron"]
    reach = (neurons[["x", "y"]] ** 2).groupby(neurons.step).mean() ** 0.5
    top = table[(table.series == "leading") & (table["rank"] == 1)].set_index("multiple").x
    edge = table[table.series == "density"].groupby("multiple").x.max()
    first, last = SMALLEST, LARGEST
    return {
        "neurons turn to h1 in the first step, to h2 in the next": bool(
            reach.x[1] > 3 * reach.x[0]
            and reach.y[1] < 2 * reach.y[0]
            and reach.y[2] > 2 * reach.y[1]
        ),
        "a large step puts an outlier outside the bulk, a small one does not": bool(
            top[first] < 1.1 * edge[first] and top[last] > 1.3 * edge[last]
        ),
    }


REFERENCES = cite("2305.18270", "2205.01445")
SIZES = figure_sizes(
    dim=(500, 2000, 8000),
    width=(60, 200, 400),
    seeds=(4, 8, 16),
    spectrum=(80, 300, 600),
    spectra=(2, 4, 8),
    sizes=(2, 8, 16),
)
