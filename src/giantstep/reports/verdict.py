"""The answer first: one sentence about the target, and the one picture that shows it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from markupsafe import Markup, escape

from giantstep.explanation.explain import Explanation
from giantstep.explanation.text import explanation_headline
from giantstep.reports.mathematics import mathml, power_mathml_latex
from giantstep.reports.parts import Section

#: The sections whose picture may open the page, best first.
HEROES = ("climbing", "staircases")
#: A direction, or a number of samples, in the verdict's text.
_FORMULA = re.compile(r"\bh(\d+)|\bn (~|=) ([\d.]* ?)(d\b(?: log d|\^[\d.]+)?)")


def report_with_hero(
    found: Explanation, sections: Sequence[Section]
) -> tuple[Markup, list[Section]]:
    """The verdict, and the sections with the one first whose picture shows it."""
    drawn = {section.key for section in sections if section.pictures}
    hero = next((key for key in HEROES if key in drawn), None)
    first = [replace(section, title="What happens") for section in sections if section.key == hero]
    return typeset_verdict(explanation_headline(found)), [
        *first,
        *(section for section in sections if section.key != hero),
    ]


def typeset_verdict(text: str) -> Markup:
    """The verdict with its directions and numbers of samples as formulas.

    >>> typeset_verdict("from n ~ d^2").count("<math")
    1
    """

    def formula(found: re.Match[str]) -> Markup:
        direction, sign, factor, power = found.groups()
        if direction:
            return mathml(f"h_{{{direction}}}")
        relation = "\\sim" if sign == "~" else "="
        return mathml(f"n {relation} {factor.strip()}\\, {power_mathml_latex(power)}")

    return Markup(_FORMULA.sub(formula, escape(text)))
