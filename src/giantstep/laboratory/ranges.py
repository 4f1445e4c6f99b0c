"""A range of an experiment with more values between its own, for a line through its dots."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

_COUNT = re.compile(r":(?P<count>\d{1,3})(?P<log>log)?\s*$")

Given = tuple[dict[str, Any], dict[str, Any]]


def finer_lab_axis(
    axis: str,
    settings: Mapping[str, Any],
    problem: Mapping[str, Any],
    points: int,
    count: int,
    most: int,
) -> Given | None:
    """The same settings and problem with about ``points`` values along the axis, at most ``most``.

    The ``count`` values that are there stay among them; None where they are listed one by one.

    >>> finer_lab_axis("ridge", {"ridge": "0.1:1:3log"}, {}, 9, 3, 20)
    ({'ridge': '0.1:1:9log'}, {})
    """
    given = str(problem.get(axis, settings.get(axis, "")))
    match = _COUNT.search(given)
    if match is None or count < 2:
        return None
    parts = min(-(-(points - 1) // (count - 1)), (most - 1) // (count - 1))
    text = f"{given[: match.start()]}:{(count - 1) * parts + 1}{match['log'] or ''}"
    if axis in problem:
        return dict(settings), {**problem, axis: text}
    return {**settings, axis: text}, dict(problem)
