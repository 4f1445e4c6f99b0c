"""Iterations of message passing: of order one, or log d.

Iterations that Bayes-optimal message passing takes from a small random start until its estimate
changes by less than 1e-3, n = 2 d, label noise 0.25. A trivial direction shows at the first
iteration, and their number does not depend on d. An easy one must first be amplified from an
overlap of order d^(-1/2), by the same factor each time: log d iterations. Lines: an estimate from
state evolution, good to about a quarter; dots: {seeds} runs each, with standard errors: over these
dimensions the growth is smaller than their scatter.
"""

from __future__ import annotations

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
from giantstep.gallery.panels import Side, overlay_panels
from giantstep.settings.amp import Amp

#: By target: class of its direction, and how it is written.
TARGETS = {
    "sign(h1)": ("trivial", r"$\mathrm{sign}(h)$"),
    "abs(h1)": ("easy", "$|h|$"),
}
NOISE, SAMPLES = 0.25, "2d"
#: Beyond, the overlap at the start is below what the estimate follows.
FAR = 50_000


def rows(sizes: Sizes, bench: Workbench) -> Tables:
    """Iterations until rest by target and dimension."""
    found = bench.curve(
        ["iterations", "expected_iterations"],
        Amp(samples=SAMPLES, tolerance=1e-3),
        list(TARGETS),
        Along("dim", round, "dim", (min(sizes.dots), FAR), ratios=True),
        sizes,
        noise=NOISE,
    )
    yield found.rename(columns={"expected_iterations.theory": "iterations.theory"})


def draw(table: DataFrame) -> Picture:
    """Iterations over the dimension, by its logarithm."""
    return overlay_panels(
        table,
        Side("dim", "dimension $d$", "log"),
        Side("iterations", "iterations until rest", limits=(0, None)),
        curves=("target", {target: f"{name}: {kind}" for target, (kind, name) in TARGETS.items()}),
        legend="upper right",
    )[0]


def claims(table: DataFrame) -> dict[str, bool]:
    """Flat for what a first look shows, a line in log d for what must be amplified."""
    import numpy as np

    found: dict[str, bool] = {}
    for target, (kind, _) in TARGETS.items():
        here = table[table.target == target]
        line = here[here.iterations.isna()].sort_values("dim")
        dots = here.dropna(subset="iterations").sort_values("dim")
        steps = line["iterations.theory"]
        gap = (dots.iterations - dots["iterations.theory"]).abs()
        near = (gap <= 4 * dots["iterations.sem"] + 0.25 * dots["iterations.theory"]).all()
        found[f"{kind}: runs are within 4 standard errors plus a quarter of the estimate"] = bool(
            near and len(dots) > 1
        )
        if kind == "trivial":
            found["trivial: iterations do not depend on d"] = bool(steps.max() - steps.min() < 1e-6)
            continue
        slopes = np.diff(steps) / np.diff(np.log(line.dim))
        found["easy: each factor of d adds the same number of iterations, within 10 %"] = bool(
            slopes.min() > 0 and slopes.max() < 1.1 * slopes.min()
        )
    return found


REFERENCES = cite("2405.15480")
SIZES = figure_sizes(
    points=(3, 6, 9),
    dots=((200, 400), (150, 200, 300, 400, 600, 800), (200, 400, 800, 1600, 2400, 3200)),
    seeds=(4, 8, 30),
)
