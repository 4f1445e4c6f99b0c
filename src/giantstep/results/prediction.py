"""What a theory returns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

import numpy as np

from giantstep import places
from giantstep.places import Place
from giantstep.results.numbers import Number
from giantstep.results.plain import plain, unique
from giantstep.results.result import Result
from giantstep.results.status import Status, weakest
from giantstep.results.sweeps import described, names, swept_statuses
from giantstep.sweep import Sweep


class Predicted(NamedTuple):
    """One number of a theory, how far off it may be (0: exact in float64), and its status."""

    metric: str
    place: Place
    value: Any
    error: float
    status: Status


@dataclass(frozen=True, eq=False, repr=False)
class Prediction(Result):
    """A theory's answer: each metric is a number, or an array whose axes ``axes`` names.

    ``statuses`` says of each metric how well it is founded, and ``status`` the weakest of them.
    ``errors`` estimates, for metrics that come from quadrature or sampling, how far off they may
    be: an array of the metric's shape, or one number for all of it. A metric without an entry is
    exact to the precision of float64 arithmetic. NaN at a step before the last means that theory
    says nothing there. ``subspaces``, for learners that learn directions
    step by step: after each step those learned, as orthonormal rows; they have a status too.
    ``arrays`` holds what is known neuron by neuron, under the names of a simulation's ``arrays``.
    ``problem`` and ``axes`` are filled in by the verbs.
    """

    KIND: ClassVar[str] = "prediction"

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
    arrays: Mapping[str, np.ndarray] = field(default_factory=dict)

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
            given = self.errors.get(name)
            errors = None if given is None else np.broadcast_to(given, array.shape)
            for index, place in places.entries(array.shape, self.axes.get(name, ()), self.settings):
                if self._is_open(array, index, place):
                    continue
                error = 0.0 if errors is None else float(errors[index])
                yield Predicted(name, place, array[index].item(), error, self.statuses[name])

    @staticmethod
    def _is_open(array: np.ndarray, index: tuple[int, ...], place: Place) -> bool:
        """Whether theory says nothing of a step before the last."""
        if array.ndim == 0 or array.dtype.kind != "f":
            return False
        if dict(place).get(places.STEP) in (None, len(array) - 1):
            return False
        return bool(np.isnan(array[index]))

    @property
    def papers(self) -> Sequence[str]:
        """The papers behind the theory."""
        return self.references

    @property
    def remarks(self) -> Sequence[str]:
        """The notes of the theory."""
        return self.notes

    @classmethod
    def weakest_statuses(cls, result: Any) -> Mapping[str, Status]:
        """The status of each metric, over a sweep the weakest."""
        return swept_statuses(result) if isinstance(result, Sweep) else result.statuses

    def numbers(self) -> Iterator[Number]:
        """Every number of every metric, predicted."""
        for metric, place, value, error, status in self.entries():
            yield Number(metric, place, theory=float(value), error=error, status=status)

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
                "metrics": {name: [each.get(name) for each in metrics] for name in names(metrics)},
                "statuses": statuses,
                "errors": {name: [each.get(name) for each in errors] for name in names(errors)},
                **({"subspaces": subspaces} if any(subspaces) else {}),
                "status": weakest(statuses.values()),
                "references": unique(paper for law in sweep for paper in law.references),
                "notes": unique(note for law in sweep for note in law.notes),
            }
        )
