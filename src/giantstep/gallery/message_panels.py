"""What the figures of message passing share: a curve over n/d, theory and simulation together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from giantstep.asking.verbs import SIMULATE
from giantstep.gallery.figure import Along, Picture, Sizes, Workbench
from giantstep.gallery.panels import DIRECTIONS, Side, draw_curves, draw_guide
from giantstep.gallery.style import new_figure
from giantstep.settings.amp import Amp

if TYPE_CHECKING:
    import pandas
#: A rise of an overlap between neighbouring points that may be a jump, and how closely one is
#: located: a jump is drawn upright.
JUMP, JUMP_WIDTH = 0.12, 0.004
#: Close to a transition a run takes many.
ITERATIONS = 1000


def message_figure_table(
    target: str,
    last: float,
    thresholds: Sequence[float],
    sizes: Sizes,
    bench: Workbench,
) -> pandas.DataFrame:
    """State evolution up to ``last``, through the thresholds, and runs at the dots at two sizes.

    One line per ``alpha``, ``dim`` and ``direction``; lines of theory alone have no ``dim``.
    """
    import numpy as np
    import pandas

    line = {float(a) for a in np.linspace(last / sizes.points, last, sizes.points).round(4)}
    theory = _figure_state_evolution(target, sorted({*line, *sizes.dots, *thresholds}))
    runs = bench.curve(
        ["overlap_squared", "test_error", "converged"],
        Amp(dim=sorted({sizes.small, sizes.dim}), iterations=ITERATIONS),
        target,
        Along("samples", "{:g}d".format, "alpha"),
        Sizes(dots=sizes.dots, seeds=sizes.seeds),
        verbs=(SIMULATE,),
    )
    runs = runs.merge(theory, on=["alpha", "direction"], how="left")
    return pandas.concat([theory, runs], ignore_index=True)


def _figure_state_evolution(target: str, alphas: Sequence[float]) -> pandas.DataFrame:
    """Each point starts from the one before, which keeps the branch and costs little.

    Where an overlap jumps between two points, the jump is closed in on from below.
    """
    import pandas

    from giantstep.language.problem import Problem
    from giantstep.theory.amp.state_evolution import state_evolution

    problem = Problem.of(target)
    found = [state_evolution(problem, alphas[0])]
    for alpha in alphas[1:]:
        while found[-1].samples_ratio < alpha:
            above = state_evolution(problem, alpha, near=found[-1])
            while _figure_jumps(found[-1], above):
                low, high = found[-1].samples_ratio, above.samples_ratio
                if high - low < JUMP_WIDTH:
                    break
                between = state_evolution(problem, (low + high) / 2, near=found[-1])
                if _figure_jumps(found[-1], between):
                    above = between
                else:
                    found.append(between)
            found.append(above)
    return pandas.DataFrame(
        {
            "alpha": point.samples_ratio,
            "direction": f"h{number}",
            "overlap_squared.theory": float(overlap),
            "test_error.theory": point.test_error,
        }
        for point in found
        for number, overlap in enumerate(point.overlap.diagonal(), 1)
    )


def _figure_jumps(below: Any, above: Any) -> bool:
    return bool((above.overlap.diagonal() - below.overlap.diagonal()).max() > JUMP)


def draw_message_panels(
    table: pandas.DataFrame, thresholds: Sequence[float], worst: float
) -> Picture:
    """Overlaps on the left, test error up to ``worst`` on the right, thresholds dotted in both."""
    figure, (left, right) = new_figure(7.4, 3.6, ncols=2)
    x = Side("alpha", r"samples per dimension $\alpha = n/d$", limits=(0, None))
    overlap = Side("overlap_squared", "squared overlap", limits=(-0.03, 1.08))
    error = Side("test_error", "test error", limits=(-0.03 * worst, worst))
    draw_curves(left, table, x, overlap, DIRECTIONS, squares=("dim", "d"))
    draw_curves(right, table[table.direction == "h1"], x, error, squares=("dim", "d"))
    for threshold in thresholds:
        draw_guide(left, f"{threshold:.3f}", x=threshold)
        draw_guide(right, f"{threshold:.3f}", x=threshold)
    left.legend(loc="center right")
    return figure
