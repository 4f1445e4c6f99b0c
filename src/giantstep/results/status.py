"""How well a prediction is founded."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, get_args

Status = Literal["theorem", "replica", "heuristic", "conjecture"]
#: From the strongest promise to the weakest.
STATUSES: tuple[Status, ...] = get_args(Status)


def weakest(statuses: Iterable[Status]) -> Status:
    """The status that a result made of several may claim.

    >>> weakest(["theorem", "heuristic", "replica"])
    'heuristic'
    """
    return max(statuses, key=STATUSES.index, default="theorem")
