"""Two steps on one batch learn what fresh batches of that size never do.

Left and middle: mean signed cosine of a relu neuron with the target's direction, d = {dim}, n = 3d,
square loss, step size 0.3. He3, of leap 3, takes d^2 samples by one-pass SGD and d^3 in one giant
step: fresh batches of this size never find it, while reusing the batch does so from the second step
on, weakly but in nearly every run. tanh is learned at once, by either. Right: mean size of the
cosine after two steps on He3, tanh neuron, step size 1, correlation loss: reused, it does not
depend on d; fresh batches show only noise, which falls as d^(-1/2). Lines: theory for large d, pure
noise for fresh batches on the right; dots: {seeds} simulations. Left and middle, the claims allow
3 % for what theory for large d leaves out.
"""

from __future__ import annotations

import math
from typing import Any

from giantstep.asking.verbs import PREDICT, SIMULATE
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
from giantstep.gallery.panels import Side, draw_curves, on_panel_line
from giantstep.gallery.style import GREY, new_figure
from giantstep.settings.giant_step import GiantStep

RELU = GiantStep(samples="3d", step_size="0.3", width="1", readout="ones", activation="relu")
TANH = RELU.replace(step_size="1", activation="tanh", loss="correlation", steps=2)
#: The noise of fresh batches falls as d^-1/2; its law is computed here, where it is largest
#: beside the sampling error of the law's expectations.
NOISE_DIM = 16
EASY, HARD = "tanh(h1)", "He3(h1)"
TITLES = {
    EASY: r"relu, $y = \tanh(h)$",
    HARD: r"relu, $y = \mathrm{He}_3(h)$",
    "dims": r"tanh, $y = \mathrm{He}_3(h)$, two steps",
}
BATCHES = {"reused": "one batch, reused", "fresh": "a fresh batch each step"}


def rows(sizes: Sizes, bench: Workbench) -> Tables:
    """Signed cosines by target, kind of batch and step; sizes of cosines by dimension."""
    import pandas

    asking: dict[str, Any] = {"verbs": (SIMULATE,), "seeds": sizes.seeds}
    for batches in BATCHES:
        for target in (EASY, HARD):
            settings = RELU.replace(batches=batches, steps=sizes.steps)
            run = bench.answer(settings.replace(dim=sizes.dim), target, **asking)
            law = bench.answer(settings, target, verbs=(PREDICT,))
            cosines = run.arrays["cosines"][:, :, 0, 0]
            part = {
                "panel": target,
                "batches": batches,
                "dim": sizes.dim,
                "step": range(sizes.steps + 1),
                **figure_columns("cosine", cosines),
                "cosine.theory": law.arrays["cosines"][:, 0, 0],
                "negative": (cosines < 0).mean(axis=0),
            }
            yield pandas.DataFrame(part)
        for dim in sizes.dims:
            settings = TANH.replace(batches=batches, dim=dim)
            found = bench.table(["overlap"], settings, HARD, **asking)
            law = found[found.step == 2].assign(panel="dims", batches=batches, dim=dim)
            yield law.assign(**{"overlap.theory": _figure_second_step(bench, settings)})


def _figure_second_step(bench: Workbench, settings: GiantStep) -> float:
    """Mean size of the cosine after two steps: the limit, or that of a normal noise."""
    fresh = settings.batches == "fresh"
    chosen = settings.replace(dim=NOISE_DIM) if fresh else settings
    law = bench.table(["overlap"], chosen, HARD, verbs=(PREDICT,))
    value = float(law.set_index("step")["overlap.theory"][2])
    assert settings.dim is not None
    return value * math.sqrt(2 / math.pi * NOISE_DIM / settings.dim) if fresh else value


def draw(table: DataFrame) -> Picture:
    """Both targets over steps, as on the slide; He3 over dimensions."""
    figure, panels = new_figure(9.6, 3.4, ncols=3)
    chance = table.dim.iloc[0] ** -0.5
    over_d = (
        Side("dim", "dimension $d$", "log2"),
        Side("overlap", "overlap |cosine|", "log", ticks=[0.02, 0.05, 0.1, 0.2]),
    )
    over_steps = Side("step", "steps"), Side("cosine", "cosine with $h$")
    for panel, (name, title) in zip(panels, TITLES.items(), strict=True):
        sides = over_d if name == "dims" else over_steps
        draw_curves(panel, table[table.panel == name], *sides, ("batches", BATCHES))
        panel.set_title(title)
        if name != "dims":
            band = {"color": GREY, "alpha": 0.25, "linewidth": 0}
            panel.axhspan(-chance, chance, label=r"chance, $\pm d^{-1/2}$", **band)
    panels[0].legend(loc="upper left")
    return figure


def claims(table: DataFrame) -> dict[str, bool]:
    """Both targets are found on one batch, He3 only there, and at any d."""
    over_d = table[table.panel == "dims"]
    steps = table[table.panel != "dims"]
    last = steps[steps.step == steps.step.max()].set_index(["panel", "batches"])
    reused = steps[steps.batches == "reused"]
    hard = reused[(reused.panel == HARD) & (reused.step > 1)]
    overlap = over_d.pivot_table("overlap", "dim", "batches")
    smallest, largest = overlap.index[[0, -1]]
    far = over_d[(over_d.dim == largest) | (over_d.batches == "fresh")]
    return {
        "relu: each dot of the reused batch is within 4 standard errors plus 3 % of its line": (
            on_panel_line(reused, "cosine", errors=4, relative=0.03)
        ),
        "He3, one batch: from step 2 on the cosine is beyond 5 standard errors from zero": bool(
            (hard.cosine < -5 * hard["cosine.sem"]).all()
        ),
        "He3, one batch: in the end the cosine is negative in at least 95 % of the runs": bool(
            last.negative[HARD, "reused"] >= 0.95
        ),
        "He3, fresh batches: in the end the cosine is within 4 standard errors of zero": bool(
            abs(last.cosine[HARD, "fresh"]) < 4 * last["cosine.sem"][HARD, "fresh"]
        ),
        "tanh is found by both, beyond .3": bool(last.cosine[EASY].min() > 0.3),
        "two steps on He3: fresh batches at every d, and the largest d reused, are within 5 "
        "standard errors of their lines": on_panel_line(far, "overlap", errors=5),
        "two steps on He3: reused, the overlap stays as d grows; fresh, it falls at least as "
        "d^-1/3": bool(
            overlap.reused[largest] > 0.7 * overlap.reused[smallest]
            and overlap.fresh[largest] < overlap.fresh[smallest] * (largest / smallest) ** (-1 / 3)
        ),
    }


REFERENCES = cite("2402.03220", "2003.10409")
SIZES = figure_sizes(
    dim=(5000, 5000, 5000),
    steps=(4, 6, 12),
    dims=((512, 2048, 8192), (256, 1024, 4096, 16_384), (256, 1024, 4096, 16_384, 65_536)),
    seeds=(24, 48, 256),
)
