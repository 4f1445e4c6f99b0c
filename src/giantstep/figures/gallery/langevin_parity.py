"""Langevin dynamics on parities: what a boost of the relevant coordinates saves in samples."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from giantstep.figures.figure import Figure, Workbench
from giantstep.figures.panels import lay_over
from giantstep.figures.style import COLOURS, GREY, new_figure
from giantstep.studies.study import Study

if TYPE_CHECKING:
    import pandas
    from matplotlib.figure import Figure as Picture

EXPONENTS = (0.0, 0.5, 1.0)
PARITIES = {2: "sign(h1*h2)", 3: "sign(h1*h2*h3)", 4: "sign(h1*h2*h3*h4)"}


class Sizes(NamedTuple):
    """Parities by their number of coordinates, samples, and the sizes of a run."""

    orders: tuple[int, ...]
    samples: tuple[int, ...]
    dim: int
    width: int
    steps: int
    seeds: int


def rows(sizes: Sizes, bench: Workbench) -> pandas.DataFrame:
    """Accuracies by parity, exponent of the boost and samples."""
    import pandas

    parts = []
    for order in sizes.orders:
        for alpha in EXPONENTS:
            part = bench.summary(
                Study(
                    name=f"langevin-parity {order} {alpha}",
                    learner="langevin",
                    problem={"target": PARITIES[order], "inputs": f"hypercube:boost=d^{alpha:g}"},
                    settings={
                        **{"dim": sizes.dim, "width": sizes.width, "steps": sizes.steps},
                        **{"test_samples": 2000},
                    },
                    axes={"samples": list(sizes.samples)},
                    seeds=sizes.seeds,
                    verbs=["simulate"],
                )
            )
            part = part[part["accuracy"].notna()].reset_index(drop=True)
            part = part[[c for c in part if c.partition(".")[0] == "accuracy"]]
            parts.append(part.assign(order=order, alpha=alpha, samples=list(sizes.samples)))
    return pandas.concat(parts, ignore_index=True)


def draw(table: pandas.DataFrame) -> Picture:
    """One panel a parity, one line a boost."""
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
        panel.set_title(f"parity of {order}")
        panel.set_xlabel("samples $n$")
    panels[0][0].set_ylabel("accuracy")
    panels[0][-1].legend(loc="lower right")
    return figure


def claims(table: pandas.DataFrame) -> dict[str, bool]:
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


FIGURE = Figure(
    name="langevin-parity",
    title="Parities learned by mean-field Langevin dynamics on anisotropic inputs",
    caption="""Accuracy of a mean-field network of {width} tanh particles after {steps} annealed
    Langevin steps on a parity of the first coordinates of the hypercube, d = {dim}, whose variance
    is boosted by d^alpha; {seeds} seeds. Theory gives n of order d^(1-alpha) whatever the number
    of coordinates; no exact curve is known, and at this size more coordinates do take more samples
    when there is no boost.""",
    references=("Suzuki et al. 2023, Advances in Neural Information Processing Systems 36",),
    sizes={
        "reduced": Sizes((2,), (40, 120), 20, 200, 1000, 2),
        "quick": Sizes((2, 3), (50, 200), 20, 300, 2000, 2),
        "full": Sizes((2, 3, 4), (50, 100, 200, 400, 800), 20, 500, 3000, 8),
    },
    rows=rows,
    draw=draw,
    claims=claims,
)
