"""Error floors by regime: what a fitted readout cannot go below, however long it learns."""

from __future__ import annotations

import numpy as np

from giantstep.explanation.details import explained_power
from giantstep.gallery.style import COLOURS
from giantstep.reports.drawing import INK, report_canvas, report_svg
from giantstep.reports.experiment import report_explain_command
from giantstep.reports.mathematics import mathml, power_mathml_latex
from giantstep.reports.parts import Context, Picture, Section, Table, report_csv
from giantstep.theory.learnability.floors import Floor

#: Name, powers of d in samples and neurons, giant steps.
REGIMES = (
    ("linear, random features, kernel", 1, 1, 0),
    ("one giant step, few neurons", 1, 0, 1),
    ("one giant step", 1, 1, 1),
    ("two giant steps", 1, 1, 2),
    ("three giant steps", 1, 1, 3),
    ("random features, kernel", 2, 2, 0),
    ("one giant step", 2, 1, 1),
    ("two giant steps", 2, 1, 2),
)
REFERENCES = ("Dandi et al. 2023, arXiv:2305.18270, conjecture 3",)
_STATUS = {0: "theorem"}


def build_section(context: Context) -> Section:
    """A table and bars, from nothing learned to everything."""
    found = context.explanation
    known = {(f.sample_power, f.width_power, f.steps): f for f in found.floors or ()}
    rows = [(name, known[place]) for name, *place_ in REGIMES if (place := tuple(place_)) in known]
    return Section(
        lead=(
            "A readout fits any function of the directions that the first layer has learned, "
            "times polynomials of low degree in the others. What is left is a floor: the test "
            "error cannot go below it in that regime of samples n and neurons p.",
        ),
        pictures=(_report_floor_bars(context, rows),),
        tables=(_report_floor_table(rows),),
        references=REFERENCES,
    )


def _report_floor_table(rows: list[tuple[str, Floor]]) -> Table:
    body = tuple(
        (
            name,
            mathml(power_mathml_latex(explained_power(floor.sample_power))),
            mathml(power_mathml_latex(explained_power(floor.width_power))),
            _STATUS.get(floor.width_power, "conjecture"),
            floor.fitted,
        )
        for name, floor in rows
    )
    head = ("method", "n ~", "p ~", "status", "what is fitted")
    return Table("What is fitted in each regime", head, body)


def _report_floor_bars(context: Context, rows: list[tuple[str, Floor]]) -> Picture:
    variance = sum(energy.value for energy in context.explanation.hermite_energy[1:])
    values = np.array([floor.floor.value for _, floor in rows])
    labels = [f"{name}, $n \\sim {explained_power(floor.sample_power)}$" for name, floor in rows]
    places = np.arange(len(rows))[::-1]
    colours = [COLOURS[0] if floor.sample_power == 1 else COLOURS[5] for _, floor in rows]
    alt = "Floors of the test error: " + "; ".join(
        f"{name} with n of order {explained_power(floor.sample_power)}: {value:.3g}"
        for (name, floor), value in zip(rows, values, strict=True)
    )
    largest = max(float(values.max()), variance, 1e-12)
    with report_canvas(width=5.4) as (figure, panel):
        bars = panel.barh(places, values, color=colours, height=0.62)
        panel.bar_label(bars, fmt="{:.3g}", padding=3, fontsize=8, color=INK)
        panel.set_xlim(0, 1.14 * largest)
        panel.set_yticks(places, labels, fontsize=8)
        panel.set_xlabel("floor of the test error")
        panel.grid(False, axis="y")
        drawn = report_svg(figure, "floors", alt)
    caption = "The least test error in each regime, label noise not counted."
    if (values < 1e-3 * largest).any():
        caption += " An empty bar means that everything can be fitted."
    # A colour is named only where a bar shows it.
    powers = [floor.sample_power for _, floor in rows]
    seen = {power for power, value in zip(powers, values, strict=True) if value > 1e-3 * largest}
    caption += " Blue: samples of order d." * (1 in seen)
    caption += " Orange: samples of order d squared." * (2 in seen)
    table = report_csv(
        ("method", "power of d in n", "power of d in p", "giant steps", "floor"),
        [
            (name, floor.sample_power, floor.width_power, floor.steps, float(value))
            for (name, floor), value in zip(rows, values, strict=True)
        ],
    )
    command = report_explain_command(context.problem, "--floors")
    return Picture("floors", drawn, alt, caption, (command,), data=table)
