"""Bulk and outliers of weights and features, step after step.

Target sin(h1), tanh, a = 1, p = d, steps of size 1.5 on 4 d fresh samples each. Left: singular
values of the first layer after T steps; middle: eigenvalues of the features' second moment on 2 d
samples. Lines: theory; shaded: {seeds} simulations at d = {dim}, before the first step and after
the last. Right: largest values over the edge of the bulk, dots simulated, bars theory. At finite d
an outlier is off by a term of order 1/d, for which the claims allow 4 %.
"""

from __future__ import annotations

from typing import get_args

from giantstep.asking.spectra import Kind, compare_spectra
from giantstep.bibliography import cite
from giantstep.gallery.figure import DataFrame, Picture, Sizes, Tables, Workbench, figure_sizes
from giantstep.gallery.spectrum import draw_bulk, spectrum_figure_table
from giantstep.gallery.style import COLOURS, GREY, SHADES, legend_above, new_figure
from giantstep.language.problem import Problem
from giantstep.settings.giant_step import GiantStep

#: Colour and symbol of the largest values, and where they stand beside the number of steps.
KINDS = {"weights": (COLOURS[0], "o", -0.12), "features": (COLOURS[1], "s", 0.12)}


def rows(sizes: Sizes, bench: Workbench) -> Tables:
    """Density, histogram, cumulative curve and outliers of either spectrum after each step."""

    settings = GiantStep(
        activation="tanh",
        readout="ones",
        step_size=1.5,
        width="1d",
        readout_samples="2d",
        dim=sizes.dim,
    )
    for number, steps in enumerate(sizes.steps):
        for kind in get_args(Kind):
            taken = settings.replace(steps=steps)
            found = compare_spectra(kind, Problem.of("sin(h1)"), taken, seeds=sizes.seeds)
            edge = found.prediction.bulk_edges[1]
            yield spectrum_figure_table(found).assign(kind=kind, steps=steps, edge=edge)
        bench.report((number + 1) / len(sizes.steps))


def draw(table: DataFrame) -> Picture:
    """The two bulks, darker after more steps, and the largest values beyond them."""
    figure, panels = new_figure(9.6, 3.6, ncols=3, width_ratios=(3, 3, 2))
    after = sorted(table.steps.unique())
    for panel, (kind, (colour, symbol, aside)) in zip(panels, KINDS.items(), strict=False):
        for steps in after:
            part = table[(table.kind == kind) & (table.steps == steps)]
            kept = part if steps in (after[0], after[-1]) else part[part.series == "density"]
            draw_bulk(panel, kept, SHADES[steps], f"$T = {steps}$")
            bars = part[part.series == "outlier"]
            dots = part[part.series == "leading"].head(max(len(bars), 1))
            at, label = steps + aside, kind if steps == 0 else None
            panels[2].hlines(bars.x / bars.edge, at - 0.14, at + 0.14, colour)
            drawn = {"fmt": symbol, "color": colour, "markersize": 4, "label": label}
            errors = dots["sem"] / dots.edge
            panels[2].errorbar([at] * len(dots), dots.x / dots.edge, errors, **drawn)
    panels[0].set(xlabel="singular value of $W$", ylabel="density")
    panels[1].set(xlabel=r"eigenvalue of $\Phi^T\Phi/d$", ylabel="density per decade")
    panels[1].set_xscale("log")
    panels[2].axhline(1, color=GREY, linestyle="--", linewidth=1, label="edge of the bulk")
    panels[2].set(yscale="log", xlabel="steps $T$", ylabel="largest values / edge", xticks=after)
    legend_above(figure, len(after) + 3)
    return figure


def claims(table: DataFrame) -> dict[str, bool]:
    """Nothing leaves a bulk before the first step; later values lie where theory puts them."""
    places = ["kind", "steps", "rank"]
    outliers = table[table.series == "outlier"].set_index(places)
    leading = table[table.series == "leading"].set_index(places)
    simulated = leading.reindex(outliers.index)
    allowed = 4 * simulated["sem"] + 0.04 * outliers.x
    first = leading.xs((0, 1), level=("steps", "rank"))
    strongest = outliers.xs(1, level="rank").x / outliers.xs(1, level="rank").edge
    shares = [
        abs(
            part[part.series == "cumulative"].y.to_numpy()
            - part[part.series == "cumulative theory"].y.to_numpy()
        ).max()
        for _, part in table.groupby(["kind", "steps"])
    ]
    return {
        "before the first step nothing leaves either bulk": (
            0 not in outliers.index.get_level_values("steps")
            and bool((first.x < 1.02 * first.edge).all())
        ),
        "with every step the largest value moves away from the bulk": all(
            own.is_monotonic_increasing for _, own in strongest.groupby("kind")
        ),
        "outliers lie within 4 standard errors plus 4 % of the theory": bool(
            ((simulated.x - outliers.x).abs() <= allowed).all()
        ),
        "the shares of values below any x differ by less than 0.03": max(shares) < 0.03,
    }


REFERENCES = cite("2205.01445", "2310.07891", "2410.18938")
SIZES = figure_sizes(
    steps=((0, 2), (0, 1, 2, 3), (0, 1, 2, 3)), dim=(120, 400, 1200), seeds=(4, 6, 8)
)
