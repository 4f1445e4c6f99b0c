"""What a simulation returns."""

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
from giantstep.results.sweeps import described, listed, names
from giantstep.sweep import Sweep


class Measured(NamedTuple):
    """One number of a simulation: its mean over the seeds and the standard error of that."""

    metric: str
    place: Place
    mean: float
    sem: float


@dataclass(frozen=True, eq=False, repr=False)
class Run(Result):
    """A simulation: each metric, and each of the ``arrays``, has the seed on its first axis.

    ``problem`` and ``settings`` hold, as plain values, everything that determines the result, and
    ``axes`` names the axes of each metric after the seed; the verbs fill them in.
    """

    KIND: ClassVar[str] = "simulation"

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
        with np.errstate(invalid="ignore"):  # a time that was never reached has no error
            return np.std(values, axis=0, ddof=1) / np.sqrt(len(values))

    def entries(self) -> Iterator[Measured]:
        """Every number of every metric, with its place."""
        for name in self.metrics:
            mean, sem = np.asarray(self.mean(name)), np.asarray(self.sem(name))
            for index, place in places.entries(mean.shape, self.axes.get(name, ()), self.settings):
                yield Measured(name, place, float(mean[index]), float(sem[index]))

    @property
    def remarks(self) -> Sequence[str]:
        """The notes of the simulation."""
        return self.notes

    def numbers(self) -> Iterator[Number]:
        """Every number of every metric, measured."""
        for metric, place, mean, sem in self.entries():
            yield Number(metric, place, mean, sem)

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
                    name: listed(name, metrics, ("mean", "sem", "values"))
                    for name in names(metrics)
                },
                "notes": unique(note for run in sweep for note in run.notes),
            }
        )

    def _metrics(self) -> dict[str, Any]:
        return {
            name: {"mean": self.mean(name), "sem": self.sem(name), "values": values}
            for name, values in self.metrics.items()
        }
