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
from giantstep.gallery.figure import DataFrame, Picture, Sizes, Workbench
from giantstep.gallery.spectrum import spectrum_table
from giantstep.gallery.style import COLOURS, GREY, new_figure
from giantstep.language.problem import Problem
from giantstep.settings.giant_step import GiantStep

#: Shades from before the first step to after the last.
SHADES = ("#b0b0b0", "#8fb8de", "#3f7fbf", "#0b3d73")
#: Colour and symbol of the largest values, and where they stand beside the number of steps.
KINDS = {"weights": (COLOURS[0], "o", -0.12), "features": (COLOURS[1], "s", 0.12)}


def rows(sizes: Sizes, bench: Workbench) -> DataFrame:
    """Density, histogram, cumulative curve and outliers of either spectrum after each step."""
    import pandas

    settings = GiantStep(
        activation="tanh",
        readout="ones",
        step_size=1.5,
        width="1d",
        readout_samples="2d",
        dim=sizes.dim,
    )
    parts = []
    for number, steps in enumerate(sizes.steps):
        for kind in get_args(Kind):
            taken = settings.replace(steps=steps)
            found = compare_spectra(kind, Problem.of("sin(h1)"), taken, seeds=sizes.seeds)
            edge = found.prediction.bulk_edges[1]
            parts.append(spectrum_table(found).assign(kind=kind, steps=steps, edge=edge))
        bench.report((number + 1) / len(sizes.steps))
    return pandas.concat(parts, ignore_index=True)


def draw(table: DataFrame) -> Picture:
    """The two bulks, darker after more steps, and the largest values beyond them."""
    figure, panels = new_figure(9.6, 3.6, ncols=3, width_ratios=(3, 3, 2))
    after = sorted(table.steps.unique())
    for panel, kind in zip(panels, KINDS, strict=False):
        for steps in after:
            shade = SHADES[steps]
            part = table[(table.kind == kind) & (table.steps == steps)]
            bars, line = (part[part.series == name] for name in ("histogram", "density"))
            if steps in (after[0], after[-1]):
                panel.fill_between(bars.x, bars.y, step="mid", color=shade, alpha=0.3, linewidth=0)
            panel.plot(line.x, line.y, color=shade, label=f"T = {steps}")
    panels[0].set(xlabel="singular value of W", ylabel="density", ylim=(0, None))
    panels[1].set(xlabel=r"eigenvalue of $\Phi^T\Phi/d$", ylabel="density per decade")
    panels[1].set(xscale="log", ylim=(0, None))
    for kind, (colour, symbol, aside) in KINDS.items():
        own = table[table.kind == kind]
        for steps in after:
            part = own[own.steps == steps]
            bars = part[part.series == "outlier"]
            dots = part[part.series == "leading"].head(max(len(bars), 1))
            at, edges = [steps + aside] * len(dots), dots.edge
            panels[2].hlines(bars.x / bars.edge, steps + aside - 0.14, steps + aside + 0.14, colour)
            label = kind if steps == 0 else None
            drawn = {"fmt": symbol, "color": colour, "markersize": 4, "label": label}
            panels[2].errorbar(at, dots.x / edges, dots["sem"] / edges, **drawn)
    panels[2].axhline(1, color=GREY, linestyle="--", linewidth=1, label="edge of the bulk")
    panels[2].set(yscale="log", xlabel="steps T", ylabel="largest values / edge", xticks=after)
    panels[2].legend(loc="upper left", fontsize=7)
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=len(after))
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
SIZES = {
    "reduced": Sizes(steps=(0, 2), dim=120, seeds=4),
    "quick": Sizes(steps=(0, 1, 2, 3), dim=400, seeds=6),
    "full": Sizes(steps=(0, 1, 2, 3), dim=1200, seeds=8),
}
