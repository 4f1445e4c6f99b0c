"""A simulation laid over its prediction."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from giantstep.results import Prediction, Run, plain


class Line(NamedTuple):
    """One number measured and predicted; ``deviation`` counts standard errors between them."""

    metric: str
    mean: float
    sem: float
    prediction: float
    deviation: float


class Pair(NamedTuple):
    """A metric measured and predicted, as arrays of one shape."""

    mean: np.ndarray
    sem: np.ndarray
    theory: np.ndarray


@dataclass(frozen=True, eq=False)
class Comparison:
    """The same metrics, measured and predicted."""

    run: Run
    prediction: Prediction

    @property
    def shared(self) -> list[str]:
        """The metrics that both have, and that can be laid over one another."""
        return [name for name in self.prediction.metrics if self.pair(name) is not None]

    def pair(self, name: str) -> Pair | None:
        """Both sides of a metric. Where theory speaks of the end alone, so does the simulation."""
        if name not in self.run.metrics:
            return None
        theory = np.asarray(self.prediction.metrics[name], dtype=float)
        mean, sem = np.asarray(self.run.mean(name)), np.asarray(self.run.sem(name))
        if mean.ndim == theory.ndim + 1:
            mean, sem = mean[..., -1], sem[..., -1]
        return Pair(mean, sem, theory) if mean.shape == theory.shape else None

    def lines(self) -> Iterator[Line]:
        """Every number of every shared metric; an entry of an array is named by its indices."""
        for name in self.prediction.metrics:
            pair = self.pair(name)
            if pair is None:
                continue
            mean, sem, theory = pair
            for index in np.ndindex(theory.shape):
                label = name + (f"[{', '.join(map(str, index))}]" if index else "")
                m, s, t = (float(array[index]) for array in (mean, sem, theory))
                deviation = (m - t) / s if s > 0 else (0.0 if m == t else float("nan"))
                yield Line(label, m, s, t, deviation)

    def to_json(self) -> dict[str, Any]:
        """The object that ``compare --json`` prints."""
        return plain(
            {
                "learner": self.run.learner,
                "problem": dict(self.run.problem),
                "settings": dict(self.run.settings),
                "comparison": [line._asdict() for line in self.lines()],
                "simulation": self.run.to_json()["metrics"],
                "prediction": self.prediction.to_json()["metrics"],
                "status": self.prediction.status,
                "references": list(self.prediction.references),
                "notes": [*self.run.notes, *self.prediction.notes],
            }
        )
