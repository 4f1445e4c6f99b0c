"""What a simulation (`Run`) and a theory (`Prediction`) return, under the same metric names."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from giantstep import places
from giantstep.places import Place
from giantstep.sweep import Sweep

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


class Measured(NamedTuple):
    """One number of a simulation: its mean over the seeds and the standard error of that."""

    metric: str
    place: Place
    mean: float
    sem: float


class Predicted(NamedTuple):
    """One number of a theory, how far off it may be (0: exact in float64), and its status."""

    metric: str
    place: Place
    value: Any
    error: float
    status: Status


@dataclass(frozen=True, eq=False)
class Run:
    """A simulation: each metric, and each of the ``arrays``, has the seed on its first axis.

    ``problem`` and ``settings`` hold, as plain values, everything that determines the result, and
    ``axes`` names the axes of each metric after the seed; the verbs fill them in.
    """

    learner: str
    settings: Mapping[str, Any]
    metrics: Mapping[str, np.ndarray]
    notes: Sequence[str] = ()
    seconds: float = float("nan")
    arrays: Mapping[str, np.ndarray] = field(default_factory=dict)
    problem: Mapping[str, Any] = field(default_factory=dict)
    axes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def mean(self, name: str) -> np.ndarray:
        """Mean of a metric over the seeds."""
        return np.mean(self.metrics[name], axis=0)

    def sem(self, name: str) -> np.ndarray:
        """Standard error of that mean (NaN for one seed)."""
        values = self.metrics[name]
        if len(values) < 2:
            return np.full(values.shape[1:], np.nan)
        return np.std(values, axis=0, ddof=1) / np.sqrt(len(values))

    def entries(self) -> Iterator[Measured]:
        """Every number of every metric, with its place."""
        for name in self.metrics:
            mean, sem = np.asarray(self.mean(name)), np.asarray(self.sem(name))
            for index, place in places.entries(mean.shape, self.axes.get(name, ()), self.settings):
                yield Measured(name, place, float(mean[index]), float(sem[index]))

    def to_json(self) -> dict[str, Any]:
        """The object that ``simulate --json`` prints."""
        return plain(
            {
                "learner": self.learner,
                "problem": dict(self.problem),
                "settings": dict(self.settings),
                "metrics": self._metrics(),
                "notes": list(self.notes),
            }
        )

    @classmethod
    def sweep_json(cls, sweep: Sweep[Run]) -> dict[str, Any]:
        """The object that ``simulate --json`` prints of a sweep: lists over its points."""
        metrics = [run._metrics() for run in sweep]
        return plain(
            {
                **described(sweep),
                "metrics": {
                    name: _listed(name, metrics, ("mean", "sem", "values"))
                    for name in _names(metrics)
                },
                "notes": unique(note for run in sweep for note in run.notes),
            }
        )

    def _metrics(self) -> dict[str, Any]:
        return {
            name: {"mean": self.mean(name), "sem": self.sem(name), "values": values}
            for name, values in self.metrics.items()
        }


@dataclass(frozen=True, eq=False)
class Prediction:
    """A theory's answer: each metric is a number, or an array whose axes ``axes`` names.

    ``statuses`` says of each metric how well it is founded, and ``status`` the weakest of them.
    ``errors`` estimates, for metrics that come from quadrature or sampling, how far off they may
    be: an array of the metric's shape, or one number for all of it. A metric without an entry is
    exact to the precision of float64 arithmetic. ``subspaces``, for learners that learn directions
    step by step: after each step those learned, as orthonormal rows; they have a status too.
    ``problem`` and ``axes`` are filled in by the verbs.
    """

    learner: str
    settings: Mapping[str, Any]
    metrics: Mapping[str, Any]
    statuses: Mapping[str, Status]
    references: Sequence[str]
    notes: Sequence[str] = ()
    errors: Mapping[str, Any] = field(default_factory=dict)
    subspaces: Sequence[np.ndarray] = ()
    problem: Mapping[str, Any] = field(default_factory=dict)
    axes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        claims = {*self.metrics, *(["subspaces"] if self.subspaces else [])}
        if set(self.statuses) != claims or not set(self.errors) <= set(self.metrics):
            raise ValueError(f"{self.learner}: give each of {sorted(claims)} a status")

    @property
    def status(self) -> Status:
        """The weakest status among the metrics, and of the subspaces if there are any."""
        return weakest(self.statuses.values())

    def entries(self) -> Iterator[Predicted]:
        """Every number of every metric, with its place."""
        for name, value in self.metrics.items():
            array = np.asarray(value)
            errors = np.broadcast_to(self.errors.get(name, 0.0), array.shape)
            for index, place in places.entries(array.shape, self.axes.get(name, ()), self.settings):
                error = float(errors[index])
                yield Predicted(name, place, array[index].item(), error, self.statuses[name])

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
                **({"subspaces": list(self.subspaces)} if self.subspaces else {}),
                "status": self.status,
                "references": list(self.references),
                "notes": list(self.notes),
            }
        )

    @classmethod
    def sweep_json(cls, sweep: Sweep[Prediction]) -> dict[str, Any]:
        """The object that ``predict --json`` prints of a sweep: lists over its points."""
        metrics, errors = [law.metrics for law in sweep], [law.errors for law in sweep]
        statuses = swept_statuses(sweep)
        subspaces = [list(law.subspaces) for law in sweep]
        return plain(
            {
                **described(sweep),
                "metrics": {name: [each.get(name) for each in metrics] for name in _names(metrics)},
                "statuses": statuses,
                "errors": {name: [each.get(name) for each in errors] for name in _names(errors)},
                **({"subspaces": subspaces} if any(subspaces) else {}),
                "status": weakest(statuses.values()),
                "references": unique(paper for law in sweep for paper in law.references),
                "notes": unique(note for law in sweep for note in law.notes),
            }
        )


def swept_statuses(sweep: Sweep[Prediction]) -> dict[str, Status]:
    """The weakest status of each metric among the points that have it."""
    return {
        name: weakest(law.statuses[name] for law in sweep if name in law.statuses)
        for name in _names([law.statuses for law in sweep])
    }


def described(sweep: Sweep[Any]) -> dict[str, Any]:
    """Learner, problem and settings of a sweep; what varies holds the list of its values."""
    return {
        "learner": sweep.points[0].learner,
        "sweep": {"axis": sweep.axis, "values": list(sweep.values)},
        "problem": _merged([point.problem for point in sweep]),
        "settings": _merged([point.settings for point in sweep]),
    }


def unique(texts: Iterable[str]) -> list[str]:
    """Each text once, in the order of first appearance."""
    return list(dict.fromkeys(texts))


def _merged(mappings: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    values = {name: [each[name] for each in mappings] for name in mappings[0]}
    return {name: v[0] if all(x == v[0] for x in v) else v for name, v in values.items()}


def _names(mappings: Sequence[Mapping[str, Any]]) -> list[str]:
    """The names that occur in any of the mappings: a metric need not be there at every point."""
    return unique(name for each in mappings for name in each)


def _listed(
    name: str, metrics: Sequence[Mapping[str, Any]], parts: Sequence[str]
) -> dict[str, list[Any]]:
    nothing = dict.fromkeys(parts)
    return {part: [each.get(name, nothing)[part] for each in metrics] for part in parts}
