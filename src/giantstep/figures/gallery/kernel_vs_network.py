"""A kernel, principal components and one giant step under a spike along the target."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from giantstep.figures.figure import Figure, Workbench
from giantstep.figures.panels import lay_over, on_the_line
from giantstep.figures.style import COLOURS, GREY, new_figure
from giantstep.studies.study import Study

if TYPE_CHECKING:
    import pandas
    from matplotlib.figure import Figure as Picture

#: Name, link, information exponent k, degree p.
LINKS = {
    "k1p3": ("(h1 + He3(h1)/sqrt(6))/sqrt(2)", 1, 3),
    "k2p3": ("(He2(h1)/sqrt(2) + He3(h1)/sqrt(6))/sqrt(2)", 2, 3),
    "k2p4": ("(He2(h1)/sqrt(2) + He4(h1)/sqrt(24))/sqrt(2)", 2, 4),
    "k3p3": ("He3(h1)/sqrt(6)", 3, 3),
}


class Curve(NamedTuple):
    """A learner with its settings, as the legend has it."""

    learner: str
    label: str
    settings: dict[str, Any]


_NETWORK = {"recipe": "spiked-network", "test_samples": "4000"}
CURVES = {
    "kernel": Curve("kernel", "kernel", {"samples": "4d", "ridge": 0.05}),
    "pca": Curve("pca", "principal component", {"samples": "4d", "degree": 4}),
    "same": Curve(
        *("giant-step", "one giant step, readout on the same samples"),
        {**_NETWORK, "samples": "4d", "readout_samples": "same"},
    ),
    "halves": Curve(
        *("giant-step", "one giant step, half of the samples each"),
        {**_NETWORK, "samples": "2d", "readout_samples": "2d"},
    ),
}


class Sizes(NamedTuple):
    """Points of the lines, dots, dimension, links and seeds."""

    points: int
    dots: int
    dim: int
    links: tuple[str, ...]
    seeds: int


def rows(sizes: Sizes, bench: Workbench) -> pandas.DataFrame:
    """Test errors by link, curve and exponent of the spike; n = 4d for each of them."""
    import numpy as np
    import pandas

    parts = []
    for link in sizes.links:
        for name, (learner, _, options) in CURVES.items():
            for verb, points in (("predict", sizes.points), ("simulate", sizes.dots)):
                if verb == "predict" and learner == "giant-step":
                    continue
                exponents = np.linspace(0.1, 0.8, points).round(4)
                on_a_line = verb == "simulate" and learner != "giant-step"
                part = bench.summary(
                    Study(
                        name=f"kernel-vs-network {link} {name} {verb}",
                        learner=learner,
                        problem={"target": LINKS[link][0]},
                        settings={"dim": sizes.dim, **options},
                        axes={"inputs": [f"spiked:d^{exponent:g}" for exponent in exponents]},
                        # Errors of the component are skewed, and cheap to draw.
                        seeds=sizes.seeds * (10 if learner == "pca" else 1),
                        verbs=["simulate", "predict"] if on_a_line else [verb],
                    )
                )
                # After the step; before it stands the same readout of random neurons.
                part = part.rename(columns=lambda c: c.replace("test_error[1]", "test_error"))
                part = part[[c for c in part if c.partition(".")[0] == "test_error"]]
                parts.append(part.assign(link=link, curve=name, exponent=exponents))
    return pandas.concat(parts, ignore_index=True)


def draw(table: pandas.DataFrame) -> Picture:
    """One panel a link, one colour a curve."""
    links = list(table.link.unique())
    shape = {"ncols": len(links), "sharey": True, "squeeze": False}
    figure, panels = new_figure(2.6 * len(links) + 0.4, 3.3, **shape)
    for panel, link in zip(panels[0], links, strict=True):
        _, order, degree = LINKS[link]
        for name, colour in zip(CURVES, COLOURS, strict=False):
            here = table[(table.link == link) & (table.curve == name)]
            if CURVES[name].learner == "giant-step":  # dots alone, those of the two side by side
                here = here.drop(columns="test_error.theory")
                here = here.assign(exponent=here.exponent + 0.015 * (name == "halves"))
            lay_over(panel, here, "exponent", "test_error", colour, CURVES[name].label)
        panel.axvline(1 - 1 / degree, color=COLOURS[0], linestyle=":", linewidth=1)
        if order > 1:
            panel.axvline(1 - 1 / order, color=COLOURS[2], linestyle=":", linewidth=1)
        panel.axhline(0, color=GREY, linewidth=0.8)
        panel.set_title(f"$k = {order}$, $p = {degree}$")
        panel.set_xlabel(r"exponent $\gamma_2$ of the spike")
        panel.set_ylim(-0.05, 1.4)
    panels[0][0].set_ylabel("test error")
    handles, labels = panels[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=2 if len(links) > 1 else 1)
    return figure


def claims(table: pandas.DataFrame) -> dict[str, bool]:
    """Between gamma = .3 and .65 the network is below the kernel; components are on their line."""
    dots = table.dropna(subset="test_error")
    middle = dots[(dots.exponent > 0.29) & (dots.exponent < 0.66)]
    by_curve = middle.groupby(["link", "curve"])
    means = by_curve.test_error.mean().unstack()
    errors = by_curve["test_error.sem"].apply(lambda e: (e**2).sum() ** 0.5 / len(e)).unstack()
    gap = means["kernel"] - means["same"]
    return {
        "for spikes between d^0.3 and d^0.65 one giant step, readout on the same samples, errs "
        "less than the kernel by more than 3 standard errors": bool(
            (gap > 3 * (errors["kernel"] ** 2 + errors["same"] ** 2) ** 0.5).all()
        ),
        "from d^0.3 on, dots of the component are within 5 standard errors of their line": (
            on_the_line(
                table[(table.curve == "pca") & (table.exponent > 0.29)], "test_error", errors=5
            )
        ),
    }


FIGURE = Figure(
    name="kernel-vs-network",
    title="What a kernel, principal components and one giant step learn under a spike",
    caption="""Excess risk over the exponent of a spike d^gamma2 along the target, n = 4d = 4 x
    {dim}, for links of information exponent k and degree p: ridge regression with the kernel
    exp(<x, x'>/d), a polynomial of the top principal component, and a relu network of width 400
    after one giant step (recipe spiked-network), its readout fitted on the same samples, or the
    step on one half and the readout on the other.
    Lines: theory, for the component with the cost of its fit to first order in 1/n: too much at the
    weakest spikes. Dots: {seeds} simulations, of the component ten times as many. Dotted: 1 - 1/p
    (kernel, blue) and 1 - 1/k (network, green).""",
    references=("Ba et al. 2023, Advances in Neural Information Processing Systems 36",),
    sizes={
        "reduced": Sizes(3, 3, 48, ("k2p3",), 3),
        "quick": Sizes(25, 4, 100, tuple(LINKS), 4),
        "full": Sizes(60, 8, 256, tuple(LINKS), 20),
    },
    rows=rows,
    draw=draw,
    claims=claims,
)
