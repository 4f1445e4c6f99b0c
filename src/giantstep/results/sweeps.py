"""A sweep of results as one object: its settings, its statuses, lists over its points."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from giantstep.results.plain import unique
from giantstep.results.status import Status, weakest
from giantstep.sweep import Sweep


def swept_statuses(sweep: Sweep[Any]) -> dict[str, Status]:
    """The weakest status of each metric among the points that have it."""
    return {
        name: weakest(law.statuses[name] for law in sweep if name in law.statuses)
        for name in names([law.statuses for law in sweep])
    }


def described(sweep: Sweep[Any]) -> dict[str, Any]:
    """Learner, problem and settings of a sweep; what varies holds the list of its values."""
    return {
        "learner": sweep.points[0].learner,
        "sweep": {"axis": sweep.axis, "values": list(sweep.values)},
        "problem": _merged([point.problem for point in sweep]),
        "settings": _merged([point.settings for point in sweep]),
    }


def _merged(mappings: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    values = {name: [each[name] for each in mappings] for name in mappings[0]}
    return {name: v[0] if all(x == v[0] for x in v) else v for name, v in values.items()}


def names(mappings: Sequence[Mapping[str, Any]]) -> list[str]:
    """The names that occur in any of the mappings: a metric need not be there at every point."""
    return unique(name for each in mappings for name in each)


def listed(
    name: str, metrics: Sequence[Mapping[str, Any]], parts: Sequence[str]
) -> dict[str, list[Any]]:
    """The parts of a metric as lists over the points, None where a point does not have it."""
    nothing = dict.fromkeys(parts)
    return {part: [each.get(name, nothing)[part] for each in metrics] for part in parts}
