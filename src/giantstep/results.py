"""What a simulation (`Run`) and a theory (`Prediction`) return, under the same metric names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

import numpy as np

Status = Literal["theorem", "replica", "heuristic", "conjecture"]
#: From the strongest promise to the weakest.
STATUSES: tuple[Status, ...] = get_args(Status)


def weakest(statuses: Iterable[Status]) -> Status:
    """The status that a result made of several may claim.

    >>> weakest(["theorem", "heuristic", "replica"])
    'heuristic'
    """
    return max(statuses, key=STATUSES.index, default="theorem")


def plain(value: Any) -> Any:
    """The value as JSON can hold it: arrays become lists, NaN and infinity become None or text."""
    if isinstance(value, Mapping):
        return {str(name): plain(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, np.ndarray) or hasattr(value, "__array__"):
        return plain(np.asarray(value).tolist())
    if isinstance(value, float):
        if np.isnan(value):
            return None
        if np.isinf(value):
            return "inf" if value > 0 else "-inf"
        return value
    if value is None or isinstance(value, str | bool | int):
        return value
    return str(value)


@dataclass(frozen=True, eq=False)
class Run:
    """A simulation: each metric, and each of the ``arrays``, has the seed on its first axis.

    ``problem`` and ``settings`` hold, as plain values, everything that determines the result; the
    verbs fill them in.
    """

    learner: str
    settings: Mapping[str, Any]
    metrics: Mapping[str, np.ndarray]
    notes: Sequence[str] = ()
    seconds: float = float("nan")
    arrays: Mapping[str, np.ndarray] = field(default_factory=dict)
    problem: Mapping[str, Any] = field(default_factory=dict)

    def mean(self, name: str) -> np.ndarray:
        """Mean of a metric over the seeds."""
        return np.mean(self.metrics[name], axis=0)

    def sem(self, name: str) -> np.ndarray:
        """Standard error of that mean (NaN for one seed)."""
        values = self.metrics[name]
        if len(values) < 2:
            return np.full(values.shape[1:], np.nan)
        return np.std(values, axis=0, ddof=1) / np.sqrt(len(values))

    def to_json(self) -> dict[str, Any]:
        """The object that ``simulate --json`` prints."""
        return plain(
            {
                "learner": self.learner,
                "problem": dict(self.problem),
                "settings": dict(self.settings),
                "metrics": {
                    name: {"mean": self.mean(name), "sem": self.sem(name), "values": values}
                    for name, values in self.metrics.items()
                },
                "notes": list(self.notes),
            }
        )


@dataclass(frozen=True, eq=False)
class Prediction:
    """A theory's answer: each metric is a number, or an array over steps or over a sweep.

    ``statuses`` says of each metric how well it is founded, and ``status`` the weakest of them.
    ``errors`` estimates, for metrics that come from quadrature or sampling, how far off they may
    be: an array of the metric's shape, or one number for all of it. A metric without an entry is
    exact to the precision of float64 arithmetic.
    """

    learner: str
    settings: Mapping[str, Any]
    metrics: Mapping[str, Any]
    statuses: Mapping[str, Status]
    references: Sequence[str]
    notes: Sequence[str] = ()
    errors: Mapping[str, Any] = field(default_factory=dict)
    problem: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if set(self.statuses) != set(self.metrics) or not set(self.errors) <= set(self.metrics):
            raise ValueError(f"{self.learner}: give each of {list(self.metrics)} a status")

    @property
    def status(self) -> Status:
        """The weakest status among the metrics."""
        return weakest(self.statuses.values())

    def to_json(self) -> dict[str, Any]:
        """The object that ``predict --json`` prints."""
        return plain(
            {
                "learner": self.learner,
                "problem": dict(self.problem),
                "settings": dict(self.settings),
                "metrics": dict(self.metrics),
                "statuses": dict(self.statuses),
                "errors": dict(self.errors),
                "status": self.status,
                "references": list(self.references),
                "notes": list(self.notes),
            }
        )
