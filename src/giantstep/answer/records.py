"""What a learner and a theory return for one point: plain records under the same metric names."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

import numpy as np

from giantstep.errors import GiantstepError

Status = Literal["theorem", "replica", "heuristic", "conjecture"]
STATUSES: tuple[Status, ...] = get_args(Status)


def weakest_status(statuses: Iterable[Status]) -> Status:
    """The least certain of some statuses; a theorem if there are none.

    >>> weakest_status(["theorem", "heuristic", "replica"])
    'heuristic'
    """
    return max(statuses, key=STATUSES.index, default="theorem")


@dataclass(frozen=True, eq=False)
class Run:
    """A simulation: each metric, and each of the ``arrays``, has the seed on its first axis.

    ``settings`` holds, as plain values, the settings and what the learner made of them. ``seeds``
    are those of the first axis, filled in by the verbs.
    """

    learner: str
    settings: Mapping[str, Any]
    metrics: Mapping[str, np.ndarray]
    notes: Sequence[str] = ()
    seconds: float = float("nan")
    arrays: Mapping[str, np.ndarray] = field(default_factory=dict)
    seeds: tuple[int, ...] = ()

    def mean(self, name: str) -> np.ndarray:
        """Mean of a metric over the seeds."""
        return np.mean(self.metrics[name], axis=0)

    def sem(self, name: str) -> np.ndarray:
        """Standard error of that mean (NaN for one seed)."""
        values = self.metrics[name]
        if len(values) < 2:
            return np.full(values.shape[1:], np.nan)
        with np.errstate(invalid="ignore"):  # a time that was never reached has no error
            return np.std(values, axis=0, ddof=1) / np.sqrt(len(values))


class Metrics(dict[str, Any]):
    """Metrics by name; one that is not there raises what ``lacking`` says of it."""

    def __init__(self, found: Mapping[str, Any], lacking: Callable[[str], str]) -> None:
        super().__init__(found)
        self._lacking = lacking

    def __missing__(self, name: str) -> Any:
        raise MissingMetric(self._lacking(name))


class MissingMetric(GiantstepError, KeyError):
    """A metric that an answer does not have; the message says what to give for it."""


@dataclass(frozen=True, eq=False)
class Prediction:
    """A theory's answer: each metric is a number or an array, as a simulation has it for one seed.

    ``statuses`` says of each metric how well it is founded. ``errors`` estimates, for metrics that
    come from quadrature or sampling, how far off they may be: an array of the metric's shape, or
    one number for all of it. A metric without an entry is exact to the precision of float64
    arithmetic. NaN at a step before the last means that theory says nothing there. ``subspaces``,
    for learners that learn directions step by step: after each step those learned, as orthonormal
    rows; they have a status too. ``arrays`` holds what is known neuron by neuron, under the names
    of a simulation's ``arrays``.
    """

    learner: str
    settings: Mapping[str, Any]
    metrics: Mapping[str, Any]
    statuses: Mapping[str, Status]
    references: Sequence[str]
    notes: Sequence[str] = ()
    errors: Mapping[str, Any] = field(default_factory=dict)
    subspaces: Sequence[np.ndarray] = ()
    arrays: Mapping[str, np.ndarray] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        settings: Any,
        metrics: Mapping[str, Any],
        statuses: Status | Mapping[str, Status],
        references: Sequence[str],
        notes: Sequence[str] = (),
        *,
        recorded: Mapping[str, Any] | None = None,
        **more: Any,
    ) -> Prediction:
        """The answer for a learner's settings; one status may stand for those of all metrics.

        ``recorded`` is shown beside the settings.
        """
        if isinstance(statuses, str):
            statuses = dict.fromkeys(metrics, statuses)
        known = settings.learner, settings.to_json() | (recorded or {})
        return cls(*known, metrics, statuses, references, tuple(notes), **more)

    def __post_init__(self) -> None:
        stated = {*self.metrics, *(["subspaces"] if self.subspaces else [])}
        if set(self.statuses) != stated or not set(self.errors) <= set(self.metrics):
            raise ValueError(f"{self.learner}: give each of {sorted(stated)} a status")

    @property
    def status(self) -> Status:
        """The weakest status among the metrics, and of the subspaces if there are any."""
        return weakest_status(self.statuses.values())
