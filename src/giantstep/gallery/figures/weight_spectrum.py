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
from giantstep.gallery.figure import DataFrame, Picture, Sizes, Workbench
from giantstep.gallery.spectrum import spectrum_table
from giantstep.gallery.style import COLOURS, GREY, new_figure
from giantstep.language.problem import Problem
from giantstep.settings.giant_step import GiantStep

#: Multiples of the step size at which the outlier appears.
MULTIPLES = (0.6, 1.5, 3.0)


def rows(sizes: Sizes, bench: Workbench) -> DataFrame:
    """Density, histogram and outliers for each step."""
    import pandas

    problem = Problem.of("sin(h1)")
    settings = GiantStep(
        activation="tanh", readout="sign", samples="4d", width="1.5d", dim=sizes.dim
    )
    first = compare_spectra("weights", problem, settings, seeds=0)
    critical = first.prediction.details["critical_step_size"]
    parts = []
    for number, multiple in enumerate(MULTIPLES):
        step = settings.replace(step_size=multiple * critical)
        found = compare_spectra("weights", problem, step, seeds=sizes.seeds)
        parts.append(spectrum_table(found).assign(multiple=multiple))
        bench.report((number + 1) / len(MULTIPLES))
    return pandas.concat(parts, ignore_index=True)


def draw(table: DataFrame) -> Picture:
    """One panel per step: bulk, and arrows at the outliers."""
    figure, panels = new_figure(8.4, 3.4, ncols=len(MULTIPLES), sharex=True, sharey=True)
    for panel, (multiple, part) in zip(panels, table.groupby("multiple"), strict=True):
        series = dict(list(part.groupby("series")))
        bars, line = series["histogram"], series["density"]
        width = bars.x.diff().median()
        panel.bar(bars.x, bars.y, width, color=GREY, alpha=0.3, label="simulation")
        panel.plot(line.x, line.y, color=COLOURS[0], label="theory")
        outliers = series["leading"]
        outliers = outliers[outliers["rank"] == 1]
        panel.errorbar(
            outliers.x,
            [0.03],
            None,
            outliers["sem"],
            fmt="o",
            color=COLOURS[1],
            label="largest, simulated",
            zorder=3,
        )
        if "outlier" in series:
            panel.axvline(series["outlier"].x.iloc[0], color=COLOURS[0], linestyle=":")
        panel.set(title=f"step = {multiple:g} critical", xlabel="singular value of W")
    panels[0].set_ylabel("density")
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=3)
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
SIZES = {
    "reduced": Sizes(dim=120, seeds=6),
    "quick": Sizes(dim=400, seeds=4),
    "full": Sizes(dim=2000, seeds=10),
}
