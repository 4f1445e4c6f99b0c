"""The answer first: one sentence about the target, and the one picture that shows it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from giantstep.report.parts import Section
from giantstep.targets.directions import directions_text
from giantstep.theory.learnability.sample_complexity import giant_step_samples
from giantstep.twins.explanation import Explanation

#: The sections whose picture may open the page, best first.
HEROES = ("climbing", "staircases")


def with_hero(found: Explanation, sections: Sequence[Section]) -> tuple[str, list[Section]]:
    """The verdict, and the sections with the one first whose picture shows it."""
    drawn = {section.key for section in sections if section.pictures}
    hero = next((key for key in HEROES if key in drawn), None)
    first = [replace(section, title="What happens") for section in sections if section.key == hero]
    return verdict(found), [*first, *(section for section in sections if section.key != hero)]


def verdict(found: Explanation) -> str:
    """What gradient steps learn, and what the best known fast algorithm does, in one sentence."""
    return f"{_gradient_steps(found)}; {_message_passing(found)}."


def _gradient_steps(found: Explanation) -> str:
    stairs = found.staircase.stairs
    if not stairs:
        degree = found.staircase.degree
        return f"Giant steps on fresh samples find nothing: no correlation up to degree {degree}"
    parts = [
        f"{directions_text(stair.directions)} from n ~ {giant_step_samples(stair.leap)}"
        for stair in stairs
    ]
    known = sum(len(stair.directions) for stair in stairs)
    rest = found.dimension - known
    never = f", and never the other {rest}" if rest > 0 else ""
    return f"Giant steps on fresh samples learn {', then '.join(parts)}{never}"


def _message_passing(found: Explanation) -> str:
    stairs = found.grand_staircase.stairs
    if not stairs:
        degree = found.grand_staircase.degree
        return f"message passing sees nothing up to order {degree} either"
    parts = []
    for number, stair in enumerate(stairs):
        name = directions_text(stair.directions)
        if stair.difficulty == "hard":
            parts.append(f"no fast algorithm is known to find {name} from n of order d")
            break
        known = [t.alpha.value for t in found.thresholds if t.stair == number and t.alpha]
        where = f"beyond n = {max(known):.3g} d" if stair.leap == 2 and known else "from n ~ d"
        parts.append(f"message passing finds {name} {where}" if not parts else f"{name} {where}")
    return ", then ".join(parts)
