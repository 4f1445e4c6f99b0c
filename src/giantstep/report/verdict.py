"""The answer first: one sentence about the target, and the one picture that shows it."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from dataclasses import replace

from markupsafe import Markup, escape

from giantstep.report.mathematics import mathml, power_latex
from giantstep.report.parts import Section
from giantstep.targets.directions import directions_text
from giantstep.theory.learnability.sample_complexity import giant_step_samples
from giantstep.twins.explanation import Explanation

#: The sections whose picture may open the page, best first.
HEROES = ("climbing", "staircases")
#: A direction, or a number of samples, in the verdict's text.
_FORMULA = re.compile(r"\bh(\d+)|\bn (~|=) ([\d.]* ?)(d\b(?: log d|\^[\d.]+)?)")


def with_hero(found: Explanation, sections: Sequence[Section]) -> tuple[Markup, list[Section]]:
    """The verdict, and the sections with the one first whose picture shows it."""
    drawn = {section.key for section in sections if section.pictures}
    hero = next((key for key in HEROES if key in drawn), None)
    first = [replace(section, title="What happens") for section in sections if section.key == hero]
    return typeset(verdict(found)), [
        *first,
        *(section for section in sections if section.key != hero),
    ]


def verdict(found: Explanation) -> str:
    """What gradient steps learn, and what the best known fast algorithm does, in one sentence."""
    return f"{_gradient_steps(found)}; {_message_passing(found)}."


def _gradient_steps(found: Explanation) -> str:
    stairs = found.staircase.stairs
    if not stairs:
        degree = found.staircase.degree
        return f"Giant steps on fresh samples find nothing: no correlation up to degree {degree}"
    parts = [
        f"{_one_by_one([directions_text(stair.directions) for stair in group])} from n ~ {samples}"
        for samples, group in itertools.groupby(
            stairs, lambda stair: giant_step_samples(stair.leap)
        )
    ]
    known = sum(len(stair.directions) for stair in stairs)
    rest = found.dimension - known
    never = f", and never the other {rest}" if rest > 0 else ""
    return f"Giant steps on fresh samples learn {', then '.join(parts)}{never}"


def _one_by_one(names: Sequence[str]) -> str:
    """Directions that follow one another, each as it is learned.

    >>> _one_by_one(["h1"]), _one_by_one(["h1", "h2"]), _one_by_one(["h1", "h2", "h3"])
    ('h1', 'h1, then h2', 'h1, h2, h3 one after another')
    """
    if len(names) < 3:
        return ", then ".join(names)
    return f"{', '.join(names)} one after another"


def typeset(text: str) -> Markup:
    """The verdict with its directions and numbers of samples as formulas.

    >>> typeset("from n ~ d^2").count("<math")
    1
    """

    def formula(found: re.Match[str]) -> Markup:
        direction, sign, factor, power = found.groups()
        if direction:
            return mathml(f"h_{{{direction}}}")
        relation = "\\sim" if sign == "~" else "="
        return mathml(f"n {relation} {factor.strip()}\\, {power_latex(power)}")

    return Markup(_FORMULA.sub(formula, escape(text)))


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
        where = "from n ~ d"
        if stair.difficulty == "easy":
            multiple = f"n = {max(known):.3g} d" if known else "a multiple of d that is not known"
            where = f"beyond {multiple}"
        parts.append(f"message passing finds {name} {where}" if not parts else f"{name} {where}")
    return ", then ".join(parts)
