"""The section on staircases calls each stair what it is, and nothing sampled a theorem."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from report_sizes import TINY

from giantstep.explanation.explain import Explanation, explain
from giantstep.language.problem import Problem
from giantstep.reports.parts import Context, Section
from giantstep.reports.sections import staircases, target
from giantstep.theory.learnability.staircase import Stair, Staircase


def context(found: Explanation) -> Context:
    return Context(Problem(found.target), found, TINY, 0, lambda fraction: None)


def statuses(section: Section) -> list[list[str]]:
    """The last column of each table."""
    return [[str(row[-1]) for row in table.rows] for table in section.tables]


@pytest.mark.parametrize(
    ("text", "classes", "leaps", "stairs"),
    [
        ("h1 + He2(h2)", "trivial, then easy", ["theorem", "conjecture"], ["theorem", "open"]),
        (
            "h1**2 + sign(h1*h2*h3)",
            "easy",
            ["theorem", "conjecture"],
            ["theorem; optimal: replica", "replica"],
        ),
        ("sign(h1*h2*h3)", "hard", ["theorem"], ["conjecture"]),
    ],
)
def test_classes_and_statuses(text: str, classes: str, leaps: list[str], stairs: list[str]) -> None:
    here = context(explain(text))
    assert statuses(staircases.build_section(here)) == [leaps, stairs]
    assert classes in str(target.build_section(here))


def test_sampled_stairs_are_no_theorem() -> None:
    stairs = (Stair(np.eye(2), (0.5,), sampled=True, error=0.01, leap=2),)
    sampled = Staircase(stairs, 2, 8, "sampled")
    found = replace(explain("h1*h2"), staircase=sampled, grand_staircase=sampled)
    section = staircases.build_section(context(found))
    assert statuses(section) == [[staircases.SAMPLED], [staircases.SAMPLED]]
    assert any("Found by sampling" in str(note) for note in section.notes)
