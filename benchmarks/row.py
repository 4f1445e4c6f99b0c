"""One line of the table: the work, ours, the peer or limit, their ratio, and the goal."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, NamedTuple


class Row(NamedTuple):
    """``ratio`` is what ``goal`` bounds; ``met`` says whether it does."""

    work: str
    ours: str
    peer: str
    ratio: float
    goal: str
    met: bool


def seconds(work: Callable[[], Any], repeats: int = 3) -> float:
    """The shortest of several timings: what the machine can do when left alone."""
    best = float("inf")
    for _ in range(repeats):
        begin = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - begin)
    return best


def under_limit(work: str, ours: float, limit: float) -> Row:
    """A row against a fixed limit in seconds."""
    return Row(work, f"{ours:.3f} s", f"limit {limit:g} s", ours / limit, "<= 1", ours <= limit)
