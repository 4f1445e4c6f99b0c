"""What the figures of message passing share: a curve over n/d, theory and simulation together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from giantstep.figures.figure import Workbench
from giantstep.figures.panels import lay_over
from giantstep.studies.study import Study

if TYPE_CHECKING:
    import pandas
#: A rise of an overlap between neighbouring points that may be a jump, and how closely one is
#: located: a jump is drawn upright.
JUMP, JUMP_WIDTH = 0.12, 0.004
#: Close to a transition a run takes many.
ITERATIONS = 1000


class Sizes(NamedTuple):
    """Points of the line, samples per dimension of the dots, seeds, and their two dimensions."""

    points: int
    dots: tuple[float, ...]
    small: int
    dim: int
    seeds: int


def message_curve(
    name: str,
    target: str,
    last: float,
    thresholds: Sequence[float],
    sizes: Sizes,
    bench: Workbench,
) -> pandas.DataFrame:
    """State evolution up to ``last``, through the thresholds, and runs at the dots at two sizes.

    Rows of theory alone have no ``dim``. Directions have their own columns
    ``overlap_squared_1``, ``overlap_squared_2``, ...
    """
    import numpy as np
    import pandas

    line = {float(a) for a in np.linspace(last / sizes.points, last, sizes.points).round(4)}
    theory = _state_evolution(target, sorted({*line, *sizes.dots, *thresholds}))
    parts = [theory]
    for dim in sorted({sizes.small, sizes.dim}):
        runs = _runs(f"{name} {dim}", target, dim, sizes, bench)
        parts.append(runs.merge(theory, on="alpha", how="left").assign(dim=dim))
    return pandas.concat(parts, ignore_index=True)


def _runs(name: str, target: str, dim: int, sizes: Sizes, bench: Workbench) -> pandas.DataFrame:
    runs = bench.summary(
        Study(
            name=name,
            learner="amp",
            problem={"target": target},
            settings={"dim": dim, "iterations": ITERATIONS},
            axes={"samples": [f"{alpha:g}d" for alpha in sizes.dots]},
            seeds=sizes.seeds,
            verbs=["simulate"],
        )
    )
    runs = runs[
        [c for c in runs if str(c).startswith(("overlap_squared[", "test_error", "converged"))]
    ]
    return runs.rename(columns={c: _named(str(c)) for c in runs}).assign(alpha=list(sizes.dots))


def _state_evolution(target: str, alphas: Sequence[float]) -> pandas.DataFrame:
    """Each point starts from the one before, which keeps the branch and costs little.

    Where an overlap jumps between two points, the jump is closed in on from below.
    """
    import pandas

    from giantstep.problem import Problem
    from giantstep.theory.message_passing.state_evolution import state_evolution

    problem = Problem.of(target)
    found = [state_evolution(problem, alphas[0])]
    for alpha in alphas[1:]:
        while found[-1].samples_ratio < alpha:
            above = state_evolution(problem, alpha, near=found[-1])
            while _jumps(found[-1], above):
                low, high = found[-1].samples_ratio, above.samples_ratio
                if high - low < JUMP_WIDTH:
                    break
                between = state_evolution(problem, (low + high) / 2, near=found[-1])
                if _jumps(found[-1], between):
                    above = between
                else:
                    found.append(between)
            found.append(above)
    lines: list[dict[str, float]] = []
    for point in found:
        overlaps = {
            f"overlap_squared_{i + 1}.theory": float(m)
            for i, m in enumerate(point.overlap.diagonal())
        }
        lines.append(
            {"alpha": point.samples_ratio, **overlaps, "test_error.theory": point.test_error}
        )
    return pandas.DataFrame(lines)


def _jumps(below: Any, above: Any) -> bool:
    return bool((above.overlap.diagonal() - below.overlap.diagonal()).max() > JUMP)


def _named(column: str) -> str:
    """``overlap_squared[0].sem`` as ``overlap_squared_1.sem``."""
    metric, bracket, rest = column.partition("[")
    if not bracket:
        return column
    index, _, suffix = rest.partition("]")
    return f"{metric}_{int(index) + 1}{suffix}"


def lay_over_sizes(
    panel: Any,
    table: pandas.DataFrame,
    metric: str,
    colour: str,
    label: str | None = None,
    **line: Any,
) -> None:
    """A line of state evolution, dots at the larger dimension, open squares at the smaller."""
    smaller = table.dim < table.dim.max()
    lay_over(panel, table[~smaller], "alpha", metric, colour, label, **line)
    squares = table[smaller]
    panel.errorbar(
        *(squares.alpha, squares[metric], squares[f"{metric}.sem"].fillna(0.0)),
        **{"fmt": "s", "color": colour, "mfc": "white", "markersize": 4},
    )


def mark(panel: Any, thresholds: Sequence[float], title: str, colour: str) -> None:
    """Title, axis of samples per dimension, and dotted thresholds."""
    for threshold in thresholds:
        panel.axvline(threshold, color=colour, linestyle=":", linewidth=1.2)
    panel.set_title(title)
    panel.set_xlabel(r"samples per dimension $\alpha = n/d$")
    panel.set_xlim(0, None)
