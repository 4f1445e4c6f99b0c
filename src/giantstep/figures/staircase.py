"""The two staircases of a target: by correlations with the label, and by any function of it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from giantstep.figures.style import COLOURS, GREY, house_style, new_figure, save
from giantstep.targets.directions import directions_text
from giantstep.theory.learnability.sample_complexity import giant_step_samples
from giantstep.theory.learnability.stairs import Stair
from giantstep.twins.explanation import Explanation


def draw_staircase(explanation: Explanation, path: Path) -> Path:
    """One panel a staircase; each tread carries the directions learned there."""
    with house_style():
        figure, (left, right) = new_figure(8.0, 3.3, ncols=2)
        draw_leaps(left, explanation)
        draw_classes(right, explanation)
        figure.suptitle(f"y = {explanation.target.text}", fontsize=10)
        return save(figure, path)


def draw_leaps(panel: Any, explanation: Explanation) -> None:
    """The staircase of giant steps."""
    stairs = explanation.staircase.stairs
    _draw(panel, stairs, explanation.dimension, [_leap_label(stair) for stair in stairs])
    panel.set_title("giant steps: correlations with the label")


def draw_classes(panel: Any, explanation: Explanation) -> None:
    """The grand staircase."""
    stairs = explanation.grand_staircase.stairs
    labels = _class_labels(explanation)
    climbed = [stair.difficulty != "hard" for stair in stairs]
    _draw(panel, stairs, explanation.dimension, labels, climbed)
    panel.set_title("message passing: any function of the label")


def _leap_label(stair: Stair) -> str:
    return f"leap {stair.leap}: n ~ ${giant_step_samples(stair.leap)}$"


def _class_labels(explanation: Explanation) -> list[str]:
    """Trivial, easy with its threshold, or hard."""
    labels = []
    for number, stair in enumerate(explanation.grand_staircase.stairs):
        if stair.leap == 1:
            labels.append("trivial: any n/d")
        elif stair.leap == 2:
            found = [t.alpha for t in explanation.thresholds if t.stair == number and t.alpha]
            alphas = " and ".join(f"{alpha.value:.3g} d" for alpha in found)
            labels.append(f"easy: n > {alphas}" if found else "easy")
        else:
            labels.append(f"hard: n ~ $d^{{{stair.leap / 2:g}}}$")
    return labels


def _draw(
    panel: Any,
    stairs: Sequence[Stair],
    dimension: int,
    labels: Sequence[str],
    climbed: Sequence[bool] | None = None,
) -> None:
    """Treads at the number of directions known, one unit wide; what is never learned is grey.

    Stairs that are not climbed at n of order d are dotted.
    """
    panel.set_xlim(-0.6, len(stairs) + 0.6)
    panel.set_ylim(-0.35, dimension + 0.75)
    known = 0
    panel.plot([-0.5, 0], [0, 0], color=GREY, linewidth=3, solid_capstyle="butt")
    for place, (stair, label) in enumerate(zip(stairs, labels, strict=True)):
        colour = COLOURS[min(stair.leap, len(COLOURS)) - 1]
        above = known + len(stair.directions)
        dotted = climbed is not None and not climbed[place]
        panel.plot(
            [place, place, place + 1],
            [known, above, above],
            color=colour,
            linewidth=2 if dotted else 3,
            linestyle=":" if dotted else "-",
        )
        panel.text(
            place + 0.06,
            above + 0.08,
            directions_text(stair.directions),
            weight="bold",
            color=colour,
        )
        panel.text(place + 0.06, above - 0.08, label, va="top", fontsize=8)
        known = above
    if known < dimension:
        panel.axhspan(known + 0.02, dimension, color=GREY, alpha=0.15, linewidth=0)
        missing = f"{dimension - known} never learned"
        panel.text(-0.5, (known + dimension) / 2, missing, color=GREY, va="center")
    panel.set_xticks(
        [i + 0.5 for i in range(len(stairs))], [str(i + 1) for i in range(len(stairs))]
    )
    panel.set_xlabel("stair")
    panel.set_yticks(range(dimension + 1))
    panel.set_ylabel("directions known")
    panel.grid(False)
