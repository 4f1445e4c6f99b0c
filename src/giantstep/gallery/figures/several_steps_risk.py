"""What each further giant step takes off the test error.

Test error against n/d, samples of every step and of the fit; p = d, a = 1, ridge 0.1. Lines:
theory after 0, 1, 2, 3 steps, large d. Symbols: simulation after 1 and 3 steps at d = {small}
(squares) and {large} (dots), {seeds} seeds; finite d is allowed 10 %. Dashed: best linear
predictor.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from giantstep.asking.verbs import PREDICT, SIMULATE
from giantstep.bibliography import cite
from giantstep.gallery.figure import Sizes, Workbench
from giantstep.gallery.panels import draw_dots, linear_floor
from giantstep.gallery.style import new_figure
from giantstep.settings.giant_step import GiantStep

if TYPE_CHECKING:
    import pandas
    from matplotlib.figure import Figure as Picture

STEPS = 3
#: Target, how it is written, activation and step size.
PANELS = (
    ("sin(h1)", r"$\sin(h_1)$", "tanh", 3),
    ("h1 + h1*h2", r"$h_1 + h_1h_2$", "relu", 1),
    ("h1 + He3(h1)*h2/sqrt(6)", r"$h_1 + \mathrm{He}_3(h_1)\,h_2/\sqrt{6}$", "relu", 1.5),
)
#: Shades from before the first step to after the last.
SHADES = ("#c9c9c9", "#8fb8de", "#3f7fbf", "#0b3d73")


def rows(sizes: Sizes, bench: Workbench) -> pandas.DataFrame:
    """Errors by step and samples, in the limit and simulated at two dimensions."""
    import numpy as np
    import pandas

    parts, metrics = [], ["test_error", "linear_floor"]
    for target, _, activation, step_size in PANELS:
        settings = GiantStep(
            activation=activation,
            readout="ones",
            step_size=step_size,
            steps=STEPS,
            width="1d",
            ridge=0.1,
            test_samples=4000,
        )
        for dim, ratios in (
            (None, sizes.line),
            (sizes.small, sizes.dots),
            (sizes.large, sizes.dots),
        ):
            verb = PREDICT if dim is None else SIMULATE
            for ratio in ratios:
                chosen = settings.replace(samples=f"{ratio:g}d", dim=dim)
                found = bench.table(metrics, chosen, target, verbs=(verb,), seeds=sizes.seeds)
                parts.append(found.assign(panel=target, ratio=ratio, dim=dim or np.inf))
    return pandas.concat(parts, ignore_index=True)


def draw(table: pandas.DataFrame) -> Picture:
    """One panel per target; darker lines are later steps."""
    import numpy as np

    figure, panels = new_figure(9.6, 3.6, ncols=len(PANELS))
    for panel, (target, title, *_) in zip(panels, PANELS, strict=True):
        here = table[table.panel == target]
        limit = here[np.isinf(here.dim)]
        for step, shade in enumerate(SHADES):
            line = limit[limit.step == step].sort_values("ratio")
            words = f"{step} step{'' if step == 1 else 's'}"
            panel.plot(line.ratio, line["test_error.theory"], color=shade, label=words)
        dims = sorted(here.dim[np.isfinite(here.dim)].unique())
        for dim, marker, filled in zip(dims, "so", (False, True), strict=True):
            for step in (1, STEPS):
                dots = here[(here.dim == dim) & (here.step == step)]
                shade = SHADES[step]
                inside = shade if filled else "white"
                draw_dots(panel, dots, "ratio", "test_error", shade, fmt=marker, mfc=inside)
        linear_floor(panel, limit["linear_floor.theory"].iloc[0])
        panel.set_xscale("log", base=2)
        panel.set(xlabel="samples of each step / d", title=title)
    panels[0].set(ylabel="test error", yscale="log")
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=5)
    return figure


def claims(table: pandas.DataFrame) -> dict[str, bool]:
    """Later steps help where there are samples, and dots come to the lines as d grows."""
    import numpy as np

    limit, dots = table[np.isinf(table.dim)], table[np.isfinite(table.dim)]
    errors = limit.pivot_table("test_error.theory", ["panel", "ratio"], "step")
    most = errors.groupby("panel").tail(1)
    known = limit.set_index(["panel", "ratio", "step"])["test_error.theory"]
    large = dots[(dots.dim == dots.dim.max()) & (dots.step > 0)]
    theory = known.reindex(large.set_index(["panel", "ratio", "step"]).index).to_numpy()
    allowed = 4 * large["test_error.sem"].to_numpy() + 0.1 * theory
    return {
        "at the most samples the second and third steps lower the error": bool(
            (most.diff(axis=1).iloc[:, 2:] < 0).all(axis=None)
        ),
        "the second step lowers the error of h1 + h1*h2 by more than 5 % there": bool(
            (most.loc["h1 + h1*h2"][2] < 0.95 * most.loc["h1 + h1*h2"][1]).all()
        ),
        "at the larger d simulations lie within 4 standard errors plus 10 % of the limit": bool(
            (abs(large.test_error.to_numpy() - theory) <= allowed).all()
        ),
    }


REFERENCES = cite("2305.18270", "2410.18938")
SIZES = {
    "reduced": Sizes(line=(4, 32), dots=(4, 32), small=50, large=120, seeds=6),
    "quick": Sizes(line=(1, 2, 4, 8, 16, 32), dots=(2, 8, 32), small=60, large=150, seeds=8),
    "full": Sizes(
        line=(1, 1.5, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64),
        dots=(1, 2, 4, 8, 16, 32),
        small=100,
        large=400,
        seeds=16,
    ),
}
