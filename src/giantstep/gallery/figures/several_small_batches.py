"""Several giant steps learn from batches far below d^leap.

Cosine with the direction of He2 (relu) and He3 (tanh) after T steps of order sqrt(n/d) on fresh
batches, correlation loss, rows put back on the sphere. At n = d^kappa_T the overlap after T steps
stays; after fewer it falls with d, after more it rises. Lines: theory; dots: {seeds} runs in law.
Below: exponents fitted over four sizes, {fit_seeds[2]} runs each at leap 2, {fit_seeds[3]} at leap
3, below, at and above kappa_T; ticks: theory at these sizes; lines: at large d. At leap 3 dots of
d = 300 and more are allowed 5 %, and exponents 0.1, for what is left of a finite d.
"""

from __future__ import annotations

from giantstep.asking.verbs import PREDICT
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
from giantstep.gallery.panels import Side, draw_curves, draw_dots, on_panel_line
from giantstep.gallery.style import COLOURS, GREY, new_figure
from giantstep.numerics.scaling import fit_power
from giantstep.settings.giant_step import GiantStep

SETTINGS = GiantStep(
    width="16", readout="sign", loss="correlation", normalise=True, steps=4, method="in-law"
)
#: Leap, target, activation, batch and step of the two first panels: kappa_3 for leap 2, kappa_2
#: for leap 3.
CASES = {
    2: ("He2(h1)", "relu", 4 / 3, "2", r"leap 2: $n = d^{4/3} = d^{\kappa_3}$"),
    3: ("He3(h1)", "tanh", 7 / 3, "20", r"leap 3: $n = d^{7/3} = d^{\kappa_2}$"),
}
STEPS = (1, 2, 3, 4)
#: Powers of d of the batches whose exponents are fitted, below, at and above kappa_2, by leap.
POWERS = {2: (1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 1.7), 3: (2.0, 13 / 6, 7 / 3, 2.5)}
FITTED_STEPS = (1, 2, 3)


def _figure_settings(name: str, kappa: float, scale: str) -> GiantStep:
    step = f"{scale}*d^{(kappa - 1) / 2:.12g}"
    return SETTINGS.replace(activation=name, samples=f"d^{kappa:.12g}", step_size=step)


def rows(sizes: Sizes, bench: Workbench) -> Tables:
    """Overlaps by leap, dimension and step; then by the power of the batch too."""

    for leap, (target, name, kappa, scale, _) in CASES.items():
        found = bench.curve(
            ["overlap"],
            _figure_settings(name, kappa, scale),
            target,
            Along("dim", round, "size"),
            Sizes(points=[10**k for k in range(2, 7)], dots=sizes.dims[leap], seeds=sizes.seeds),
        )
        yield found.assign(leap=leap, kappa=kappa, panel="dimension")
        for kappa in POWERS[leap]:
            settings = _figure_settings(name, kappa, scale).replace(steps=3)
            swept, seeds = settings.replace(dim=sizes.fitted[leap]), sizes.fit_seeds[leap]
            found = bench.table(["overlap"], swept, target, seeds=seeds)
            limit = bench.table(["overlap_power"], settings, target, verbs=(PREDICT,))
            powers = found.step.map(limit.set_index("step")["overlap_power.theory"])
            known = {"leap": leap, "kappa": kappa, "panel": "power", "limit": powers}
            yield found.assign(size=found.dim, **known)


def _figure_exponents(table: DataFrame) -> DataFrame:
    """Slopes of log overlap over log d: simulated with their errors, predicted there, and at last.

    Least squares weighted by the relative standard errors of the dots.
    """
    import pandas

    found = []
    known = ["leap", "kappa", "step"]
    for (leap, kappa, step), part in table[table.panel == "power"].groupby(known):
        if step not in FITTED_STEPS:
            continue
        measured, predicted = (
            fit_power(part["size"], part[name], part["overlap.sem"] * part[name] / part["overlap"])
            for name in ("overlap", "overlap.theory")
        )
        slopes = measured.slope, predicted.slope, measured.sem
        found.append((leap, kappa, step, *slopes, part.limit.iloc[0]))
    names = [*known, "exponent", "exponent.theory", "exponent.sem", "limit"]
    return pandas.DataFrame(found, columns=names)


def draw(table: DataFrame) -> Picture:
    """One column per leap: overlap over d, and exponents over the power of the batch."""
    figure, panels = new_figure(7.4, 6.8, nrows=2, ncols=2, sharey="row")
    x = Side("size", "dimension $d$", "log")
    y = Side("overlap", "overlap with $h$ (cosine)", "log", limits=(1e-3, 1.3))
    slopes, ticks = _figure_exponents(table), {"linestyle": "", "marker": "_", "ms": 11}
    for (panel, below), (leap, (*_, title)) in zip(panels.T, CASES.items(), strict=True):
        here = table[(table.panel == "dimension") & (table.leap == leap)]
        draw_curves(panel, here, x, y, ("step", {t: f"$T = {t}$" for t in STEPS}))
        ends = sorted(here["size"])[:: len(here) - 1]
        chance = {"color": GREY, "linestyle": ":", "linewidth": 1.2}
        panel.plot(ends, [end**-0.5 for end in ends], label="chance, $d^{-1/2}$", **chance)
        panel.set_title(title)
        for step, colour in zip(FITTED_STEPS, COLOURS, strict=False):
            here = slopes[(slopes["leap"] == leap) & (slopes.step == step)]
            below.plot(here.kappa, here.limit, color=colour, label=f"$T = {step}$, large $d$")
            below.plot(here.kappa, here["exponent.theory"], color=colour, **ticks)
            draw_dots(below, here, "kappa", "exponent", colour, ms=4)
        below.set_title(rf"leap {leap}: overlap $\sim d^{{\,e}}$, $n = d^\kappa$")
        below.set(xlabel=r"power $\kappa$ of the batch")
    panels[1, 0].plot([], [], color=GREY, label="at the dots' $d$", **ticks)
    panels[1, 0].set(ylabel="exponent $e$")
    panels[0, 0].legend(loc="lower left")
    panels[1, 0].legend(loc="lower right")
    return figure


def claims(table: DataFrame) -> dict[str, bool]:
    """Dots on the lines, exponents as predicted; a fixed number of steps learns below d^leap."""
    dots = table[(table.panel == "dimension") & (table.step > 0)]
    lines = dots.set_index(["leap", "step", "size"])["overlap.theory"].groupby(level=[0, 1, 2])
    law, slopes = lines.first(), _figure_exponents(table)
    far, near = 10**6, 10**4
    gap = (slopes.exponent - slopes["exponent.theory"]).abs() - 4 * slopes["exponent.sem"]
    one, three = (slopes[slopes.step == step] for step in (1, 3))
    return {
        "leap 2: each dot is within 4 standard errors of its line": on_panel_line(
            dots[dots["leap"] == 2], "overlap", errors=4
        ),
        "leap 3: each dot from d = 300 on is within 4 standard errors plus 5 % of its line": (
            on_panel_line(
                dots[(dots["leap"] == 3) & (dots["size"] >= 300)],
                "overlap",
                errors=4,
                relative=0.05,
            )
        ),
        "with fewer steps than the batch asks for the overlap falls with d, with more it rises": (
            all(law[leap, 1, far] < law[leap, 1, near] / 2 for leap in CASES)
            and bool(law[2, 2, far] < 0.8 * law[2, 2, near])
            and all(law[leap, 4, far] > max(law[leap, 4, near], 0.5) for leap in CASES)
        ),
        "leap 2: fitted exponents are within 4 standard errors of the theory at the same sizes": (
            bool((gap[slopes["leap"] == 2] < 0).all())
        ),
        "leap 3: fitted exponents are within 4 standard errors plus 0.1 of the theory there": bool(
            (gap[slopes["leap"] == 3] < 0.1).all()
        ),
        "leap 2: the exponent of one step stays below zero up to n = d^1.7, at either leap that of "
        "three does not by theory": bool(
            one[one["leap"] == 2].exponent.max() < -0.1
            and (three.groupby("leap").limit.max() == 0).all()
        ),
    }


REFERENCES = cite("2305.18270")
SIZES = figure_sizes(
    dims=(
        {2: [300, 2000], 3: [300]},
        {2: [300, 1000, 3000, 10000, 30000], 3: [100, 170, 300]},
        {2: [300, 1000, 10**4, 10**5, 10**6], 3: [100, 300, 1000, 3000]},
    ),
    fitted=(
        {2: [125, 250, 500, 1000], 3: [60, 90, 130, 200]},
        {2: [250, 500, 1000, 2000], 3: [70, 105, 160, 240]},
        {2: [1000, 2000, 4000, 8000], 3: [200, 350, 600, 1000]},
    ),
    seeds=(6, 8, 16),
    fit_seeds=({2: 12, 3: 12}, {2: 10, 3: 10}, {2: 64, 3: 32}),
)
