"""The two staircases of a target: by correlations with the label, and by any function of it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from giantstep.explanation.explain import Explanation
from giantstep.gallery.style import COLOURS, GREY, house_style, new_figure, save_figure
from giantstep.language.expressions.printing import directions_text
from giantstep.theory.learnability.sample_complexity import giant_step_samples
from giantstep.theory.learnability.staircase import Stair

#: Letters that fit on one tread, times the number of treads.
LETTERS = 48


def draw_staircase(explanation: Explanation, path: Path) -> Path:
    """One panel per staircase; each tread carries the directions learned there."""
    with house_style():
        figure, (left, right) = new_figure(8.0, 3.3, ncols=2)
        draw_leaps(left, explanation)
        draw_classes(right, explanation)
        figure.suptitle(f"y = {explanation.target.text}", fontsize=10)
        return save_figure(figure, path)


class Tread(NamedTuple):
    """One stair as it is drawn: what is learned there, how many directions, and from what."""

    directions: str
    size: int
    leap: int
    label: str
    climbed: bool


def draw_leaps(panel: Any, explanation: Explanation) -> None:
    """The staircase of giant steps."""
    draw_treads(panel, drawn_leap_treads(explanation), explanation.dimension)
    panel.set_title("giant steps: correlations with the label")


def draw_classes(panel: Any, explanation: Explanation) -> None:
    """The grand staircase."""
    draw_treads(panel, drawn_class_treads(explanation), explanation.dimension)
    panel.set_title("message passing: any function of the label")


def drawn_leap_treads(explanation: Explanation) -> list[Tread]:
    """The staircase of giant steps."""
    return [
        _tread(stair, f"leap {stair.leap}: n ~ ${giant_step_samples(stair.leap)}$", climbed=True)
        for stair in explanation.staircase.stairs
    ]


def drawn_class_treads(explanation: Explanation) -> list[Tread]:
    """The grand staircase; from the first hard stair on, nothing is known to climb."""
    treads, climbed = [], True
    for number, stair in enumerate(explanation.grand_staircase.stairs):
        climbed = climbed and stair.difficulty != "hard"
        treads.append(_tread(stair, _drawn_class_label(explanation, number, stair), climbed))
    return treads


def _tread(stair: Stair, label: str, climbed: bool) -> Tread:
    names = directions_text(stair.directions)
    return Tread(names, len(stair.directions), stair.leap, label, climbed)


def _drawn_class_label(explanation: Explanation, number: int, stair: Stair) -> str:
    """Trivial, easy with its threshold, or hard."""
    if stair.difficulty == "trivial":
        return "trivial: any n/d"
    if stair.difficulty == "hard":
        return f"hard: n ~ $d^{{{stair.leap / 2:g}}}$"
    found = [t.alpha for t in explanation.thresholds if t.stair == number and t.alpha]
    alphas = " and ".join(f"{alpha.value:.3g} d" for alpha in found)
    return f"easy: n > {alphas}" if found else "easy"


def draw_treads(panel: Any, treads: Sequence[Tread], dimension: int) -> None:
    """Treads at the number of directions known, one unit wide; what is never learned is grey.

    Stairs that are not climbed are dashed outlines: they are there, and nobody is on them.
    """
    panel.set(xlim=(-0.6, max(len(treads), 1) + 0.6), ylim=(-0.35, dimension + 0.75))
    known, reached = 0, 0
    panel.plot([-0.5, 0], [0, 0], color=GREY, linewidth=3, solid_capstyle="butt")
    for place, tread in enumerate(treads):
        colour = COLOURS[min(tread.leap, len(COLOURS)) - 1] if tread.climbed else GREY
        above = known + tread.size
        style: dict[str, Any] = {"linewidth": 3}
        if not tread.climbed:
            style = {"linewidth": 1.4, "linestyle": (0, (2, 2))}
            panel.plot([place, place + 1], [reached, reached], color=GREY, linewidth=3)
        panel.plot([place, place, place + 1], [known, above, above], color=colour, **style)
        is_short = len(tread.directions) * len(treads) <= LETTERS
        name = tread.directions if is_short else f"+{tread.size}"
        _written(panel, (place, above), 3, name, weight="bold", color=colour)
        # Said once for all stairs in a row that need the same.
        if place == 0 or treads[place - 1].label != tread.label:
            _written(panel, (place, above), -3, tread.label, va="top", fontsize=8)
        known = above
        reached = above if tread.climbed else reached
    if known < dimension:
        panel.axhspan(known + 0.02, dimension, color=GREY, alpha=0.15, linewidth=0)
        missing = f"{dimension - known} never learned"
        panel.text(-0.5, (known + dimension) / 2, missing, color=GREY, va="center")
    places = range(len(treads))
    panel.set_xticks([i + 0.5 for i in places], [str(i + 1) for i in places])
    panel.set_xlabel("stair")
    panel.set_yticks(range(dimension + 1))
    panel.set_ylabel("directions known")
    panel.grid(False)


def _written(panel: Any, place: tuple[float, float], rise: float, text: str, **style: Any) -> None:
    """Text so many points above or below the beginning of a tread."""
    panel.annotate(text, place, xytext=(4, rise), textcoords="offset points", **style)
