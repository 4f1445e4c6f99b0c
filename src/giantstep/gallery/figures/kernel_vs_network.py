"""What a kernel, principal components and one giant step learn under a spike.

Excess risk over the exponent of a spike d^gamma2 along the target, n = 4d = 4 x {dim}, for links of
information exponent k and degree p. The kernel is exp(<x, x'>/d), the component's fit a polynomial,
the network relu of width 400. It takes one giant step (recipe spiked-network) and fits its readout
to the same samples, or halves them. Lines: theory, for the component with the cost of its fit to
first order in 1/n: too much at the weakest spikes. Dots: {seeds} simulations, of the component ten
times as many. Dotted: 1 - 1/p (kernel) and 1 - 1/k (network).
"""

from __future__ import annotations

from giantstep.asking.verbs import SIMULATE, VERBS
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
from giantstep.gallery.panels import Side, draw_guide, on_panel_line, overlay_panels
from giantstep.gallery.style import GREY
from giantstep.settings.giant_step import GiantStep
from giantstep.settings.kernel import Kernel
from giantstep.settings.options import Settings
from giantstep.settings.pca import Pca

#: Name, link, information exponent k, degree p.
LINKS = {
    "k1p3": ("(h1 + He3(h1)/sqrt(6))/sqrt(2)", 1, 3),
    "k2p3": ("(He2(h1)/sqrt(2) + He3(h1)/sqrt(6))/sqrt(2)", 2, 3),
    "k2p4": ("(He2(h1)/sqrt(2) + He4(h1)/sqrt(24))/sqrt(2)", 2, 4),
    "k3p3": ("He3(h1)/sqrt(6)", 3, 3),
}


NETWORK = GiantStep(recipe="spiked-network", test_samples="4000")
LEARNERS: dict[str, Settings] = {
    "kernel": Kernel(samples="4d", ridge=0.05),
    "pca": Pca(samples="4d", degree=4),
    "same": NETWORK.replace(samples="4d", readout_samples="same"),
    "halves": NETWORK.replace(samples="2d", readout_samples="2d"),
}
NETWORKS = ("same", "halves")
LABELS = {
    "kernel": "kernel",
    "pca": "principal component",
    "same": "one giant step, readout on the same samples",
    "halves": "one giant step, half of the samples each",
}


def rows(sizes: Sizes, bench: Workbench) -> Tables:
    """Test errors by link, curve and exponent of the spike; n = 4d for each of them."""

    targets = {LINKS[link][0]: link for link in sizes.links}
    along = Along("inputs", "spiked:d^{:g}".format, "exponent", (0.1, 0.8))
    for name, settings in LEARNERS.items():
        network = name in NETWORKS
        # Errors of the component are skewed, and cheap to draw.
        own = {"seeds": sizes.seeds * (10 if name == "pca" else 1)}
        if network:
            own |= {"points": ()}
        part = bench.curve(
            ["test_error"],
            settings.replace(dim=sizes.dim),
            list(targets),
            along,
            Sizes(**{**vars(sizes), **own}),
            verbs=(SIMULATE,) if network else VERBS,
        )
        if network:
            # After the step; before it stands the same readout of random neurons.
            part = part[part.step == 1]
        yield part.assign(curve=name, link=part.target.map(targets))


def draw(table: DataFrame) -> Picture:
    """One panel per link, one colour per curve; dots of the two networks side by side."""
    figure, panels = overlay_panels(
        table.assign(exponent=table.exponent + 0.015 * (table.curve == "halves")),
        Side("exponent", r"exponent $\gamma_2$ of the spike"),
        Side("test_error", "test error", limits=(-0.05, 1.4)),
        panels=("link", {name: f"$k = {k}$, $p = {p}$" for name, (_, k, p) in LINKS.items()}),
        curves=("curve", LABELS),
        legend="above",
    )
    for panel, link in zip(panels, table.link.unique(), strict=True):
        _, order, degree = LINKS[link]
        whose = "kernel and network" if order == degree else "kernel"
        draw_guide(panel, f"{whose}, $1 - 1/p$", x=1 - 1 / degree)
        if order not in (1, degree):
            draw_guide(panel, "network, $1 - 1/k$", x=1 - 1 / order)
        panel.axhline(0, color=GREY, linewidth=0.8)
    return figure


def claims(table: DataFrame) -> dict[str, bool]:
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
            on_panel_line(
                table[(table.curve == "pca") & (table.exponent > 0.29)], "test_error", errors=5
            )
        ),
    }


REFERENCES = cite("ba-2023")
SIZES = figure_sizes(
    points=(3, 25, 60),
    dots=(3, 6, 8),
    dim=(48, 100, 256),
    links=(("k2p3",), ("k1p3", "k2p4", "k3p3"), ("k1p3", "k2p4", "k3p3")),
    seeds=(3, 4, 20),
)
