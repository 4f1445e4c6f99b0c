"""Samples that a preconditioned gradient flow needs under a spike.

Left: exponent of the samples n from which Algorithm 1 learns a link of information exponent 2 or 3,
over the alignment d^(-gamma1) and the strength d^gamma2 of the spike (upper bound; dashed: gamma2 =
gamma1 and 2 gamma1, where the three cases meet). Right: overlap that Algorithm 1 reaches for He3, a
neuron relu(z-1), gamma1 = 1/4, d = {dim}, {starts} starts with both signs, {seeds} seeds; these
sizes show the trend, not the exponent.
"""

from __future__ import annotations

from giantstep.asking.verbs import SIMULATE
from giantstep.bibliography import cite
from giantstep.gallery.figure import Along, DataFrame, Picture, Sizes, Workbench, figure_sizes
from giantstep.gallery.panels import Side, draw_curves, draw_guide, draw_map
from giantstep.gallery.style import new_figure
from giantstep.settings.gradient_flow import GradientFlow

ORDERS = (2, 3)
ALIGNMENT = 0.25


def rows(sizes: Sizes, bench: Workbench) -> DataFrame:
    """Sample exponents on a grid, then overlaps of Algorithm 1 by exponent of the spike."""
    import numpy as np
    import pandas

    from giantstep.theory.gradient_flow.random_start import flow_sample_exponent

    grid = [
        ("map", k, gamma1, gamma2, flow_sample_exponent(k, gamma1, gamma2))
        for k in ORDERS
        for gamma1 in np.linspace(0, 0.5, sizes.points)
        for gamma2 in np.linspace(0, 1, sizes.points)
    ]
    names = ["kind", "order", "gamma1", "gamma2", "exponent"]
    runs = bench.curve(
        ["overlap"],
        GradientFlow(
            dim=sizes.dim,
            samples=list(sizes.samples),
            activation="relu(z-1)",
            starts=sizes.starts,
            test_samples=1000,
        ),
        "He3(h1)/sqrt(6)",
        Along("inputs", f"spiked:strength=d^{{:g}},alignment=d^-{ALIGNMENT}".format, "gamma2"),
        Sizes(dots=sizes.dots, seeds=sizes.seeds),
        verbs=(SIMULATE,),
    )
    runs = runs.assign(kind="run", gamma1=ALIGNMENT, dim=sizes.dim)
    return pandas.concat([pandas.DataFrame(grid, columns=names), runs], ignore_index=True)


def draw(table: DataFrame) -> Picture:
    """Two maps, and beside them what the algorithm reaches."""
    figure, panels = new_figure(9.6, 3.2, ncols=3)
    for panel, order in zip(panels, ORDERS, strict=False):
        here = table[(table.kind == "map") & (table.order == order)]
        chart = here.pivot_table("exponent", "gamma2", "gamma1")
        draw_map(panel, chart, r"$\log_d n$", cmap="viridis_r")
        for slope, name in ((1, r"$\gamma_2 = \gamma_1$"), (2, r"$\gamma_2 = 2\gamma_1$")):
            panel.plot([0, 0.5], [0, 0.5 * slope], color="white", linestyle="--", linewidth=1)
            panel.text(0.4, 0.4 * slope, name, color="white", ha="right", va="bottom", fontsize=7)
        panel.set(title=f"information exponent {order}", xlabel=r"alignment exponent $\gamma_1$")
    panels[0].set_ylabel(r"strength exponent $\gamma_2$")
    runs = table[table.kind == "run"]
    names = {size: f"$n = {str(size).removesuffix('d')}\\,d$" for size in runs.samples.unique()}
    strength = Side("gamma2", r"strength exponent $\gamma_2$")
    reached = Side("overlap", r"overlap $\omega$ reached")
    draw_curves(panels[2], runs, strength, reached, ("samples", names))
    draw_guide(panels[2], "chance", y=runs.dim.iloc[0] ** -0.5)
    panels[2].set_title(r"simulated, He$_3$, $\gamma_1 = 1/4$")
    panels[2].legend()
    return figure


def claims(table: DataFrame) -> dict[str, bool]:
    """A stronger spike never costs samples, and the runs reach more with it."""
    maps = table[table.kind == "map"]
    falls = all(
        (here.sort_values("gamma2").exponent.diff().dropna() <= 1e-9).all()
        for _, here in maps.groupby(["order", "gamma1"])
    )
    found = {"at every alignment a stronger spike never costs samples": falls}
    runs = table[table.kind == "run"]
    ends = [
        here.sort_values("gamma2").overlap.iloc[[0, -1]].tolist()
        for _, here in runs.groupby("samples")
    ]
    found["in every row of runs the strongest spike reaches more than the weakest"] = all(
        last > first for first, last in ends
    )
    return found


REFERENCES = cite("2309.03843")
SIZES = figure_sizes(
    points=(11, 101, 201),
    dots=(2, 6, 9),
    dim=(32, 64, 128),
    samples=(("16d",), ("4d", "16d"), ("2d", "8d", "32d")),
    starts=(8, 8, 8),
    seeds=(6, 12, 12),
)
