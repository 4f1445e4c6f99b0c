"""The smallest settings of a learner, from its row of the table, as a verb takes them."""

from __future__ import annotations

from typing import Any

from giantstep.asking.table import Learner


def asked_by(row: Learner, text: str) -> tuple[Any, dict[str, Any]]:
    """Settings, and what a verb is told of the problem, that some options mean."""
    settings, problem = row.options(text)
    target = {"problem": problem.pop("target")} if "target" in problem else {}
    return row.load("settings")(**settings), target | problem
