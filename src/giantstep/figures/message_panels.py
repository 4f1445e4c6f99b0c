"""What the figures of message passing share: a curve over n/d, theory and simulation together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from giantstep.figures.figure import Workbench
from giantstep.studies.study import Study

if TYPE_CHECKING:
    import pandas


class Sizes(NamedTuple):
    """Points of the line, samples per dimension of the dots, and how many seeds at which d."""

    points: int
    dots: tuple[float, ...]
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
    """State evolution up to ``last``, through the thresholds, and runs at the dots.

    Directions have their own columns ``overlap_squared_1``, ``overlap_squared_2``, ...
    """
    import numpy as np

    line = {float(a) for a in np.linspace(last / sizes.points, last, sizes.points).round(4)}
    theory = _state_evolution(target, sorted({*line, *sizes.dots, *thresholds}))
    runs = bench.summary(
        Study(
            name=name,
            learner="amp",
            problem={"target": target},
            settings={"dim": sizes.dim},
            axes={"samples": [f"{alpha:g}d" for alpha in sizes.dots]},
            seeds=sizes.seeds,
            verbs=["simulate"],
        )
    )
    runs = runs[
        [c for c in runs if str(c).startswith(("overlap_squared[", "test_error", "converged"))]
    ]
    runs = runs.rename(columns={c: _named(str(c)) for c in runs}).assign(alpha=list(sizes.dots))
    return theory.merge(runs, on="alpha", how="left")


def _state_evolution(target: str, alphas: Sequence[float]) -> pandas.DataFrame:
    """Each point starts from the one before, which keeps the branch and costs little."""
    import pandas

    from giantstep.problem import Problem
    from giantstep.theory.message_passing.state_evolution import state_evolution

    lines: list[dict[str, float]] = []
    found = None
    for alpha in alphas:
        found = state_evolution(Problem.of(target), alpha, near=found)
        overlaps = {
            f"overlap_squared_{i + 1}.theory": float(m)
            for i, m in enumerate(found.overlap.diagonal())
        }
        lines.append({"alpha": alpha, **overlaps, "test_error.theory": found.test_error})
    return pandas.DataFrame(lines)


def _named(column: str) -> str:
    """``overlap_squared[0].sem`` as ``overlap_squared_1.sem``."""
    metric, bracket, rest = column.partition("[")
    if not bracket:
        return column
    index, _, suffix = rest.partition("]")
    return f"{metric}_{int(index) + 1}{suffix}"


def mark(panel: Any, thresholds: Sequence[float], title: str, colour: str) -> None:
    """Title, axis of samples per dimension, and dotted thresholds."""
    for threshold in thresholds:
        panel.axvline(threshold, color=colour, linestyle=":", linewidth=1.2)
    panel.set_title(title)
    panel.set_xlabel(r"samples per dimension $\alpha = n/d$")
    panel.set_xlim(0, None)
