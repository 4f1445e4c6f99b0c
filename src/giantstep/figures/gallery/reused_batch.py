"""Two steps on one batch learn what no number of fresh batches of that size can."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from giantstep.figures.figure import Figure, Workbench
from giantstep.figures.panels import lay_over, on_the_line, over_steps
from giantstep.figures.style import COLOURS, new_figure
from giantstep.studies.study import Study

if TYPE_CHECKING:
    import pandas
    from matplotlib.figure import Figure as Picture

SETTINGS = {
    **{"samples": "3d", "step_size": "1", "width": "1", "readout": "ones"},
    **{"activation": "tanh", "loss": "correlation"},
}
#: The noise of fresh batches falls as d^-1/2; its law is computed here, where it is largest
#: beside the sampling error of the law's expectations.
NOISE_DIM = 16
LABELS = {"reused": "one batch, reused", "fresh": "a fresh batch each step"}


class Sizes(NamedTuple):
    """Dimensions from lowest to highest by factors of four, simulations, steps at the highest."""

    lowest: int
    dimensions: int
    seeds: int
    steps: int

    def dims(self) -> list[int]:
        """The dimensions."""
        return [self.lowest * 4**k for k in range(self.dimensions)]


def rows(sizes: Sizes, bench: Workbench) -> pandas.DataFrame:
    """Overlaps by kind of batch, dimension and step."""
    import pandas

    parts = []
    for batches in LABELS:
        for dim in sizes.dims():
            steps = sizes.steps if dim == sizes.dims()[-1] else 2
            simulated = _overlaps(bench, batches, dim, steps, "simulate", sizes.seeds)
            law = _law(bench, batches, dim, steps)
            part = simulated.merge(law[["step", "overlap.theory"]], how="left", on="step")
            parts.append(part.assign(batches=batches, dim=dim))
    return pandas.concat(parts, ignore_index=True)


def _law(bench: Workbench, batches: str, dim: int, steps: int) -> pandas.DataFrame:
    """Theory: of a reused batch the limit; without a signal the cosine is normal."""
    if batches == "reused":
        return _overlaps(bench, batches, dim, steps, "predict", 1)
    law = _overlaps(bench, batches, NOISE_DIM, steps, "predict", 1)
    law["overlap.theory"] *= math.sqrt(2 / math.pi * NOISE_DIM / dim)
    return law


def _overlaps(
    bench: Workbench, batches: str, dim: int, steps: int, verb: str, seeds: int
) -> pandas.DataFrame:
    study = Study(
        name=f"reused-batch {batches} {dim} {steps} {verb}",
        learner="giant-step",
        problem={"target": "He3(h1)"},
        settings={**SETTINGS, "batches": batches, "dim": dim, "steps": steps},
        seeds=seeds,
        verbs=[verb],
    )
    return over_steps(bench.summary(study), "overlap")


def draw(table: pandas.DataFrame) -> Picture:
    """Over steps at the largest dimension; over dimensions after two steps."""
    figure, (left, right) = new_figure(7.4, 3.3, ncols=2)
    largest = table.dim.max()
    for (batches, label), colour in zip(LABELS.items(), COLOURS, strict=False):
        here = table[table.batches == batches]
        lay_over(left, here[here.dim == largest], "step", "overlap", colour, label)
        lay_over(right, here[here.step == 2], "dim", "overlap", colour, label)
    left.set_title(f"over steps, $d = {largest}$")
    left.set_xlabel("steps")
    left.set_ylabel("overlap |cosine|")
    left.set_ylim(bottom=-0.01)
    left.legend(loc="upper left")
    right.set_title("after two steps")
    right.set_xlabel("dimension $d$")
    right.set_xscale("log", base=2)
    right.set_yscale("log")
    right.set_yticks([0.02, 0.05, 0.1, 0.2], ["0.02", "0.05", "0.1", "0.2"])
    right.minorticks_off()
    return figure


def claims(table: pandas.DataFrame) -> dict[str, bool]:
    """Reuse reaches its law; fresh batches show noise that falls with d."""
    largest, smallest = table.dim.max(), table.dim.min()
    overlap = table.set_index(["batches", "dim", "step"])["overlap"].sort_index()
    second = table[(table.batches == "reused") & (table.step == 2) & (table.dim == largest)]
    fresh = table[table.batches == "fresh"]
    last = table.step.max()
    return {
        "two steps on one batch: the largest d is within 5 standard errors of the line": (
            on_the_line(second, "overlap", errors=5)
        ),
        "fresh batches: each dot is within 5 standard errors of the line of pure noise": (
            on_the_line(fresh, "overlap", errors=5)
        ),
        "reused, the overlap stays as d grows; fresh, it falls at least as d^-1/3": (
            overlap["reused", largest, 2] > 0.7 * overlap["reused", smallest, 2]
            and overlap["fresh", largest, 2]
            < overlap["fresh", smallest, 2] * (largest / smallest) ** (-1 / 3)
        ),
        "at the largest d reuse is over three times above fresh batches from step 2 on": all(
            overlap["reused", largest, step] > 3 * overlap["fresh", largest, step]
            for step in range(2, last + 1)
        ),
    }


FIGURE = Figure(
    name="reused-batch",
    title="Two steps on one batch learn what fresh batches of that size never do",
    caption="""Mean size of the cosine of a neuron with the direction of y = He3(h), a target that
    one pass over the data learns from d^3 samples at best (leap 3): n = 3d samples, tanh, step
    size 1, correlation loss. Reusing its batch, the neuron finds the direction in its second step,
    at any d; with a fresh batch at every step it shows only noise, which falls as d^(-1/2). Lines:
    theory in the limit of large d, pure noise for fresh batches; dots: {seeds} simulations, exact
    in law, with standard errors.""",
    references=("Dandi et al. 2024, arXiv:2402.03220",),
    sizes={
        "reduced": Sizes(lowest=512, dimensions=3, seeds=16, steps=3),
        "quick": Sizes(lowest=256, dimensions=4, seeds=48, steps=6),
        "full": Sizes(lowest=256, dimensions=5, seeds=256, steps=8),
    },
    rows=rows,
    draw=draw,
    claims=claims,
)
