"""A simulation laid over its prediction."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from giantstep import measures
from giantstep.places import Place
from giantstep.results import (
    Measured,
    Number,
    Prediction,
    Result,
    Run,
    Status,
    described,
    plain,
    swept_statuses,
    unique,
    weakest,
)
from giantstep.sweep import Sweep


class Line(NamedTuple):
    """One number measured and predicted; ``deviation`` counts standard errors between them."""

    metric: str
    place: Place
    mean: float
    sem: float
    prediction: float
    error: float
    deviation: float

    def to_json(self) -> dict[str, Any]:
        """The line as plain values."""
        return {**self._asdict(), "place": dict(self.place)}


@dataclass(frozen=True, eq=False, repr=False)
class Comparison(Result):
    """The same metrics, measured and predicted.

    Where theory says which subspace U_t is learned after t steps, the run has one metric more:
    ``angle``, from its top directions to U_t, which falls to 0 as d grows. It is pi/2 where fewer
    directions stand out of the noise than U_t has: a space is not learned by its larger part.
    """

    KIND: ClassVar[str] = "simulation and prediction"

    run: Run
    prediction: Prediction

    @classmethod
    def of(cls, run: Run, prediction: Prediction) -> Comparison:
        """A run laid over its prediction, and measured by it."""
        if not prediction.subspaces:
            return cls(run, prediction)
        matrices, neurons = run.arrays["overlap_matrix"], run.arrays["cosines"].shape[-2]
        ranks = measures.learned_rank(matrices, run.metrics["baseline"], neurons)
        angles = [
            np.where(
                ranks[:, step] < len(subspace),
                np.pi / 2,
                measures.angle(matrices[:, step], subspace),
            )
            for step, subspace in enumerate(prediction.subspaces)
        ]
        metrics = {**run.metrics, "angle": np.stack(angles, axis=1)}
        return cls(dataclasses.replace(run, metrics=metrics), prediction)

    @property
    def papers(self) -> Sequence[str]:
        """The papers behind the theory."""
        return self.prediction.references

    @property
    def remarks(self) -> Sequence[str]:
        """The notes of both."""
        return unique([*self.run.notes, *self.prediction.notes])

    @classmethod
    def weakest_statuses(cls, result: Any) -> Mapping[str, Status]:
        """The status of each metric, over a sweep the weakest."""
        if isinstance(result, Sweep):
            return swept_statuses(result.map(lambda point: point.prediction))
        return result.prediction.statuses

    def numbers(self) -> Iterator[Number]:
        """Every number that was measured or predicted, both where both are there."""
        measured = {(entry.metric, entry.place): entry for entry in self.run.entries()}
        for number in self.prediction.numbers():
            entry = measured.pop((number.metric, number.place), None)
            yield number if entry is None else number._replace(mean=entry.mean, sem=entry.sem)
        for entry in measured.values():
            yield Number(entry.metric, entry.place, entry.mean, entry.sem)

    @property
    def learner(self) -> str:
        """The learner of both."""
        return self.run.learner

    @property
    def problem(self) -> Any:
        """The problem of both, as plain values."""
        return self.run.problem

    @property
    def settings(self) -> Any:
        """The settings of both, as plain values, and the seeds."""
        return self.run.settings

    @property
    def shared(self) -> list[str]:
        """The metrics that both have at some place."""
        return unique(line.metric for line in self.lines())

    @property
    def status(self) -> Status:
        """The weakest status among the metrics that are compared."""
        return weakest(self.prediction.statuses[name] for name in self.shared)

    def lines(self) -> Iterator[Line]:
        """Every number that was measured and predicted for the same place."""
        measured = {(entry.metric, entry.place): entry for entry in self.run.entries()}
        for metric, place, theory, error, _ in self.prediction.entries():
            entry = measured.get((metric, place))
            if entry is None:
                continue
            theory = float(theory)
            gap = entry.mean - theory
            deviation = gap / entry.sem if entry.sem > 0 else 0.0 if gap == 0 else float("nan")
            yield Line(metric, place, entry.mean, entry.sem, theory, error, deviation)

    def angles(self) -> list[Measured]:
        """The numbers of ``angle``, of which there is no prediction but the limit 0."""
        return [entry for entry in self.run.entries() if entry.metric == "angle"]

    def to_json(self) -> dict[str, Any]:
        """The object that ``compare --json`` prints."""
        law = self.prediction.to_json()
        return plain(
            {
                "learner": self.learner,
                "problem": dict(self.problem),
                "settings": dict(self.settings),
                "comparison": [line.to_json() for line in self.lines()],
                "simulation": self.run.to_json()["metrics"],
                "prediction": law["metrics"],
                "statuses": law["statuses"],
                "errors": law["errors"],
                **{name: law[name] for name in ("subspaces",) if name in law},
                "status": self.status,
                "references": law["references"],
                "notes": unique([*self.run.notes, *self.prediction.notes]),
            }
        )

    @classmethod
    def sweep_json(cls, sweep: Sweep[Comparison]) -> dict[str, Any]:
        """The object that ``compare --json`` prints of a sweep: lists over its points."""
        runs = sweep.map(lambda point: point.run).to_json()
        law = sweep.map(lambda point: point.prediction).to_json()
        return plain(
            {
                **described(sweep),
                "comparison": [line.to_json() for line in swept_lines(sweep)],
                "simulation": runs["metrics"],
                "prediction": law["metrics"],
                "statuses": law["statuses"],
                "errors": law["errors"],
                **{name: law[name] for name in ("subspaces",) if name in law},
                "status": swept_status(sweep),
                "references": law["references"],
                "notes": unique([*runs["notes"], *law["notes"]]),
            }
        )


def swept_lines(sweep: Sweep[Comparison]) -> Iterator[Line]:
    """The lines of every point, each with the swept value first in its place."""
    for value, point in zip(sweep.values, sweep, strict=True):
        for line in point.lines():
            yield line._replace(place=((sweep.axis, value), *line.place))


def swept_status(sweep: Sweep[Comparison]) -> Status:
    """The weakest status among the metrics that are compared at any point."""
    statuses = swept_statuses(sweep.map(lambda point: point.prediction))
    return weakest(statuses[name] for name in unique(n for point in sweep for n in point.shared))
