"""A basis that grows with the values of the readout.

What one giant step can fit of sin(2 h1) with erf: each value of the spike, s = 1, 2.5, 0.5, 1.7,
adds erf(s kappa/sqrt 3) and kappa exp(-(s kappa)^2/3). Left: the best fit. Right: excess test
error, p = 4d, n = 8d, ridge 0.03, and its bounds. Lines: theory; dots: {seeds} runs at d = {dim}.
The claim allows 3 % for terms of order 1/d^2.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

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
from giantstep.gallery.panels import Side, draw_curves, draw_linear_floor, on_panel_line
from giantstep.gallery.style import COLOURS, GREY, new_figure
from giantstep.language.activations.activation import activation
from giantstep.language.problem import Problem
from giantstep.settings.spiked_random_features import SpikedRandomFeatures
from giantstep.theory.spiked_random_features.finite_size import Blocks
from giantstep.theory.spiked_random_features.prediction import spiked_readout

if TYPE_CHECKING:
    import numpy as np

TARGET = "sin(2*h1)"
#: Spikes in the order in which they join: readouts of one, two, three, four values.
SPIKES = (1.0, 2.5, 0.5, 1.7)
#: Where the fits are drawn.
FARTHEST = 3.0
SETTINGS = SpikedRandomFeatures(activation="erf", readout_samples="8d", width="4d", ridge=0.03)


def _figure_support(values: float) -> str:
    """The first spikes, each carried by an equal share of the neurons."""
    return ",".join(f"{spike}:{1 / values:.9f}" for spike in SPIKES[: int(values)])


def rows(sizes: Sizes, bench: Workbench) -> Tables:
    """Best fits over the basis, and risk and bounds, by the number of values."""
    import numpy as np
    import pandas

    numbers = range(1, sizes.values + 1)
    for values in numbers:
        kappa, target, fit = _figure_best_fit(values)
        shown = np.abs(kappa) < FARTHEST
        columns = {"kappa": kappa[shown], "target": target[shown], "fit": fit[shown]}
        yield pandas.DataFrame(columns).assign(panel="fit", values=values)
    risk = bench.curve(
        ["test_error", "bound_upper", "bound_lower", "linear_floor"],
        SETTINGS,
        TARGET,
        Along("spike", _figure_support, "values"),
        Sizes(points=numbers, dots=numbers, seeds=sizes.seeds),
        dots_alone={"dim": [sizes.dim]},
    )
    yield risk.assign(panel="risk", size=risk.dim.fillna(np.inf))


def _figure_best_fit(values: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The target and its projection on mu_0 and kappa mu_1 of each value, over kappa."""
    import numpy as np

    spikes, ones = np.array(SPIKES[:values]), np.ones(values)
    blocks = Blocks(spikes, ones, ones / values)
    readout = spiked_readout(Problem.of(TARGET), activation("erf"), blocks, 1.0)
    learned, functions = readout.learned, readout.functions[0]
    (kappa,), labels, half = learned.kappa, learned.labels[0], np.sqrt(learned.weights)
    weights = np.linalg.lstsq((functions * half).T, labels * half, rcond=1e-12)[0]
    # The basis of what is learned has a sign of its own; the picture has that of h1.
    kappa = kappa * np.sign((learned.weights * labels) @ kappa)
    order = np.argsort(kappa)
    return kappa[order], labels[order], (weights @ functions)[order]


def draw(table: DataFrame) -> Picture:
    """The best functions over the basis; the risk between its bounds."""
    import numpy as np

    figure, (left, right) = new_figure(7.4, 3.9, ncols=2)
    fits, risks = table[table.panel == "fit"], table[table.panel == "risk"]
    first = fits[fits["values"] == 1]
    left.plot(first.kappa, first.target, color=GREY, linewidth=4, alpha=0.45, label="target")
    drawn = {1: "one value", 2: "two values", 4: "four values"}
    kappa, fit = Side("kappa", r"learned projection $\kappa$"), Side("fit", "best fit")
    fits = fits.rename(columns={"fit": "fit.theory"})
    draw_curves(left, fits, kappa, fit._replace(limits=(-1.7, 2.4)), ("values", drawn))
    left.legend(loc="upper right", ncols=2)
    limit = risks[np.isinf(risks["size"])]
    bounds = (limit["bound_lower.theory"], limit["bound_upper.theory"])
    band = {"color": COLOURS[4], "alpha": 0.25, "linewidth": 0, "label": "between the bounds"}
    right.fill_between(limit["values"], *bounds, **band)
    draw_linear_floor(right, limit["linear_floor.theory"].iloc[0])
    error = Side("test_error", "test error", "log", limits=(4e-4, 1.0))
    small, far = sorted(risks["size"].unique())
    sizes = ("size", {small: f"$d = {small:.0f}$", far: "limit of large $d$"})
    draw_curves(right, risks, Side("values", "values of the readout"), error, sizes)
    right.set_xticks(sorted(risks["values"].unique()))
    right.legend(loc="lower left")
    return figure


def claims(table: DataFrame) -> dict[str, bool]:
    """A larger basis fits more, and the network gets some of it."""
    import numpy as np

    risks = table[table.panel == "risk"]
    limit = risks[np.isinf(risks["size"])].sort_values("values")
    dots = risks[np.isfinite(risks["size"])].sort_values("values")
    lower, upper = limit["bound_lower.theory"], limit["bound_upper.theory"]
    risk, floor = limit["test_error.theory"], limit["linear_floor.theory"].iloc[0]
    fits = table[table.panel == "fit"]
    found = {
        "every fit is of the target that is drawn": np.allclose(
            fits.target, np.sin(2 * fits.kappa)
        ),
        "each value added lowers both bounds": bool(
            lower.is_monotonic_decreasing and upper.is_monotonic_decreasing
        ),
        "the risk lies above the lower bound": bool((risk > lower).all()),
        "the second value lowers the risk to less than a fifth, far below any linear fit": bool(
            risk.iloc[1] < 0.2 * min(risk.iloc[0], floor)
        ),
        "simulated errors lie within 4 standard errors plus 3 % of the theory at their d": (
            on_panel_line(risks, "test_error", errors=4, relative=0.03)
        ),
    }
    if len(limit) > 3:
        here = dots["test_error.theory"]
        found["in the limit four values do ten times better than two, at this d not twice"] = bool(
            risk.iloc[3] < 0.1 * risk.iloc[1] and here.iloc[3] > 0.5 * here.iloc[1]
        )
    return found


REFERENCES = cite("2410.18938", "2402.04980")
SIZES = figure_sizes(values=(2, 4, 4), dim=(60, 120, 300), seeds=(8, 8, 30))
