"""Samples that a preconditioned gradient flow needs under a spike.

Left: exponent of the samples n from which Algorithm 1 learns a link of information exponent 2 or 3,
over the alignment d^(-gamma1) and the strength d^gamma2 of the spike (upper bound; dashed: gamma2 =
gamma1 and 2 gamma1, where the three cases meet). Right: exponents measured for He3, a neuron
relu(z-1), in the cells marked, two per case, against the bound, with standard errors; of the
samples at which {starts} starts with both signs have the mean overlap 1/2 over {seeds} batches, at
d = {dims}. The bound is not saturated at these sizes.
"""

from __future__ import annotations

from giantstep.asking.verbs import SIMULATE
from giantstep.bibliography import cite
from giantstep.gallery.figure import DataFrame, Picture, Sizes, Tables, Workbench, figure_sizes
from giantstep.gallery.panels import draw_dots, draw_map
from giantstep.gallery.style import COLOURS, GREY, new_figure
from giantstep.numerics.scaling import PowerFit, weighted_line_slope
from giantstep.settings.gradient_flow import GradientFlow

ORDERS = (2, 3)
#: Exponents of alignment and strength of the cells that are simulated, by case of the theorem.
CELLS = {
    r"$\gamma_2 < \gamma_1$": ((0.3, 0.1), (0.4, 0.2)),
    r"$\gamma_1 < \gamma_2 < 2\gamma_1$": ((0.3, 0.5), (0.4, 0.6)),
    r"$2\gamma_1 < \gamma_2$": ((0.2, 0.6), (0.0, 0.5)),
}
#: Samples tried, in units of d, and the overlap that must be reached.
LADDER = (4, 8, 16, 32, 64, 128)
LEVEL = 0.5


def rows(sizes: Sizes, bench: Workbench) -> Tables:
    """Sample exponents on a grid, then those of the bound and of runs by cell."""
    import numpy as np
    import pandas

    from giantstep.theory.gradient_flow.random_start import flow_sample_exponent

    places = [
        ("map", k, gamma1, gamma2)
        for k in ORDERS
        for gamma1 in np.linspace(0, 0.5, sizes.points)
        for gamma2 in np.linspace(0, 1, sizes.points)
    ]
    places += [(case, 3, *cell) for case, cells in CELLS.items() for cell in cells]
    table = pandas.DataFrame(places, columns=["kind", "order", "gamma1", "gamma2"])
    table["exponent"] = [flow_sample_exponent(*place[1:]) for place in places]
    runs = table.kind != "map"
    for place, cell in table[runs].iterrows():
        fit = _measured_flow_exponent(cell.gamma1, cell.gamma2, sizes, bench)
        table.loc[place, ["measured", "measured.sem"]] = fit.slope, fit.sem
    yield table


def _measured_flow_exponent(
    gamma1: float, gamma2: float, sizes: Sizes, bench: Workbench
) -> PowerFit:
    """The power of d in the samples at which half of the overlap is reached."""
    import numpy as np

    settings = GradientFlow(
        dim=sizes.dims,
        samples=[f"{ratio}d" for ratio in LADDER],
        activation="relu(z-1)",
        starts=sizes.starts,
        width="1",
        ridge=0.1,
        test_samples=1,
    )
    spike = f"spiked:strength=d^{gamma2:g},alignment=d^-{gamma1:g}"
    how = {"inputs": spike, "verbs": (SIMULATE,), "seeds": sizes.seeds}
    found = bench.answer(settings, "He3(h1)/sqrt(6)", **how).to_xarray()["overlap"]
    runs = found.transpose("seed", "dim", "samples").values
    # All batches first, then all but one: the scatter of the latter is the error (jackknife).
    means = np.array([runs.mean(axis=0), *((runs.sum(axis=0) - runs) / (sizes.seeds - 1))])
    needed = np.array(
        [
            [np.interp(LEVEL, np.maximum.accumulate(row), np.log(LADDER)) for row in mean]
            for mean in means
        ]
    )
    errors = needed[1:].std(axis=0) * (sizes.seeds - 1) ** 0.5
    return weighted_line_slope(np.log(sizes.dims), needed[0] + np.log(sizes.dims), errors)


def draw(table: DataFrame) -> Picture:
    """Two maps, and beside them what was measured in the cells."""
    import numpy as np

    figure, panels = new_figure(9.6, 3.2, ncols=3)
    cells = table[table.kind != "map"]
    for panel, order in zip(panels, ORDERS, strict=False):
        here = table[(table.kind == "map") & (table.order == order)]
        chart = here.pivot_table("exponent", "gamma2", "gamma1")
        draw_map(panel, chart, r"$\log_d n$", cmap="viridis_r")
        for slope, name in ((1, r"$\gamma_2 = \gamma_1$"), (2, r"$\gamma_2 = 2\gamma_1$")):
            panel.plot([0, 0.5], [0, 0.5 * slope], color="white", linestyle="--", linewidth=1)
            panel.text(0.4, 0.4 * slope, name, color="white", ha="right", va="bottom", fontsize=7)
        panel.set(title=f"information exponent {order}", xlabel=r"alignment exponent $\gamma_1$")
    panels[0].set_ylabel(r"strength exponent $\gamma_2$")
    ends = [1, cells.exponent.max()]
    panels[2].plot(ends, ends, color=GREY, linestyle="--", label="bound")
    for colour, (case, here) in zip(COLOURS, cells.groupby("kind", sort=False), strict=False):
        panels[1].plot(here.gamma1, here.gamma2, "o", color=colour, mec="white", clip_on=False)
        apart = here.assign(exponent=here.exponent + np.array([-0.02, 0.02]))
        draw_dots(panels[2], apart, "exponent", "measured", colour, case)
    panels[2].set(title="He$_3$: measured", xlabel=r"$\log_d n$ of the bound", ylabel=r"$\log_d n$")
    panels[2].legend()
    return figure


def claims(table: DataFrame) -> dict[str, bool]:
    """A stronger spike never costs samples by the bound, which no measured exponent passes."""
    maps, cells = table[table.kind == "map"], table[table.kind != "map"]
    falls = all(
        (here.sort_values("gamma2").exponent.diff().dropna() <= 1e-9).all()
        for _, here in maps.groupby(["order", "gamma1"])
    )
    return {
        "at every alignment a stronger spike never costs samples": falls,
        "in no cell does the measured exponent pass the bound by 2 standard errors": bool(
            (cells.measured < cells.exponent + 2 * cells["measured.sem"]).all()
        ),
        "in the mean over the cells it is 4 standard errors below": bool(
            (cells.exponent - cells.measured).sum() > 4 * (cells["measured.sem"] ** 2).sum() ** 0.5
        ),
    }


REFERENCES = cite("2309.03843")
SIZES = figure_sizes(
    points=(11, 101, 201),
    dims=([12, 20, 34, 56], [12, 20, 34, 56], [16, 32, 64, 128]),
    starts=(4, 4, 8),
    seeds=(5, 9, 17),
)
