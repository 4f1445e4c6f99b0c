"""Two steps on one batch learn what fresh batches of that size never do.

Top and bottom left: mean size of the cosine of a neuron with the direction of the target, n = 3d,
tanh, step size 1, correlation loss. He3, of leap 3, takes d^2 samples by one-pass SGD and d^3 in
one giant step; reusing its batch of 3d, the neuron finds the direction in its second step, at any
d, while fresh batches show only noise, which falls as d^(-1/2). tanh, of leap 1, is learned at
once, by either. Bottom right: two relu neurons with readouts 1 and -1 on one batch of 2d, step size
1.5, square loss; the error of a ridge fit of that batch falls with every step, that of fresh
samples does not follow. Lines: theory in the limit of large d, pure noise for He3 and fresh
batches; dots: {seeds} simulations with errors.
"""

from __future__ import annotations

import math
from typing import Any

from giantstep.asking.verbs import PREDICT, SIMULATE
from giantstep.bibliography import cite
from giantstep.gallery.figure import DataFrame, Picture, Sizes, Workbench, at_scales
from giantstep.gallery.panels import Side, lay_curves, lay_over, on_the_line
from giantstep.gallery.style import COLOURS, new_figure
from giantstep.settings.giant_step import GiantStep

SETTINGS = GiantStep(
    samples="3d", step_size="1", width="1", readout="ones", activation="tanh", loss="correlation"
)


#: The noise of fresh batches falls as d^-1/2; its law is computed here, where it is largest
#: beside the sampling error of the law's expectations.
NOISE_DIM = 16
LABELS = {"reused": "one batch, reused", "fresh": "a fresh batch each step"}
#: A target of leap 3 and, beside it, one of leap 1 that needs no reuse.
TARGETS = {"He3(h1)": r"y = \mathrm{He}_3(h)", "tanh(h1)": r"y = \tanh(h)"}
HARD, EASY = TARGETS
#: Two neurons whose readout is fitted to the batch that they step on.
FITTED = "tanh(h1) + h1*h2"
FIT_SETTINGS = SETTINGS.replace(
    samples="2d", step_size="1.5", width="2", readout="1,-1", activation="relu", loss="square",
    ridge=0.1, readout_samples="same", batches="reused",
)  # fmt: skip


ERRORS = {"train_error": "on the batch", "test_error": "on fresh samples"}


def _dims(sizes: Sizes) -> list[int]:
    """Dimensions from the lowest on, by factors of four."""
    return [sizes.lowest * 4**k for k in range(sizes.dimensions)]


def rows(sizes: Sizes, bench: Workbench) -> DataFrame:
    """Overlaps by target, kind of batch, dimension and step; then the errors of a fit."""
    import pandas

    parts, largest = [], _dims(sizes)[-1]
    for batches in LABELS:
        places = [(HARD, dim, sizes.steps if dim == largest else 2) for dim in _dims(sizes)]
        for target, dim, steps in (*places, (EASY, largest, sizes.steps)):
            settings = SETTINGS.replace(batches=batches, dim=dim, steps=steps)
            part = bench.table(["overlap"], settings, target, verbs=(SIMULATE,), seeds=sizes.seeds)
            law = _theory(bench, settings, target) if target == EASY else _law(bench, settings)
            theory = part.step.map(law)
            known = {"target": target, "batches": batches, "dim": dim, "overlap.theory": theory}
            parts.append(part.assign(**known))
    settings = FIT_SETTINGS.replace(dim=largest, steps=sizes.steps)
    errors = bench.table(list(ERRORS), settings, FITTED, seeds=sizes.seeds)
    parts.append(errors.assign(target=FITTED, batches="reused", dim=largest))
    return pandas.concat(parts, ignore_index=True)


def _law(bench: Workbench, settings: GiantStep) -> Any:
    """Theory: without a signal the cosine is normal; from the second step on one batch the limit.

    The first step is the same on a batch that will be reused: noise, which the limit calls 0.
    """
    law = _theory(bench, settings.replace(batches="fresh", dim=NOISE_DIM), HARD)
    assert settings.dim is not None
    law *= math.sqrt(2 / math.pi * NOISE_DIM / settings.dim)
    if settings.batches == "reused":
        law = law.where(law.index < 2, _theory(bench, settings, HARD))
    return law


def _theory(bench: Workbench, settings: GiantStep, target: str) -> Any:
    """Predicted overlaps by step."""
    law = bench.table(["overlap"], settings, target, verbs=(PREDICT,))
    return law.set_index("step")["overlap.theory"]


def draw(table: DataFrame) -> Picture:
    """Both targets over steps at the largest dimension; the hard one over dimensions; errors."""
    figure, grid = new_figure(7.4, 6.0, nrows=2, ncols=2)
    hard, easy, over_d, fit = grid.ravel()
    largest, batches = table.dim.max(), ("batches", LABELS)
    steps, overlap = Side("step", "steps"), Side("overlap", "overlap |cosine|")
    for panel, target in ((hard, HARD), (easy, EASY)):
        here = table[(table.target == target) & (table.dim == largest)]
        lay_curves(panel, here, steps, overlap, batches)
        panel.set_title(f"${TARGETS[target]}$, $d = {largest}$")
    second = table[(table.target == HARD) & (table.step == 2)]
    size = overlap._replace(scale="log", ticks=[0.02, 0.05, 0.1, 0.2])
    lay_curves(over_d, second, Side("dim", "dimension $d$", "log2"), size, batches)
    over_d.set_title(f"${TARGETS[HARD]}$, two steps")
    fitted = table[table.target == FITTED]
    for (error, label), colour in zip(ERRORS.items(), COLOURS[2:], strict=False):
        lay_over(fit, fitted, "step", error, colour, label)
    fit.set(title=rf"$y = \tanh(h_1) + h_1 h_2$, $d = {largest}$", xlabel="steps")
    fit.set_ylabel("mean squared error")
    for panel in (hard, easy, fit):
        panel.set_xticks(range(int(table.step.max()) + 1))
        panel.set_ylim(bottom=-0.01)
    hard.legend(loc="upper left")
    fit.legend(loc="center right", bbox_to_anchor=(1.0, 0.68))
    return figure


def claims(table: DataFrame) -> dict[str, bool]:
    """Reuse reaches its law; fresh batches show noise that falls with d, unless the leap is 1."""
    largest, smallest = table.dim.max(), table.dim.min()
    hard, easy = table[table.target == HARD], table[table.target == EASY]
    overlap = hard.set_index(["batches", "dim", "step"])["overlap"].sort_index()
    simple = easy.set_index(["batches", "step"])["overlap"].sort_index()
    second = hard[(hard.batches == "reused") & (hard.step == 2) & (hard.dim == largest)]
    last, fitted = table.step.max(), table[table.target == FITTED]
    ends = fitted[fitted.step == last].iloc[0]
    return {
        "He3, two steps on one batch: the largest d is within 5 standard errors of the line": (
            on_the_line(second, "overlap", errors=5)
        ),
        "He3, fresh batches: each dot is within 5 standard errors of the line of pure noise": (
            on_the_line(hard[hard.batches == "fresh"], "overlap", errors=5)
        ),
        "He3: reused, the overlap stays as d grows; fresh, it falls at least as d^-1/3": (
            overlap["reused", largest, 2] > 0.7 * overlap["reused", smallest, 2]
            and overlap["fresh", largest, 2]
            < overlap["fresh", smallest, 2] * (largest / smallest) ** (-1 / 3)
        ),
        "He3: at the largest d reuse is over three times above fresh batches from step 2 on": all(
            overlap["reused", largest, step] > 3 * overlap["fresh", largest, step]
            for step in range(2, last + 1)
        ),
        "tanh: both kinds of batches learn from the first step on, within 5 standard errors of "
        "their lines": on_the_line(easy[easy.step > 0], "overlap", errors=5)
        and min(simple["reused", 1], simple["fresh", 1]) > 0.3,
        "the fit: train and test error are within 5 standard errors of their lines": all(
            on_the_line(fitted, name, errors=5) for name in ERRORS
        ),
        "the fit: after the last step the error of the batch is below half of that of fresh "
        "samples": bool(ends["train_error"] < ends["test_error"] / 2),
    }


REFERENCES = cite("2402.03220", "2003.10409")
SIZES = at_scales(
    lowest=(512, 256, 256), dimensions=(3, 4, 5), seeds=(16, 48, 256), steps=(3, 6, 8)
)
