"""What one giant step is worth, target by target.

Excess test error as a share of the target's variance, random features (best ridge) beside one giant
step (best ridge and step size); erf(z/sqrt 2), p = 2 d, readout on 4 d samples, gradient on 8 d
others, a = -1 or 2. Bars: theory at d = {dim}; dots: {seeds} simulations; dashed: best linear
predictor. What the step adds are functions of the one direction it learns, through an odd
activation: sin and sign pass below every linear predictor; where even parts or a second direction
carry the rest, the step helps and stays above; without a linear part it does nothing. Corrections
of order 1/d^2 are left out: the claim allows 3 %.
"""

from __future__ import annotations

from typing import Any

from giantstep.asking.verbs import predict
from giantstep.bibliography import cite
from giantstep.gallery.figure import DataFrame, Picture, Sizes, Tables, Workbench, figure_sizes
from giantstep.gallery.panels import draw_dots, on_panel_line
from giantstep.gallery.style import COLOURS, GREY, legend_above, new_figure
from giantstep.language.targets import Target
from giantstep.language.targets.hermite import target_moments
from giantstep.settings.giant_step import GiantStep
from giantstep.settings.random_features import RandomFeatures

TARGETS = {
    "sin(h1)": "sin(h1)",
    "h1 + h1*h2": "h1 + h1*h2",
    "He2(h1)": "He2(h1)/sqrt(2)",
    "sign(h1)": "sign(h1)",
    "relu(h1)": "relu(h1)",
    "h1 + He2(h1)": "h1 + He2(h1)/sqrt(2)",
}
#: Where what the step adds is more than what it costs, at these numbers of samples.
BELOW = ("sin(h1)", "sign(h1)")


COLUMNS = ["target", "learner", "test_error", "test_error.sem", "test_error.theory"]
COLUMNS += ["linear_floor.theory", "step_size", "ridge"]


def rows(sizes: Sizes, bench: Workbench) -> Tables:
    """Best errors of random features and of one step, as shares of the variance."""
    import pandas

    fixed: dict[str, Any] = {"activation": "erf2", "width": "2d", "dim": sizes.dim, "ridge": 0.1}
    step = GiantStep(**fixed, readout="-1:0.5,2:0.5", samples="8d", readout_samples="4d")
    plain = RandomFeatures(**fixed, samples="4d")
    chosen = list(TARGETS.items())[: sizes.targets]
    for number, (name, text) in enumerate(chosen):
        best = predict(step, text, optimise=("step_size", "ridge")).settings
        ridge = predict(plain, text, optimise=("ridge",)).settings.ridge
        after = step.replace(step_size=best.step_size, ridge=best.ridge)
        found = bench.table(["test_error", "linear_floor"], after, text, seeds=sizes.seeds)
        last = found[found.step == 1].assign(learner="one giant step", ridge=best.ridge)
        floor = last["linear_floor.theory"].iloc[0]
        first = bench.table(["test_error"], plain.replace(ridge=ridge), text, seeds=sizes.seeds)
        first = first.assign(learner="random features", ridge=ridge)
        both = pandas.concat([first, last], ignore_index=True).assign(target=name)
        both["linear_floor.theory"] = floor
        errors = [column for column in both if "error" in column or "floor" in column]
        both[errors] = both[errors] / target_moments(Target(text)).variance
        yield both.assign(step_size=best.step_size.coefficient)[COLUMNS]
        bench.report((number + 1) / len(chosen))


def draw(table: DataFrame) -> Picture:
    """Two bars a target, with dots, and the floor of linear predictors."""
    import numpy as np

    figure, panel = new_figure(6.4, 4.2)
    names = list(dict.fromkeys(table.target))
    places = np.arange(len(names), dtype=float)
    for shift, colour, (label, part) in zip(
        (-0.19, 0.19), (COLOURS[1], COLOURS[0]), table.groupby("learner", sort=False), strict=True
    ):
        here = part.assign(place=places + shift)
        theory = {"width": 0.36, "color": colour, "alpha": 0.35, "label": f"{label}, theory"}
        panel.bar(here.place, here["test_error.theory"], **theory)
        draw_dots(panel, here, "place", "test_error", colour, f"{label}, simulation", capsize=2)
    floors = table.drop_duplicates("target")["linear_floor.theory"]
    dashed = {"color": GREY, "linestyle": "--", "label": "best linear predictor"}
    panel.hlines(floors, places - 0.42, places + 0.42, **dashed)
    panel.set_xticks(places, [f"${Target(TARGETS[name]).latex}$" for name in names])
    panel.set_ylabel("test error / variance of the target")
    panel.grid(axis="x", visible=False)
    legend_above(figure, 3)
    return figure


def claims(table: DataFrame) -> dict[str, bool]:
    """A step helps where there is a linear part, and never hurts at its best size."""
    theory = table.pivot_table(index="target", columns="learner", values="test_error.theory")
    floor = table.groupby("target")["linear_floor.theory"].first()
    step, plain = theory["one giant step"], theory["random features"]
    linear = floor[floor < 0.99].index
    return {
        "one step at its best size does better than random features": bool(
            (step[linear] < 0.9 * plain[linear]).all()
        ),
        "random features at their best ridge do not beat a linear predictor": bool(
            (plain > floor).all()
        ),
        "sin and sign pass below the best linear predictor, the others do not": all(
            # A target without a linear part sits on its floor: no rounding may decide.
            (step[name] < 0.99 * floor[name]) == (name in BELOW)
            for name in step.index
        ),
        "simulated errors lie within 4 standard errors plus 3 % of the theory": on_panel_line(
            table, "test_error", errors=4, relative=0.03
        ),
    }


REFERENCES = cite("2402.04980", "2410.18938")
SIZES = figure_sizes(targets=(2, 3, 6), dim=(80, 120, 1000), seeds=(6, 6, 20))
