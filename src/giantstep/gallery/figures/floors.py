"""What the second layer cannot fit after giant steps.

Left: after one giant step on n samples, a readout of p neurons fitted to n samples can fit the
terms filled in green, out of a sum of five (energies in brackets); what is left is a floor of the
test error. With n of order d the step finds h1, with d^2 also h2; what is found may enter in any
way, the rest with a degree of at most kappa, min(n, p) = d^kappa. Right: test error after two steps
against the samples of each step, d = {dim}, step size 2, {many} relu neurons with biases (squares:
{few}), readout fitted to {fit} samples; dashed: floors for p of order 1; {seeds} simulations, exact
in law. Errors come nearer to the floors as n/d grows, and at the largest n/d with more neurons.
"""

from __future__ import annotations

import math
from typing import Any

from giantstep.asking.verbs import SIMULATE
from giantstep.gallery.figure import (
    Along,
    DataFrame,
    Picture,
    Sizes,
    Tables,
    Workbench,
    figure_sizes,
)
from giantstep.gallery.panels import Side, draw_curves
from giantstep.gallery.style import COLOURS, GREY, new_figure
from giantstep.language.targets import Target
from giantstep.language.targets.expansion import target_series
from giantstep.settings.giant_step import GiantStep
from giantstep.theory.learnability.floors import Floor, second_layer_floors

EXAMPLE = "ex-floors"
#: Powers of d of samples and neurons, and how they are written.
REGIMES = {
    (1, 0): "d,\\ 1",
    (1, 1): "d,\\ d",
    (2, 0): "d^2,\\ 1",
    (2, 1): "d^2,\\ d",
    (2, 2): "d^2,\\ d^2",
}
SIMULATED = {"ex1": "$h_1+h_2+h_1^2-h_2^2$", "ex2": "$h_1+h_2+h_1^2+h_2^2$"}
STEPS = 2


def rows(sizes: Sizes, bench: Workbench) -> Tables:
    """Terms fitted by regime after one step; errors after two steps, and floors, by batch."""

    target = Target(EXAMPLE)
    for regime in second_layer_floors(target):
        powers = {"samples": regime.sample_power, "width": regime.width_power}
        if regime.steps == 1 and tuple(powers.values()) in REGIMES:
            known = {"panel": "terms", **powers, "floor": regime.floor.value}
            yield from ({**known, **term} for term in _figure_terms(target, regime))
    for name in SIMULATED:
        floor = next(
            floor.floor.value
            for floor in second_layer_floors(Target(name), STEPS)
            if (floor.sample_power, floor.width_power, floor.steps) == (1, 0, STEPS)
        )
        errors = _drawn_errors(name, sizes, bench)
        yield errors.assign(panel="batches", target=name, floor=floor)


def _drawn_errors(name: str, sizes: Sizes, bench: Workbench) -> DataFrame:
    """Test errors after the last step, by neurons and samples of each step."""
    settings = GiantStep(
        dim=sizes.dim,
        steps=STEPS,
        step_size="2",
        width=[sizes.few, sizes.many],
        biases="normal",
        ridge=0.01,
        readout_samples=str(sizes.fit),
    )
    along = Along("samples", "{:g}d".format, "ratio")
    after = bench.curve(["test_error"], settings, name, along, sizes, verbs=(SIMULATE,))
    after = after[after.step == STEPS].rename(columns={"width": "neurons"})
    return after.drop(columns="samples")


def _figure_terms(target: Target, floor: Floor) -> list[dict[str, Any]]:
    """Hermite terms of the target, their energies, and whether the readout can fit them.

    It fits any function of what is known times a degree of at most kappa in the rest.
    """
    series = target_series(target)
    assert series is not None, "the example is a polynomial"
    known = set(abs(floor.directions).sum(axis=0).nonzero()[0].tolist())
    return [
        {
            "term": _figure_latex(index),
            "energy": float(a) ** 2 * math.prod(math.factorial(k) for k in index),
            "fitted": sum(k for axis, k in enumerate(index) if axis not in known) <= floor.kappa,
        }
        for index, a in sorted(series.terms.items(), key=lambda term: (sum(term[0]), term[0]))
    ]


def _figure_latex(index: tuple[int, ...]) -> str:
    factors = [
        f"h_{axis + 1}" if k == 1 else rf"\mathrm{{He}}_{k}(h_{axis + 1})"
        for axis, k in enumerate(index)
        if k
    ]
    return f"${''.join(factors)}$"


def draw(table: DataFrame) -> Picture:
    """Which terms are fitted in which regime; how far simulations stay above the floor."""
    figure, (left, right) = new_figure(8.4, 3.6, ncols=2, width_ratios=(1.5, 1))
    _draw_terms(left, table[table.panel == "terms"])
    dots = table[table.panel == "batches"]
    ratio = Side("ratio", "samples of each step, $n/d$", "log2")
    error = Side("test_error", "test error", limits=(-0.2, 6.6))
    draw_curves(right, dots, ratio, error, ("target", SIMULATED), squares=("neurons", "p"))
    for (name, _), colour in zip(SIMULATED.items(), COLOURS, strict=False):
        floor = dots[dots.target == name].floor.iloc[0]
        right.axhline(floor, color=colour, linestyle="--", linewidth=1.2)
    right.plot([], [], "--", color=GREY, label="floor")
    right.set_title("two steps", fontsize=9)
    right.legend(loc="upper right")
    return figure


def _draw_terms(panel: Any, terms: DataFrame) -> None:
    names = list(dict.fromkeys(terms.term))
    for line, ((samples, width), label) in enumerate(REGIMES.items()):
        here = terms[(terms.samples == samples) & (terms.width == width)]
        for column, fitted in enumerate(here.fitted):
            colour = COLOURS[2] if fitted else "none"
            panel.scatter(column, line, s=110, facecolors=colour, edgecolors=GREY)
        panel.text(len(names) + 0.1, line, f"{here.floor.iloc[0]:g}", ha="center", va="center")
        panel.text(-0.8, line, f"${label}$", ha="right", va="center")
    for column, name in enumerate(names):
        energy = terms[terms.term == name].energy.iloc[0]
        text = f"{name}  ({energy:g})"
        panel.text(column - 0.1, -0.65, text, rotation=45, ha="left", va="bottom", fontsize=8)
    panel.text(len(names) + 0.1, -0.65, "floor", ha="center", weight="bold")
    panel.text(-0.8, -0.65, "$n,\\ p$ of order", ha="right")
    panel.set(xlim=(-2.6, len(names) + 1.1), ylim=(len(REGIMES) - 0.4, -3.0))
    panel.set_axis_off()


def claims(table: DataFrame) -> dict[str, bool]:
    """Floors are the energies of what is not fitted; simulations stay above."""
    terms, dots = table[table.panel == "terms"], table[table.panel == "batches"]
    missed = (terms.energy * ~terms.fitted.astype(bool)).groupby([terms.samples, terms.width]).sum()
    floors = terms.groupby(["samples", "width"]).floor.first()
    above = dots["test_error"] + 5 * dots["test_error.sem"] > dots.floor
    gap = dots.assign(gap=dots.test_error - dots.floor).pivot_table(
        "gap", ["target", "neurons"], "ratio"
    )
    most = gap.iloc[:, -1].unstack()
    return {
        "each floor is the energy of the terms that are not fitted": bool(
            (abs(missed - floors) < 1e-9).all()
        ),
        "more samples or more neurons never raise the floor": bool(
            floors.unstack().ffill(axis=1).diff(axis=1).iloc[:, 1:].le(0).all(axis=None)
            and floors[2, 0] <= floors[1, 0]
            and floors[2, 1] <= floors[1, 1]
        ),
        "no simulation is below its floor by more than 5 standard errors": bool(above.all()),
        "errors near their floors as the batches grow and, at the largest, as neurons do": bool(
            (gap.iloc[:, -1] < 0.7 * gap.iloc[:, 0]).all()
            and (most.iloc[:, -1] < most.iloc[:, 0]).all()
        ),
    }


REFERENCES = ("Dandi et al. 2023, arXiv:2305.18270, conjecture 3",)
SIZES = figure_sizes(
    dim=(500, 1000, 2000),
    dots=((8, 128), (4, 8, 16, 32, 64, 128, 256), (4, 16, 32, 64, 256, 1024)),
    few=(10, 20, 20),
    many=(40, 60, 80),
    fit=(5000, 10_000, 20_000),
    seeds=(4, 4, 6),
)
