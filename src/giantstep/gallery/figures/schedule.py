"""One giant step on 3n samples, or three steps on n each?

Test error against all samples of the gradient steps, spent in one, two or three equal batches; p =
d, a = 1, readout fitted to 4d more, ridge 0.1; tanh with step size 3 (left), relu with step size 1
(right). Lines: theory, large d. Dots: simulation at d = {dim}, {seeds} seeds; finite d is allowed
10 %. Dashed: best linear predictor.
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

STEPS = (1, 2, 3)
PANELS = (
    ("sin(h1)", r"$\sin(h_1)$", "tanh", 3),
    ("h1 + h1*h2", r"$h_1 + h_1h_2$", "relu", 1),
)
SHADES = {1: "#8fb8de", 2: "#3f7fbf", 3: "#0b3d73"}


def rows(sizes: Sizes, bench: Workbench) -> pandas.DataFrame:
    """Errors after the last step, by number of steps and total samples."""
    import pandas

    parts = []
    for target, _, activation, step_size in PANELS:
        for steps in STEPS:
            settings = GiantStep(
                activation=activation,
                readout="ones",
                step_size=step_size,
                steps=steps,
                readout_samples="4d",
                width="1d",
                ridge=0.1,
                test_samples=4000,
            )
            for verb, totals in ((PREDICT, sizes.line), (SIMULATE, sizes.dots)):
                for total in totals:
                    chosen = settings.replace(samples=f"{total / steps:.6g}d")
                    if verb == SIMULATE:
                        chosen = chosen.replace(dim=sizes.dim)
                    how = {"verbs": (verb,), "seeds": sizes.seeds}
                    found = bench.table(["test_error", "linear_floor"], chosen, target, **how)
                    last = found[found.step == steps]
                    parts.append(last.assign(panel=target, steps=steps, total=total, by=verb))
    return pandas.concat(parts, ignore_index=True)


def draw(table: pandas.DataFrame) -> Picture:
    """One panel per target; darker for more steps."""
    figure, panels = new_figure(7.2, 3.6, ncols=len(PANELS))
    for panel, (target, title, *_) in zip(panels, PANELS, strict=True):
        here = table[table.panel == target]
        for steps in STEPS:
            mine, shade = here[here.steps == steps], SHADES[steps]
            line, dots = mine[mine.by == PREDICT], mine[mine.by == SIMULATE]
            words = "one step" if steps == 1 else f"{steps} steps"
            panel.plot(line.total, line["test_error.theory"], color=shade, label=words)
            draw_dots(panel, dots, "total", "test_error", shade, fmt="o", mfc=shade)
        linear_floor(panel, here["linear_floor.theory"].dropna().iloc[0])
        panel.set_xscale("log", base=2)
        panel.set(xlabel="samples of all steps / d", title=title)
    panels[0].set(ylabel="test error", yscale="log")
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=4)
    return figure


def claims(table: pandas.DataFrame) -> dict[str, bool]:
    """Several steps on as many samples are better, and dots sit on the lines."""
    line, dots = table[table.by == PREDICT], table[table.by == SIMULATE]
    errors = line.pivot_table("test_error.theory", ["panel", "total"], "steps")
    most = errors.groupby("panel").tail(1)
    known = line.set_index(["panel", "total", "steps"])["test_error.theory"]
    theory = known.reindex(dots.set_index(["panel", "total", "steps"]).index).to_numpy()
    allowed = 4 * dots["test_error.sem"].to_numpy() + 0.1 * theory
    return {
        "at the most samples three steps on a third each have less error than one on all": bool(
            (most[3] < most[1]).all()
        ),
        "simulations lie within 4 standard errors plus 10 % of the limit": bool(
            (abs(dots.test_error.to_numpy() - theory) <= allowed).all()
        ),
    }


REFERENCES = cite("2305.18270", "2410.18938")
SIZES = {
    "reduced": Sizes(line=(6, 48), dots=(6, 48), dim=120, seeds=6),
    "quick": Sizes(line=(3, 5, 8, 13, 20, 32, 56, 96), dots=(5, 20, 96), dim=150, seeds=8),
    "full": Sizes(
        line=(3, 4, 6, 9, 12, 18, 24, 36, 48, 72, 96),
        dots=(3, 6, 12, 24, 48, 96),
        dim=400,
        seeds=16,
    ),
}
