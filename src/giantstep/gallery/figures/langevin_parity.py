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
from giantstep.gallery.panels import lay_over
from giantstep.gallery.style import COLOURS, GREY, new_figure
from giantstep.settings.langevin import Langevin

EXPONENTS = (0.0, 0.5, 1.0)
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
    """One panel per parity, one line per boost."""
    orders = list(table.order.unique())
    shape = {"ncols": len(orders), "sharey": True, "squeeze": False}
    figure, panels = new_figure(2.6 * len(orders) + 0.6, 3.1, **shape)
    for panel, order in zip(panels[0], orders, strict=True):
        for alpha, colour in zip(EXPONENTS, COLOURS, strict=False):
            here = table[(table.order == order) & (table.alpha == alpha)]
            lay_over(panel, here, "samples", "accuracy", colour, rf"$\alpha = {alpha:g}$")
            panel.plot(here.samples, here.accuracy, color=colour, linewidth=0.9)
        panel.axhline(0.5, color=GREY, linewidth=0.8)
        panel.set_xscale("log")
        panel.set_xticks(list(here.samples), [f"{n}" for n in here.samples])
        panel.minorticks_off()
        panel.set(title=f"parity of {order}", xlabel="samples $n$")
    panels[0][0].set_ylabel("accuracy")
    panels[0][-1].legend(loc="lower right")
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
    "quick": Sizes(orders=(2, 3), samples=(50, 200), dim=20, width=300, steps=2000, seeds=2),
    "full": Sizes(
        orders=(2, 3, 4),
        samples=(50, 100, 200, 400, 800),
        dim=20,
        width=500,
        steps=3000,
        seeds=8,
    ),
}
