"""Spikes appear one by one in the features as the step grows.

Largest eigenvalues of the features' second moment after one step of n^alpha/sqrt(p), against alpha;
target h1 + He2(h1)/sqrt 2, centred relu, Gaussian readout, n = 2 d for the step and for the
features, p = d. Lines: predicted outliers; dots: {seeds} simulations at d = {dim}; dashed: edge of
the bulk. Dotted: (l - 1)/(2l), from where the power l of the learned direction stands out in the
limit (l = 1, 2, 4; the relu has no third power). At d = {dim} spikes are late; at d = 1e12 they are
where the limit has them. The outliers of one draw scatter with its readouts; terms of order 1/sqrt
d are left out, for which the claim allows 10 %.
"""

from __future__ import annotations

from giantstep.bibliography import cite
from giantstep.gallery.figure import (
    Along,
    DataFrame,
    Picture,
    Sizes,
    Tables,
    Workbench,
    figure_columns,
    figure_sizes,
)
from giantstep.gallery.panels import draw_mark, ticks_at
from giantstep.gallery.style import COLOURS, GREY, legend_above, new_figure
from giantstep.language.problem import Problem
from giantstep.learners.giant_step.spectra import simulate_feature_spectrum
from giantstep.settings.giant_step import GiantStep
from giantstep.theory.giant_step.spectra.prediction import stepped_rows

TARGET = "h1 + He2(h1)/sqrt(2)"
SHOWN = 3
ALONG = Along("step_size", "1*n^{:g}".format, "exponent", (0.02, 0.44))
SETTINGS = GiantStep(
    activation="relu(z) - 1/sqrt(2*pi)",
    readout="normal",
    samples="2d",
    width="1d",
    readout_samples="2d",
    ridge=1.0,
)
#: Beyond any simulation: powers of d tell themselves apart.
FAR = 10**12
#: Degrees whose spikes a centred relu has, mu_3 = 0, and the exponents from which they stand out.
DEGREES = {1: "0", 2: "1/4", 4: "3/8"}
NAMES = ("largest eigenvalue", "second", "third")


def _drawn_limit(degree: int) -> float:
    """The exponent from which a spike of that degree stands out in the limit."""
    return (degree - 1) / (2 * degree)


def rows(sizes: Sizes, bench: Workbench) -> Tables:
    """Predicted outliers, edges and leading simulated eigenvalues by dimension and exponent."""
    import numpy as np
    import pandas

    problem = Problem.of(TARGET)
    every = [*ALONG.places(sizes.points), *(dots := ALONG.places(sizes.dots))]
    for number, exponent in enumerate(sorted(set(every))):
        for dim in (sizes.dim, FAR):
            settings = SETTINGS.replace(dim=dim, step_size=ALONG.write(exponent))
            law = stepped_rows(problem, settings, isotropic=True).features(settings)
            edge = law.bulk().high
            found = [outlier.value for outlier in law.outliers(edge)][:SHOWN]
            known = {"dim": dim, "exponent": exponent}
            yield {**known, "series": "edge", "value": edge}
            for rank, value in enumerate(found, start=1):
                yield {**known, "series": "outlier", "rank": rank, "value": value}
            if dim != FAR and exponent in dots:
                runs = [simulate_feature_spectrum(problem, settings, i) for i in range(sizes.seeds)]
                leading = figure_columns("value", [run.values[:SHOWN] for run in runs])
                ranks = {"series": "leading", "rank": np.arange(1, SHOWN + 1)}
                columns = {**ranks, "value": leading["value"], "sem": leading["value.sem"]}
                yield pandas.DataFrame(columns).assign(**known)
        bench.report((number + 1) / len(set(every)))


def draw(table: DataFrame) -> Picture:
    """Eigenvalues against the exponent, where they can be simulated and far beyond."""
    figure, panels = new_figure(7.6, 4.0, ncols=2)
    for panel, dim in zip(panels, sorted(table.dim.unique()), strict=True):
        here = table[table.dim == dim]
        series = {name: here[here.series == name] for name in ("edge", "outlier", "leading")}
        for rank, (name, colour) in enumerate(zip(NAMES, COLOURS, strict=False), start=1):
            line, dots = (series[s][series[s]["rank"] == rank] for s in ("outlier", "leading"))
            panel.plot(line.exponent, line.value, color=colour, label=name)
            panel.errorbar(dots.exponent, dots.value, dots["sem"], fmt="o", color=colour)
        edge = series["edge"]
        panel.plot(edge.exponent, edge.value, color=GREY, linestyle="--", label="edge of the bulk")
        for degree, name in DEGREES.items():
            draw_mark(panel, name, _drawn_limit(degree))
        size = rf"10^{{{len(str(dim)) - 1}}}" if dim == FAR else str(dim)
        panel.set(yscale="log", xlabel=r"exponent $\alpha$ of the step $n^\alpha/\sqrt{p}$")
        panel.set_title(f"$d = {size}$", pad=16)
    ticks_at(panels[0].yaxis, [3, 5, 10, 20, 50])
    panels[0].set_ylabel(r"eigenvalue of $\Phi^T\Phi/d$")
    legend_above(figure)
    return figure


def claims(table: DataFrame) -> dict[str, bool]:
    """Spikes appear in order, far beyond any simulation where the limit says, and later here."""
    import numpy as np

    outliers = table[table.series == "outlier"]
    small, far = sorted(table.dim.unique())
    exponents = np.sort(table.exponent.unique())
    counts = {
        dim: np.array([sum((outliers.dim == dim) & (outliers.exponent == e)) for e in exponents])
        for dim in (small, far)
    }
    limit = np.array([sum(e > _drawn_limit(k) for k in DEGREES) for e in exponents])
    clear = np.array([min(abs(e - _drawn_limit(k)) for k in DEGREES) > 0.03 for e in exponents])
    places = table[table.dim == small].pivot_table(
        index=["exponent", "rank"], columns="series", values=["value", "sem"]
    )
    both = places["value"].assign(error=places["sem"]["leading"])
    both = both.dropna(subset=["leading", "outlier"])
    return {
        "the number of predicted outliers never falls as the step grows": bool(
            all(np.all(np.diff(count) >= 0) for count in counts.values())
        ),
        "at d = 1e12 and more than 0.03 from a threshold it is that of the limit": bool(
            clear.any() and np.all(counts[far][clear] == limit[clear])
        ),
        "at the smaller d outliers appear later": bool(
            np.all(counts[small] <= counts[far]) and np.sum(counts[small]) < np.sum(counts[far])
        ),
        "simulated outliers lie within 4 standard errors plus 10 % of the theory": bool(
            len(both) > 0
            and ((both.leading - both.outlier).abs() < 4 * both.error + 0.1 * both.outlier).all()
        ),
    }


REFERENCES = cite("2310.07891", "2410.18938")
SIZES = figure_sizes(points=(4, 8, 33), dots=(2, 6, 9), dim=(300, 300, 1000), seeds=(4, 4, 8))
