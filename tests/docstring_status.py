"""The ``Status:`` of a docstring, clause by clause: each begins with a status and says where."""

from __future__ import annotations

import inspect
import re

from giantstep.answer import STATUSES, Status

_WORDS = "|".join(STATUSES)
_BORDER = re.compile(rf"(?:;\s+|,\s+|\s+\()(?=(?:{_WORDS})\b)")
_END = re.compile(r"\n\s*\n|\n\s*[A-Z][a-z]+:")


def clauses(function: object) -> list[tuple[Status, str]]:
    """Each status that a function claims, with the clause that says where it holds."""
    text = inspect.getdoc(function) or ""
    if "Status:" not in text:
        return []
    said = " ".join(_END.split(text.split("Status:")[1])[0].split())
    found: list[tuple[Status, str]] = []
    for part in _BORDER.split(said):
        word = part.split(" ")[0].strip(".,;:()")
        status = next((s for s in STATUSES if s == word), None)
        assert status is not None, f"{function} has the status {part!r}"
        found.append((status, part))
    return found


def status_of(function: object, where: str = "") -> Status:
    """The status of a function, in the one clause that has these words."""
    fitting = [status for status, clause in clauses(function) if where in clause]
    assert len(fitting) == 1, f"{len(fitting)} clauses of {function} say {where!r}"
    return fitting[0]
