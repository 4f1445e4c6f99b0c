"""The numbers of a result one by one: what tables, frames and pictures are made of."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

from giantstep.places import Place
from giantstep.results.status import Status
from giantstep.sweep import Sweep


class Number(NamedTuple):
    """One entry of a metric at its place: measured, predicted, or both.

    ``mean`` and ``sem`` are NaN where nothing was simulated, ``theory`` where nothing is
    predicted; ``error`` is how far off the theory may be (0: exact in float64).
    """

    metric: str
    place: Place
    mean: float = math.nan
    sem: float = math.nan
    theory: float = math.nan
    error: float = 0.0
    status: Status | None = None

    @property
    def deviation(self) -> float:
        """Simulation minus theory in standard errors."""
        gap = self.mean - self.theory
        if self.sem > 0:
            return gap / self.sem
        return 0.0 if gap == 0 else math.nan

    @property
    def at(self) -> dict[str, Any]:
        """The place as a mapping from axis to coordinate."""
        return dict(self.place)


def numbers(result: Any) -> Iterator[Number]:
    """Every number of a result; of a sweep, each with the swept value first in its place."""
    if not isinstance(result, Sweep):
        yield from result.numbers()
        return
    for value, point in zip(result.values, result.points, strict=True):
        for number in point.numbers():
            yield number._replace(place=((result.axis, value), *number.place))
