"""The spectrum of the features: deformed bulk and outliers.

Eigenvalues of the features' second moment on n = 2 d samples, tanh, p = d, without a spike and with
spikes -1.5 and 3 (half of the neurons each); d = {dim}, {seeds} draws. Left: the bulk, shaded
simulated, lines theory. Right: the largest eigenvalues.
"""

from __future__ import annotations

from giantstep.asking.spectra import compare_spectra
from giantstep.bibliography import cite
from giantstep.gallery.figure import DataFrame, Picture, Sizes, Workbench
from giantstep.gallery.spectrum import spectrum_table
from giantstep.gallery.style import COLOURS, GREY, new_figure
from giantstep.language.problem import Problem
from giantstep.settings.spiked_random_features import SpikedRandomFeatures

SPIKES = {"no spike": "0", "spikes -1.5 and 3": "-1.5:0.5,3:0.5"}


def rows(sizes: Sizes, bench: Workbench) -> DataFrame:
    """Density, histogram, cumulative curve and outliers, without and with spikes."""
    import pandas

    parts = []
    for number, (name, spike) in enumerate(SPIKES.items()):
        settings = SpikedRandomFeatures(
            activation="tanh", spike=spike, readout_samples="2d", width="1d", dim=sizes.dim
        )
        found = compare_spectra("features", Problem.of("sin(h1)"), settings, seeds=sizes.seeds)
        parts.append(spectrum_table(found).assign(features=name))
        bench.report((number + 1) / len(SPIKES))
    return pandas.concat(parts, ignore_index=True)


def draw(table: DataFrame) -> Picture:
    """Bulk by decade, and largest eigenvalues."""
    figure, (bulk, largest) = new_figure(7.4, 3.4, ncols=2)
    for (name, part), colour in zip(table.groupby("features", sort=False), COLOURS, strict=False):
        series = dict(list(part.groupby("series")))
        line, bars = series["density"], series["histogram"]
        bulk.fill_between(bars.x, bars.y, step="mid", color=colour, alpha=0.2, linewidth=0)
        bulk.plot(line.x, line.y, color=colour, label=name)
        top = series["leading"]
        largest.errorbar(top["rank"], top.x, top["sem"], fmt="o", color=colour)
        if "outlier" in series:
            outliers = series["outlier"]
            ranks = outliers["rank"]
            largest.hlines(outliers.x, ranks - 0.4, ranks + 0.4, color=colour)
        largest.axhline(line.x.max(), color=colour, linestyle="--", linewidth=1)
    bulk.set(xscale="log", xlabel=r"eigenvalue of $\Phi^T\Phi/d$", ylabel="density per decade")
    largest.set(yscale="log", xlabel="rank", ylabel="largest eigenvalues")
    bulk.legend(loc="upper left", fontsize=7)
    largest.plot([], [], "--", color=GREY, label="edge of the bulk")
    largest.plot([], [], color=GREY, label="outlier, theory")
    largest.plot([], [], "o", color=GREY, label="simulation")
    largest.legend(loc="upper right", fontsize=7)
    return figure


def claims(table: DataFrame) -> dict[str, bool]:
    """Two outliers where theory puts them, and the same share of eigenvalues at every x."""
    spiked = table[table.features != "no spike"]
    outliers = spiked[spiked.series == "outlier"].set_index("rank")
    leading = spiked[spiked.series == "leading"].set_index("rank")
    gaps = ((leading.x - outliers.x).abs() / leading["sem"]).dropna()
    shares = [
        abs(
            part[part.series == "cumulative"].y.to_numpy()
            - part[part.series == "cumulative theory"].y.to_numpy()
        ).max()
        for _, part in table.groupby("features")
    ]
    plain = table[(table.features == "no spike") & (table.series == "outlier")]
    return {
        "features without a spike have no outlier": plain.empty,
        "with spikes, outliers lie within 5 standard errors of the theory": (
            len(gaps) >= 1 and bool((gaps < 5).all())
        ),
        "the shares of eigenvalues below any x differ by less than 0.02": max(shares) < 0.02,
    }


REFERENCES = cite("2310.07891", "2410.18938")
SIZES = {
    "reduced": Sizes(dim=300, seeds=4),
    "quick": Sizes(dim=500, seeds=6),
    "full": Sizes(dim=1500, seeds=10),
}
