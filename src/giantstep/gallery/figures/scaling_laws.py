"""How fast the risk falls with the samples: a map of exponents.

Ridge regression on random features of data whose eigenvalues decay as k^-a, with a target of
squared coefficients k^-(2ar+1), from noisy labels (variance 0.3). Left: the exponent gamma of the
risk n^-gamma at the best ridge. A rough target (r < 1/2) takes n^(1 - gamma) features, a smooth one
more; beyond r = 1 the rate is saturated. Right: risk over n with n features and the best ridge's
power of n, for the three laws marked on the map. Lines: deterministic equivalent; dots: {seeds}
simulations with standard errors; slopes between n = 1e7 and 1e8. At small n the equivalent is off
by a few per cent: the claim allows 5 %.
"""

from __future__ import annotations

from typing import Any

from giantstep.bibliography import cite
from giantstep.gallery.figure import (
    Along,
    DataFrame,
    Picture,
    Sizes,
    Tables,
    Workbench,
    figure_sizes,
)
from giantstep.gallery.panels import draw_line_and_dots, draw_map, on_panel_line
from giantstep.gallery.style import COLOURS, new_figure
from giantstep.settings.power_law import PowerLaw
from giantstep.theory.ridge.scaling_laws import optimal_exponents

#: Capacity and source of the laws that are followed over n, one in each region of the map.
FOLLOWED = ((1.3, 0.25), (1.5, 0.75), (2.5, 1.25))
#: Variance of the label noise.
NOISE = 0.3
#: Slopes are measured between these numbers of samples.
FAR = (1e7, 1e8)
CAPACITIES, SOURCES = (1.02, 3.0), (0.02, 1.5)


def rows(sizes: Sizes, bench: Workbench) -> Tables:
    """The best rate and the fewest features over the map; the risk over n of the laws followed."""
    import numpy as np

    for capacity in np.linspace(*CAPACITIES, sizes.pixels):
        for source in np.linspace(*SOURCES, sizes.pixels):
            best = optimal_exponents(float(capacity), float(source))
            yield {"capacity": capacity, "source": source, "panel": "map", **best._asdict()}
    for capacity, source in FOLLOWED:
        best = optimal_exponents(capacity, source)
        settings = PowerLaw(
            capacity=capacity, source=source, ridge_exponent=best.ridge, width_exponent=1.0
        )
        known = {"capacity": capacity, "source": source, "panel": "risk", **best._asdict()}
        yield drawn_power_law(settings, 20, sizes, bench).assign(**known)


def drawn_power_law(settings: PowerLaw, fewest: float, sizes: Sizes, bench: Workbench) -> DataFrame:
    """Test errors from the fewest samples to the most, then at the dots, with ``samples``."""
    along = Along("samples", "{:.0f}".format, "samples", (fewest, FAR[0]), ratios=True)
    line = [float(round(n)) for n in along.places(sizes.points)]
    places = Sizes(points=[*line, FAR[1]], dots=sizes.dots, seeds=sizes.seeds)
    return bench.curve(["test_error"], settings, None, along, places, noise=NOISE)


def drawn_slope(law: DataFrame) -> float:
    """The slope of one law between the two largest numbers of samples."""
    import numpy as np

    risk = law.set_index("samples")["test_error.theory"]
    return float(-np.log(risk[FAR[1]] / risk[FAR[0]]) / np.log(FAR[1] / FAR[0]))


def draw_power_law(panel: Any, law: DataFrame, colour: str, name: str = "") -> None:
    """The risk over n, named by its slope and that of the map."""
    label = f"{name}{drawn_slope(law):.3f} ({law.rate.iloc[0]:.3f})"
    draw_line_and_dots(panel, law, "samples", "test_error", colour, label)
    panel.set(xscale="log", yscale="log", xlabel="samples $n$", ylabel="test error")
    panel.minorticks_off()


def draw(table: DataFrame) -> Picture:
    """The map of the best rate; the risk over n."""
    figure, (left, right) = new_figure(8.4, 3.7, ncols=2)
    chart = table[table.panel == "map"].pivot_table("rate", "source", "capacity")
    label = r"best exponent $\gamma$, risk $\sim n^{-\gamma}$"
    draw_map(left, chart, label, levels=[0.2, 0.4, 0.6, 0.8])
    backing = {"facecolor": "black", "alpha": 0.5, "linewidth": 0, "pad": 2}
    corner = {"color": "white", "ha": "right", "va": "top", "fontsize": 8, "bbox": backing}
    for top, text in ((0.5, "rough target"), (1.0, "smooth target"), (1.5, "saturated")):
        left.text(CAPACITIES[1] - 0.06, top - 0.06, text, **corner)
        if top < SOURCES[1]:
            left.axhline(top, color="white", linestyle="--", linewidth=1)
    left.set_xlabel("capacity $a$: eigenvalues $k^{-a}$")
    left.set_ylabel("source $r$: target$^2$ $k^{-(2ar+1)}$")
    risk = table[table.panel == "risk"]
    for (capacity, source), colour in zip(FOLLOWED, COLOURS[1:], strict=False):
        left.plot(capacity, source, "o", color=colour, markeredgecolor="white", markersize=8)
        here = risk[(risk.capacity == capacity) & (risk.source == source)]
        draw_power_law(right, here, colour)
    right.legend(loc="lower left", title=r"slope measured (and $\gamma$)")
    return figure


def claims(table: DataFrame) -> dict[str, bool]:
    """Dots on the lines, slopes as predicted, and the shape of the map."""
    risk = table[table.panel == "risk"]
    laws = [here for _, here in risk.groupby(["capacity", "source"])]
    chart = table[table.panel == "map"].pivot_table("rate", "source", "capacity")
    saturated = chart[chart.index > 1]
    return {
        "each dot is within 5 standard errors plus 5 % of its line": on_panel_line(
            risk, "test_error", errors=5, relative=0.05
        ),
        "slopes between n = 1e7 and 1e8 are within 0.02 of the predicted exponents": all(
            abs(drawn_slope(law) - law.rate.iloc[0]) < 0.02 for law in laws
        ),
        "the rate rises with capacity and with source, until source 1 where it saturates": bool(
            (chart.diff(axis=1).iloc[:, 1:] > 0).all(axis=None)
            and (chart[chart.index <= 1].diff().iloc[1:] > 0).all(axis=None)
            and (saturated.diff().iloc[1:].abs() < 1e-12).all(axis=None)
        ),
    }


REFERENCES = cite("2405.15699")
SIZES = figure_sizes(
    pixels=(12, 60, 120),
    points=(3, 25, 49),
    dots=((50, 100), (40, 80, 160, 320), (40, 80, 160, 320, 640, 1280)),
    seeds=(8, 10, 40),
)
