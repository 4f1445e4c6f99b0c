"""One relu neuron on one batch of 3d: tanh at once, He3 weakly but surely from the second step.

Mean signed cosine of a neuron with the direction of the target, d = {dim}, n = 3d, square loss,
step size 0.3. He3 has leap 3: fresh batches of this size never find it, while reusing the batch
finds it in nearly every run, with the sign that theory gives. Lines: theory for large d; dots:
{seeds} runs with standard errors. The claim allows 3 % for what theory for large d leaves out.
"""

from __future__ import annotations

from giantstep.asking.verbs import PREDICT, SIMULATE
from giantstep.bibliography import cite
from giantstep.gallery.figure import DataFrame, Picture, Sizes, Workbench, at_scales, measured
from giantstep.gallery.panels import Side, on_the_line, overlay
from giantstep.gallery.style import GREY
from giantstep.settings.giant_step import GiantStep

SETTINGS = GiantStep(samples="3d", step_size="0.3", width="1", readout="ones", activation="relu")
TARGETS = {"tanh(h1)": r"$g_\star = \tanh$", "He3(h1)": r"$g_\star = \mathrm{He}_3$"}
BATCHES = {"reused": "one batch, reused", "fresh": "a fresh batch each step"}
EASY, HARD = TARGETS


def rows(sizes: Sizes, bench: Workbench) -> DataFrame:
    """Signed cosines by target, kind of batch and step, simulated and predicted."""
    import pandas

    parts = []
    for target in TARGETS:
        for batches in BATCHES:
            settings = SETTINGS.replace(batches=batches, steps=sizes.steps)
            run = bench.answer(
                settings.replace(dim=sizes.dim), target, verbs=(SIMULATE,), seeds=sizes.seeds
            )
            law = bench.answer(settings, target, verbs=(PREDICT,))
            cosines = run.arrays["cosines"][:, :, 0, 0]
            part = {
                "target": target,
                "batches": batches,
                "step": range(sizes.steps + 1),
                **measured("cosine", cosines),
                "cosine.theory": law.arrays["cosines"][:, 0, 0],
                "negative": (cosines < 0).mean(axis=0),
                "chance": sizes.dim**-0.5,
            }
            parts.append(pandas.DataFrame(part))
    return pandas.concat(parts, ignore_index=True)


def draw(table: DataFrame) -> Picture:
    """One panel per target, as on the slide."""
    figure, panels = overlay(
        table,
        Side("step", "steps"),
        Side("cosine", "cosine with $h$"),
        panels=("target", TARGETS),
        curves=("batches", BATCHES),
        sharey=False,
    )
    chance, band = table.chance.iloc[0], {"color": GREY, "alpha": 0.25, "linewidth": 0}
    for panel in panels:
        panel.axhspan(-chance, chance, label=r"chance, $\pm d^{-1/2}$", **band)
    panels[0].legend(loc="upper left")
    return figure


def claims(table: DataFrame) -> dict[str, bool]:
    """Both targets are found on one batch, He3 only there."""
    last = table[table.step == table.step.max()].set_index(["target", "batches"])
    hard = table[(table.target == HARD) & (table.batches == "reused") & (table.step > 1)]
    return {
        "each dot of the reused batch is within 4 standard errors plus 3 % of its line": (
            on_the_line(table[table.batches == "reused"], "cosine", errors=4, relative=0.03)
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
    }


REFERENCES = cite("2402.03220")
SIZES = at_scales(dim=(5000, 5000, 5000), steps=(4, 6, 12), seeds=(24, 48, 100))
