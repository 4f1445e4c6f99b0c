"""Parities learned by mean-field Langevin dynamics on anisotropic inputs.

Accuracy of a mean-field network of {width} tanh particles after {steps} annealed Langevin steps on
a parity of the first coordinates of the hypercube, d = {dim}, whose variance is boosted by d^alpha;
{seeds} seeds. Theory gives n of order d^(1-alpha) whatever the number of coordinates; no exact
curve is known, and at this size more coordinates do take more samples when there is no boost.
"""

from __future__ import annotations

from giantstep.asking.verbs import SIMULATE
from giantstep.bibliography import cite
from giantstep.gallery.figure import Along, DataFrame, Picture, Sizes, Workbench
from giantstep.gallery.panels import draw_dots, guide, ticks_at
from giantstep.gallery.style import COLOURS, new_figure
from giantstep.settings.langevin import Langevin

EXPONENTS = (0.0, 0.5, 1.0)
SAMPLES = (50, 75, 100, 150, 200, 400)
PARITIES = {2: "sign(h1*h2)", 3: "sign(h1*h2*h3)", 4: "sign(h1*h2*h3*h4)"}


def rows(sizes: Sizes, bench: Workbench) -> DataFrame:
    """Accuracies by parity, exponent of the boost and samples."""
    settings = Langevin(
        dim=sizes.dim,
        width=sizes.width,
        steps=sizes.steps,
        test_samples=2000,
        samples=list(sizes.samples),
    )
    found = bench.curve(
        ["accuracy"],
        settings,
        [PARITIES[order] for order in sizes.orders],
        Along("inputs", "hypercube:boost=d^{:g}".format, "alpha"),
        dots=EXPONENTS,
        verbs=(SIMULATE,),
        seeds=sizes.seeds,
    )
    return found.assign(order=found.target.map({text: k for k, text in PARITIES.items()}))


def draw(table: DataFrame) -> Picture:
    """One panel per parity, one colour per boost."""
    orders = list(table.order.unique())
    shape = {"ncols": len(orders), "sharey": True, "squeeze": False}
    figure, panels = new_figure(2.6 * len(orders) + 0.6, 3.1, **shape)
    for panel, order in zip(panels[0], orders, strict=True):
        for alpha, colour in zip(EXPONENTS, COLOURS, strict=False):
            here = table[(table.order == order) & (table.alpha == alpha)]
            # Side by side: many lie at 1.
            here = here.assign(samples=here.samples * 1.06 ** (2 * alpha - 1))
            boost = rf"boost $d^{{{alpha:g}}}$" if alpha else "no boost"
            draw_dots(panel, here, "samples", "accuracy", colour, boost)
        guide(panel, "chance", y=0.5)
        panel.set_xscale("log")
        ticks_at(panel.xaxis, sorted(table.samples.unique())[::2])
        signs = "".join(f"h_{k + 1}" for k in range(order))
        panel.set(title=rf"$\mathrm{{sign}}({signs})$", xlabel="samples $n$", ylim=(0.45, 1.02))
    panels[0][0].set_ylabel("accuracy")
    figure.legend(*panels[0][0].get_legend_handles_labels(), loc="outside upper center", ncols=3)
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
SIZES = {
    "reduced": Sizes(orders=(2,), samples=(40, 120), dim=20, width=200, steps=1000, seeds=2),
    "quick": Sizes(orders=(2, 3), samples=SAMPLES, dim=20, width=300, steps=2000, seeds=2),
    "full": Sizes(
        orders=(2, 3, 4),
        samples=(*SAMPLES, 800),
        dim=20,
        width=500,
        steps=3000,
        seeds=8,
    ),
}
