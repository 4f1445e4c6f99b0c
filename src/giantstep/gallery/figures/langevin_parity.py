"""Parities learned by mean-field Langevin dynamics on anisotropic inputs.

Accuracy of a mean-field network of {width} tanh particles after {steps} annealed Langevin steps on
a parity of the first coordinates of the hypercube, d = {dim}, whose variance is boosted by d^alpha;
{seeds} seeds. Theory gives n of order d^(1-alpha) whatever the number of coordinates; no exact
curve is known, and at this size more coordinates do take more samples when there is no boost.
"""

from __future__ import annotations

from giantstep.asking.verbs import SIMULATE
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
from giantstep.gallery.panels import Side, draw_guide, overlay_panels
from giantstep.settings.langevin import Langevin

BOOSTS = {0.0: "no boost", 0.5: "boost $d^{0.5}$", 1.0: "boost $d$"}
SAMPLES = (50, 75, 100, 150, 200, 400)
PARITIES = {2: "sign(h1*h2)", 3: "sign(h1*h2*h3)", 4: "sign(h1*h2*h3*h4)"}


TITLES = {
    order: rf"$\mathrm{{sign}}({''.join(f'h_{k + 1}' for k in range(order))})$"
    for order in PARITIES
}


def rows(sizes: Sizes, bench: Workbench) -> Tables:
    """Accuracies by parity, exponent of the boost and samples."""
    found = bench.curve(
        ["accuracy"],
        Langevin(
            dim=sizes.dim,
            width=sizes.width,
            steps=sizes.steps,
            test_samples=2000,
            samples=list(sizes.samples),
        ),
        [PARITIES[order] for order in sizes.orders],
        Along("inputs", "hypercube:boost=d^{:g}".format, "alpha"),
        Sizes(dots=list(BOOSTS), seeds=sizes.seeds),
        verbs=(SIMULATE,),
    )
    yield found.assign(order=found.target.map({text: k for k, text in PARITIES.items()}))


def draw(table: DataFrame) -> Picture:
    """One panel per parity, one colour per boost; side by side, since many lie at 1."""
    figure, panels = overlay_panels(
        table.assign(samples=table.samples * 1.06 ** (2 * table.alpha - 1)),
        Side("samples", "samples $n$", "log", ticks=sorted(table.samples.unique())[::2]),
        Side("accuracy", "accuracy", limits=(0.45, 1.02)),
        panels=("order", TITLES),
        curves=("alpha", BOOSTS),
        legend="above",
    )
    for panel in panels:
        draw_guide(panel, "chance", y=0.5)
    return figure


def claims(table: DataFrame) -> dict[str, bool]:
    """With the boost d the parity is learned from the fewest samples, without it is not."""
    fewest = table[table.samples == table.samples.min()].groupby("alpha").accuracy.mean()
    return {
        "from the fewest samples the boost d gives more than 0.85, none less than 0.75": bool(
            fewest[1.0] > 0.85 and fewest[0.0] < 0.75
        ),
        "at every n, the boost d is at least as good as none": bool(
            (
                table[table.alpha == 1].groupby(["order", "samples"]).accuracy.mean()
                >= table[table.alpha == 0].groupby(["order", "samples"]).accuracy.mean() - 0.02
            ).all()
        ),
    }


REFERENCES = cite("suzuki-2023")
SIZES = figure_sizes(
    orders=((2,), (2, 3), (2, 3, 4)),
    samples=((40, 120), SAMPLES, (*SAMPLES, 800)),
    dim=(20, 20, 20),
    width=(200, 300, 500),
    steps=(1000, 2000, 3000),
    seeds=(2, 2, 8),
)
