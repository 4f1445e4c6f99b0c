"""How many samples one giant step needs: a phase transition at n = d^leap.

Root mean square cosine of the neurons with the target's direction after one giant step on n =
d^kappa samples, for targets whose first Hermite coefficient is of degree (leap) 1, 2 and 3. Step
size 4, 4 d^(1/2) and 20 d; 32 neurons, relu for leaps 1 and 2, erf for leap 3. Lines: theory at
dimension d, dashed where d is too large to simulate; dots: root mean square over {seeds}
simulations, exact in law, with standard errors. As d grows the curves sharpen to a step at kappa =
leap (dotted). The claim allows 5 % for what theory leaves out at finite d: 400 simulations of leap
1 at kappa = 0.94 lie 1.7(2) % below the line at d = 256 and 0.5(1) % below it at d = 1024. For d =
32 and 64, where a few large labels make the noise, dots lie up to 20 % below.
"""

from __future__ import annotations

from typing import NamedTuple

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
from giantstep.gallery.panels import (
    Side,
    curves_by_dimension,
    draw_curves,
    draw_guide,
    on_panel_line,
)
from giantstep.gallery.style import new_figure
from giantstep.settings.giant_step import GiantStep


class Leap(NamedTuple):
    """A target of one leap, the step that its size asks for, and where it is looked at."""

    target: str
    formula: str
    activation: str
    step_size: str
    simulated: tuple[int, int]
    ends: tuple[float, float]


LEAPS = {
    1: Leap("h1", "h", "relu", "4", (256, 4096), (0.75, 1.5)),
    2: Leap("He2(h1)", r"\mathrm{He}_2(h)", "relu", "4*d^0.5", (64, 256), (1.25, 2.25)),
    3: Leap("sin(2*h1) - 2*exp(-2)*h1", r"\sin 2h - 2e^{-2}h", "erf", "20d", (32, 64), (2.0, 3.0)),
}
BEYOND = (10**6, 10**12)


def rows(sizes: Sizes, bench: Workbench) -> Tables:
    """Overlaps after one step by leap, dimension and exponent of the samples."""
    import numpy as np

    for number, leap in LEAPS.items():
        # Denser where the lines are steep.
        places = np.linspace(-1, 1, sizes.points)
        line = (number + 0.98 * np.sign(places) * np.abs(places) ** 1.7).round(4)
        found = bench.curve(
            ["overlap"],
            GiantStep(
                dim=[*leap.simulated, *BEYOND],
                step_size=leap.step_size,
                width="32",
                activation=leap.activation,
                method="in-law",
            ),
            leap.target,
            Along("samples", "d^{:g}".format, "kappa", leap.ends),
            Sizes(points=line, dots=sizes.dots, seeds=sizes.seeds),
            dots_alone={"dim": list(leap.simulated)},
            root_mean_square=True,
        )
        yield found[found.step == 1].assign(leap=number)


def draw(table: DataFrame) -> Picture:
    """One panel per leap, one line per dimension."""
    every = sorted({*BEYOND, *(dim for leap in LEAPS.values() for dim in leap.simulated)})
    figure, panels = new_figure(8.7, 3.6, ncols=len(LEAPS), sharey=True)
    x = Side("kappa", r"exponent $\kappa$ of the samples $n = d^\kappa$")
    y = Side("overlap", "overlap with $h$ (cosine)", limits=(0, 1))
    for panel, (number, leap) in zip(panels, LEAPS.items(), strict=True):
        here = table[table.leap == number]
        own = [dim for dim in every if dim in set(here.dim)]
        draw_curves(panel, here, x, y, curves_by_dimension(*own))
        draw_guide(panel, f"$n = d^{number}$", x=number)
        panel.set_title(f"leap {number}:  $y = {leap.formula}$")
        panel.legend(loc="upper left")
    return figure


def claims(table: DataFrame) -> dict[str, bool]:
    """Dots on the lines; the transition sharpens at kappa = leap."""
    lines = table[table["overlap"].isna()]
    found = {
        "beyond d = 64 each dot is within 4 standard errors plus 5 % of its line": on_panel_line(
            table[table.dim > 64], "overlap", errors=4, relative=0.05
        )
    }
    for number in LEAPS:
        here = lines[lines.leap == number].pivot_table("overlap.theory", "kappa", "dim")
        below, above = here[here.index < number - 0.4], here[here.index > number + 0.4]
        far = max(BEYOND)
        found[f"leap {number}: below n = d^{number} the overlap falls as d grows, to nothing"] = (
            bool((below.diff(axis=1).iloc[:, 1:] < 0).all(axis=None)) and below[far].max() < 0.02
        )
        found[f"leap {number}: above n = d^{number} it stays"] = bool(
            above[far].min() > 0.9 * above[min(BEYOND)].min() > 0.3
        )
    return found


REFERENCES = cite("2305.18270")
SIZES = figure_sizes(points=(3, 31, 81), dots=(2, 5, 9), seeds=(4, 16, 64))
