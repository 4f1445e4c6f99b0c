"""What the second layer cannot fit: terms of a target by regime, and the floor they leave."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

from giantstep.figures.figure import Figure, Workbench
from giantstep.figures.panels import lay_over, over_steps
from giantstep.figures.style import COLOURS, GREY, new_figure
from giantstep.studies.study import Study
from giantstep.targets import Target
from giantstep.targets.hermite_series import hermite_series
from giantstep.theory.learnability.floors import Floor, second_layer_floors

if TYPE_CHECKING:
    import pandas
    from matplotlib.figure import Figure as Picture

EXAMPLE = "ex-floors"
#: Powers of d of samples and neurons, and how they are written.
REGIMES = {
    **{(1, 0): "d,\\ 1", (1, 1): "d,\\ d"},
    **{(2, 0): "d^2,\\ 1", (2, 1): "d^2,\\ d", (2, 2): "d^2,\\ d^2"},
}
SIMULATED = {"ex1": "$h_1+h_2+h_1^2-h_2^2$", "ex2": "$h_1+h_2+h_1^2+h_2^2$"}
STEPS = 3


class Sizes(NamedTuple):
    """Dimension, neurons, samples of the readout's fit, and number of simulations."""

    dim: int
    width: int
    fit: int
    seeds: int


def rows(sizes: Sizes, bench: Workbench) -> pandas.DataFrame:
    """Terms fitted by regime after one step; test errors and floors over steps."""
    import pandas

    target = Target(EXAMPLE)
    table = pandas.DataFrame(
        [
            {
                **{"panel": "terms", "samples": floor.sample_power, "width": floor.width_power},
                **{"floor": floor.floor.value, **term},
            }
            for floor in second_layer_floors(target)
            if floor.steps == 1 and (floor.sample_power, floor.width_power) in REGIMES
            for term in _terms(target, floor)
        ]
    )
    for name in SIMULATED:
        summary = bench.summary(
            Study(
                name=f"floors {name} {sizes.dim}",
                learner="giant-step",
                problem={"target": name},
                settings={
                    **{"dim": sizes.dim, "samples": "8d", "steps": STEPS, "step_size": "2"},
                    **{"width": str(sizes.width), "biases": "normal"},
                    **{"ridge": 0.01, "readout_samples": str(sizes.fit)},
                },
                seeds=sizes.seeds,
                verbs=["simulate"],
            )
        )
        floors = {
            floor.steps: floor.floor.value
            for floor in second_layer_floors(Target(name), STEPS)
            if (floor.sample_power, floor.width_power) == (1, 0)
        }
        errors = over_steps(summary, "test_error")
        errors["test_error.theory"] = errors.step.map(floors)
        table = pandas.concat([table, errors.assign(panel="steps", target=name)])
    return table.reset_index(drop=True)


def _terms(target: Target, floor: Floor) -> list[dict[str, Any]]:
    """Hermite terms of the target, their energies, and whether the readout can fit them.

    It fits any function of what is known times a degree of at most kappa in the rest.
    """
    series = hermite_series(target)
    assert series is not None, "the example is a polynomial"
    known = set(abs(floor.directions).sum(axis=0).nonzero()[0].tolist())
    return [
        {
            "term": _latex(index),
            "energy": float(a) ** 2 * math.prod(math.factorial(k) for k in index),
            "fitted": sum(k for axis, k in enumerate(index) if axis not in known) <= floor.kappa,
        }
        for index, a in sorted(series.terms.items(), key=lambda term: (sum(term[0]), term[0]))
    ]


def _latex(index: tuple[int, ...]) -> str:
    factors = [
        f"h_{axis + 1}" if k == 1 else rf"\mathrm{{He}}_{k}(h_{axis + 1})"
        for axis, k in enumerate(index)
        if k
    ]
    return f"${''.join(factors)}$"


def draw(table: pandas.DataFrame) -> Picture:
    """Which terms are fitted in which regime; how far simulations stay above the floor."""
    figure, (left, right) = new_figure(8.4, 3.6, ncols=2, width_ratios=(1.5, 1))
    _draw_terms(left, table[table.panel == "terms"])
    for (name, label), colour in zip(SIMULATED.items(), COLOURS, strict=False):
        here = table[(table.panel == "steps") & (table.target == name)]
        lay_over(right, here, "step", "test_error", colour, label, drawstyle="steps-mid")
    right.set_title("simulated, $n = 8d$, $p$ fixed")
    right.set_xticks(range(STEPS + 1))
    right.set_xlabel("giant steps")
    right.set_ylabel("test error")
    right.set_ylim(-0.2, 7.9)
    right.legend(loc="upper right")
    return figure


def _draw_terms(panel: Any, terms: pandas.DataFrame) -> None:
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
        panel.text(column - 0.1, -0.65, text, rotation=30, ha="left", va="bottom", fontsize=8)
    panel.text(len(names) + 0.1, -0.65, "floor", ha="center", weight="bold")
    panel.text(-0.8, -0.65, "$n,\\ p$ of order", ha="right")
    panel.set_xlim(-2.6, len(names) + 1.1)
    panel.set_ylim(len(REGIMES) - 0.4, -3.0)
    panel.set_axis_off()


def claims(table: pandas.DataFrame) -> dict[str, bool]:
    """Floors are the energies of what is not fitted; simulations stay above."""
    terms, steps = table[table.panel == "terms"], table[table.panel == "steps"]
    missed = (terms.energy * ~terms.fitted.astype(bool)).groupby([terms.samples, terms.width]).sum()
    floors = terms.groupby(["samples", "width"]).floor.first()
    above = steps["test_error"] + 5 * steps["test_error.sem"] > steps["test_error.theory"]
    last = steps[steps.step == STEPS].set_index("target").test_error
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
        "after three steps the target with floor 0 is fitted better than the one with floor 2": (
            last["ex1"] < 0.8 * last["ex2"]
        ),
    }


FIGURE = Figure(
    name="floors",
    title="What the second layer cannot fit after giant steps",
    caption="""Left: after one giant step on n samples, a readout of p neurons fitted to n samples
    can fit the terms filled in green, out of a sum of five (energies in brackets); what is left is
    a floor of the test error. With n of order d the step finds h1, with d^2 also h2; what is found
    may enter in any way, the rest with a degree of at most kappa, min(n, p) = d^kappa. Right: test
    error after each step, d = {dim}, {width} relu neurons with biases, step size 2, readout
    fitted to {fit} samples; lines: floors for p of order 1; dots: {seeds} simulations, exact in
    law, with standard errors. Floors are lower bounds: finite networks stay above.""",
    references=("Dandi et al. 2023, arXiv:2305.18270, conjecture 3",),
    sizes={
        "reduced": Sizes(dim=1000, width=20, fit=5000, seeds=4),
        "quick": Sizes(dim=4000, width=40, fit=20_000, seeds=8),
        "full": Sizes(dim=20_000, width=100, fit=100_000, seeds=16),
    },
    rows=rows,
    draw=draw,
    claims=claims,
)
