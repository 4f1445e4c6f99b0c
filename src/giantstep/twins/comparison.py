"""A simulation laid over its prediction."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from giantstep.places import Place
from giantstep.results import (
    Prediction,
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


@dataclass(frozen=True, eq=False)
class Comparison:
    """The same metrics, measured and predicted."""

    run: Run
    prediction: Prediction

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
