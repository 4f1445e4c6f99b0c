"""An outlier leaves the spectrum of the first layer as the step grows.

Singular values of the first layer after one step on n = 4 d samples, for three step sizes below and
above the critical one; target sin(h1), tanh, p = 1.5 d, a = +-1, d = {dim}. Grey: {seeds} simulated
spectra; line: theory; dot: the largest simulated value; dotted: the outlier predicted. The p - d
zeros are not shown. At finite d the outlier is off by a term of order 1/d, for which the claim
allows 2 %.
"""

from __future__ import annotations

from giantstep.asking.spectra import compare_spectra
from giantstep.bibliography import cite
from giantstep.gallery.figure import DataFrame, Picture, Sizes, Tables, Workbench, figure_sizes
from giantstep.gallery.spectrum import draw_bulk, draw_largest, spectrum_figure_table
from giantstep.gallery.style import legend_above, new_figure
from giantstep.language.problem import Problem
from giantstep.settings.giant_step import GiantStep

#: Multiples of the step size at which the outlier appears.
MULTIPLES = (0.6, 1.5, 3.0)


def rows(sizes: Sizes, bench: Workbench) -> Tables:
    """Density, histogram and outliers for each step."""

    problem = Problem.of("sin(h1)")
    settings = GiantStep(
        activation="tanh", readout="sign", samples="4d", width="1.5d", dim=sizes.dim
    )
    first = compare_spectra("weights", problem, settings, seeds=0)
    critical = first.prediction.details["critical_step_size"]
    for number, multiple in enumerate(MULTIPLES):
        step = settings.replace(step_size=multiple * critical)
        found = compare_spectra("weights", problem, step, seeds=sizes.seeds)
        yield spectrum_figure_table(found).assign(multiple=multiple)
        bench.report((number + 1) / len(MULTIPLES))


def draw(table: DataFrame) -> Picture:
    """One panel per step: the bulk, and on its floor the outlier."""
    figure, panels = new_figure(8.7, 3.4, ncols=len(MULTIPLES), sharex=True, sharey=True)
    for panel, (multiple, part) in zip(panels, table.groupby("multiple"), strict=True):
        draw_bulk(panel, part)
        draw_largest(panel, part[(part.series != "leading") | (part["rank"] == 1)])
        panel.set(title=f"step = {multiple:g} critical", xlabel="singular value of $W$")
    panels[0].set_ylabel("density")
    legend_above(figure)
    return figure


def claims(table: DataFrame) -> dict[str, bool]:
    """No outlier below the critical step; above it, where theory says."""
    predicted = table[table.series == "outlier"].set_index("multiple").x
    largest = table[(table.series == "leading") & (table["rank"] == 1)].set_index("multiple")
    above = [multiple for multiple in MULTIPLES if multiple > 1]
    edge = table[table.series == "density"].groupby("multiple").x.max()
    gaps = (largest.x - predicted).abs()[above]
    return {
        "no outlier is predicted below the critical step, one above": (
            list(predicted.index) == above
        ),
        "below it the largest value is at the edge of the bulk": abs(
            largest.x[MULTIPLES[0]] / edge[MULTIPLES[0]] - 1
        )
        < 0.05,
        "above it the largest value lies within 4 standard errors plus 2 % of the theory": bool(
            (gaps < 4 * largest["sem"][above] + 0.02 * predicted[above]).all()
        ),
    }


REFERENCES = cite("2205.01445")
SIZES = figure_sizes(dim=(120, 400, 2000), seeds=(6, 4, 10))
