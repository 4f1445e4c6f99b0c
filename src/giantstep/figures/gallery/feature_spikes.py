"""Spikes appear one by one in the spectrum of the features as the step grows."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from giantstep.figures.figure import Figure, Workbench
from giantstep.figures.spectrum import spectrum_table
from giantstep.figures.style import COLOURS, GREY, new_figure
from giantstep.problem import Problem
from giantstep.settings.giant_step import GiantStep
from giantstep.twins.spectra import compare_spectra

if TYPE_CHECKING:
    import pandas
    from matplotlib.figure import Figure as Picture

SHOWN = 3


class Sizes(NamedTuple):
    """Steps of the lines, every how many are simulated, dimension and draws."""

    points: int
    every: int
    dim: int
    seeds: int


def rows(sizes: Sizes, bench: Workbench) -> pandas.DataFrame:
    """Leading eigenvalues and predicted outliers for each step size."""
    import numpy as np
    import pandas

    settings = GiantStep(
        activation="tanh", readout="-1:0.5,2:0.5", samples="8d", width="1d",
        readout_samples="2d", dim=sizes.dim,
    )  # fmt: skip
    parts = []
    for number, step in enumerate(np.linspace(0.1, 6.1, sizes.points).round(4)):
        seeds = 0 if number % sizes.every else sizes.seeds
        chosen = settings.replace(step_size=float(step))
        found = compare_spectra("features", Problem.of("sin(h1)"), chosen, seeds=seeds)
        table = spectrum_table(found)
        edge = {"series": "edge", "x": found.prediction.bulk_edges[1]}
        table = table[table.series.isin(["leading", "outlier"])]
        table = table[table["rank"] <= SHOWN]
        parts.append(pandas.concat([table, pandas.DataFrame([edge])]).assign(step_size=step))
        bench.report((number + 1) / sizes.points)
    return pandas.concat(parts, ignore_index=True)[["step_size", "series", "rank", "x", "sem"]]


def draw(table: pandas.DataFrame) -> Picture:
    """Eigenvalues against the step size."""
    figure, panel = new_figure(5.4, 3.9)
    for rank in range(1, SHOWN + 1):
        colour = COLOURS[rank - 1]
        part = table[table["rank"] == rank]
        line, dots = part[part.series == "outlier"], part[part.series == "leading"]
        panel.plot(line.step_size, line.x, color=colour)
        label = {1: "largest", 2: "second", 3: "third"}[rank]
        panel.errorbar(dots.step_size, dots.x, dots["sem"], fmt="o", color=colour, label=label)
    edge = table[table.series == "edge"]
    panel.plot(edge.step_size, edge.x, color=GREY, linestyle="--", label="edge of the bulk")
    panel.set_yscale("log")
    panel.set_xlabel("step size")
    panel.set_ylabel(r"eigenvalue of $\Phi^T\Phi/d$")
    panel.legend(loc="upper left")
    return figure


def claims(table: pandas.DataFrame) -> dict[str, bool]:
    """Spikes appear in order and grow as predicted."""
    wide = table[table.series != "edge"].pivot_table(
        index=["step_size", "rank"], columns="series", values="x"
    )
    both = wide.dropna()
    count = table[table.series == "outlier"].groupby("step_size").size()
    count = count.reindex(sorted(table.step_size.unique()), fill_value=0)
    return {
        "the number of predicted outliers never falls as the step grows": (
            count.is_monotonic_increasing and count.iloc[-1] > count.iloc[0]
        ),
        "simulated outliers lie within 12 % of the theory": (
            len(both) > 0 and bool(((both.leading / both.outlier - 1).abs() < 0.12).all())
        ),
    }


FIGURE = Figure(
    name="feature-spikes",
    title="Spikes appear one by one in the features as the step grows",
    caption="""The three largest eigenvalues of the features' second moment after one giant step,
    against its size; target sin(h1), tanh, a = -1 or 2 (half each), gradient on 8 d samples,
    features on 2 d, p = d = {dim}. Lines: outliers predicted; dots: {seeds} simulations; dashed:
    edge of the bulk.""",
    references=("Moniri et al. 2023, arXiv:2310.07891", "Dandi et al. 2024, arXiv:2410.18938"),
    sizes={
        "reduced": Sizes(points=4, every=3, dim=200, seeds=4),
        "quick": Sizes(points=16, every=3, dim=400, seeds=3),
        "full": Sizes(points=49, every=3, dim=1000, seeds=8),
    },
    rows=rows,
    draw=draw,
    claims=claims,
)
