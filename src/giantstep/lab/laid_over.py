"""Runs of single seeds gathered at their point, and laid over the prediction if there is one."""

from __future__ import annotations

import dataclasses
from typing import Any, NamedTuple

import numpy as np

from giantstep.results import Prediction, Run, plain
from giantstep.twins.comparison import Comparison


class Law(NamedTuple):
    """A prediction, and every number of it: metric, place, value, error, status."""

    prediction: Prediction
    entries: list[list[Any]]

    @classmethod
    def of(cls, found: Prediction) -> Law:
        """The prediction with its numbers as the page takes them."""
        entries = [[e.metric, e.place, e.value, e.error, e.status] for e in found.entries()]
        return cls(found, plain(entries))


class Dot:
    """The runs at one point of an experiment."""

    def __init__(self) -> None:
        self.runs: list[Run] = []
        self.law: Prediction | None = None

    def measured(self) -> list[list[Any]]:
        """Every number: metric, place, mean, standard error, standard errors from theory."""
        if not self.runs:
            return []
        run = dataclasses.replace(
            self.runs[0],
            metrics=_stacked([run.metrics for run in self.runs]),
            arrays=_stacked([run.arrays for run in self.runs]),
        )
        far: dict[Any, float] = {}
        if self.law is not None:
            pair = Comparison.of(run, self.law)
            run = pair.run
            far = {(line.metric, line.place): line.deviation for line in pair.lines()}
        return plain(
            [
                [e.metric, e.place, e.mean, e.sem, far.get((e.metric, e.place))]
                for e in run.entries()
            ]
        )


def _stacked(tables: list[Any]) -> dict[str, np.ndarray]:
    """Arrays of single seeds, one after another; those that every seed has in the same shape."""
    names = [name for name in tables[0] if all(name in table for table in tables)]
    parts = {name: [np.asarray(table[name]) for table in tables] for name in names}
    return {
        name: np.concatenate(arrays)
        for name, arrays in parts.items()
        if len({array.shape[1:] for array in arrays}) == 1
    }
