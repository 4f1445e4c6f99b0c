"""Gaussian equivalence before a step, conditional equivalence after a giant one.

Excess test error of a ridge fit to the features of a network after one step on 8 d samples, and to
Gaussian ones in their place: with the same mean and covariance, or with the same ones given the
projection on the learned direction. Target sin(h1), tanh, a = 1, p = d = {dim}, 3 d samples and
ridge 0.1. Without a step all agree. After a giant step the Gaussian equivalent can only fit linear
functions, while the conditional one follows the network. Line: theory at d = {dim}; dots: means
over {seeds} first layers, with standard errors. Equivalents differ from the network by terms of
order 1/d, for which claims allow 4 %.
"""

from __future__ import annotations

from typing import Any

from giantstep.asking.verbs import predict
from giantstep.bibliography import cite
from giantstep.gallery.figure import (
    DataFrame,
    Picture,
    Sizes,
    Tables,
    Workbench,
    figure_columns,
    figure_sizes,
)
from giantstep.gallery.figures.one_step_risk import STEP
from giantstep.gallery.panels import draw_dots, draw_linear_floor, on_panel_line
from giantstep.gallery.style import COLOURS, new_figure
from giantstep.language.problem import Problem
from giantstep.learners.giant_step.spectra import Kind, simulate_equivalent_error
from giantstep.settings.giant_step import GiantStep

KINDS: dict[Kind, tuple[str, str]] = {
    "network": (r"features $\sigma(Wx)$", "o"),
    "gaussian": ("Gaussian equivalent", "s"),
    "conditional": ("conditional equivalent", "D"),
}
PROBLEM = Problem.of("sin(h1)")
LARGEST = 4.0
SETTINGS = STEP.replace(samples="8d", readout_samples="3d", test_samples="2000")
#: A step this small is none; a step of 0 would leave no learned direction.
NONE = 1e-9


def rows(sizes: Sizes, bench: Workbench) -> Tables:
    """Test errors by step size: predicted, and of fits to the three kinds of features."""
    import numpy as np

    settings = SETTINGS.replace(dim=sizes.dim)
    for step in np.linspace(NONE, LARGEST, sizes.points):
        yield {"step_size": step, "kind": "theory", **_theory(settings, step)}
    for number, step in enumerate(np.linspace(NONE, LARGEST, sizes.dots)):
        here, law = settings.replace(step_size=float(step)), _theory(settings, step)
        for kind in KINDS:
            runs = [simulate_equivalent_error(PROBLEM, here, kind, i) for i in range(sizes.seeds)]
            known = {"step_size": step, "kind": kind, **law}
            yield {**known, **figure_columns("test_error", runs)}
        bench.report((number + 1) / sizes.dots)


def _theory(settings: GiantStep, step: float) -> dict[str, float]:
    law = predict(settings.replace(step_size=float(step)), PROBLEM).metrics
    return {
        "test_error.theory": float(law["test_error"][-1]),
        "linear_floor.theory": float(law["linear_floor"]),
    }


def draw(table: DataFrame) -> Picture:
    """Three kinds of dots over the line of the network's theory."""
    figure, panel = new_figure(5.6, 4.0)
    line, law = table[table.kind == "theory"], "test_error.theory"
    panel.plot(line.step_size, line[law], color=COLOURS[0], label="theory of one step")
    draw_linear_floor(panel, line["linear_floor.theory"].iloc[0])
    for (kind, (label, form)), colour in zip(KINDS.items(), COLOURS, strict=False):
        style: dict[str, Any] = {"markersize": 7, "mfc": "none"} if kind == "network" else {}
        dots = table[table.kind == kind]
        draw_dots(panel, dots, "step_size", "test_error", colour, label, fmt=form, **style)
    panel.set(ylim=(0, 1.45 * line[law].max()), xlabel="step size", ylabel="test error")
    panel.legend(loc="upper right")
    return figure


def claims(table: DataFrame) -> dict[str, bool]:
    """Equal before; after, the Gaussian one stays linear and the conditional one follows."""
    import numpy as np

    dots = table[table.kind != "theory"].pivot_table(
        index="step_size", columns="kind", values=["test_error", "test_error.sem"]
    )
    error, sem = dots["test_error"], dots["test_error.sem"]
    floor = table["linear_floor.theory"].iloc[0]

    def apart(kind: str, at: int) -> tuple[float, float]:
        gap = abs(error[kind].iloc[at] - error["network"].iloc[at])
        return float(gap), float(np.hypot(sem[kind].iloc[at], sem["network"].iloc[at]))

    before, after = apart("gaussian", 0), apart("gaussian", -1)
    followed = [apart("conditional", at) for at in range(len(error))]
    small = 0.04 * error["network"].to_numpy()
    network = table[table.kind == "network"]
    return {
        "before the step the Gaussian equivalent is within 4 standard errors plus 4 %": (
            before[0] < 4 * before[1] + 0.04 * error["network"].iloc[0]
        ),
        "after the largest step it is off by over 30 % of the error, and by 8 standard errors": (
            after[0] > 8 * after[1] and after[0] > 0.3 * error["network"].iloc[-1]
        ),
        "it never passes below the best linear predictor; the network does": bool(
            (error["gaussian"] > floor).all() and error["network"].min() < floor
        ),
        "the conditional equivalent is within 4 standard errors plus 4 % at every step": all(
            gap < 4 * width + more for (gap, width), more in zip(followed, small, strict=True)
        ),
        "the network is within 4 standard errors plus 4 % of its theory": on_panel_line(
            network, "test_error", errors=4, relative=0.04
        ),
    }


REFERENCES = cite("1908.05355", "2305.18270", "2402.04980")
SIZES = figure_sizes(points=(2, 25, 25), dots=(2, 4, 9), dim=(80, 150, 500), seeds=(8, 5, 20))
