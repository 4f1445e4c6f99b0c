"""Runs of single seeds gathered at their point, and laid over the prediction if there is one."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from giantstep.answer import Answer, Prediction, json_value
from giantstep.asking.one_point import compare_question

#: A number as the page takes it: metric, place, value, and what belongs to it.
Entry = list[Any]


class LabLaw(NamedTuple):
    """A prediction, and every number of it: metric, place, value, error, status."""

    prediction: Prediction
    entries: list[Entry]

    @classmethod
    def of(cls, law: Answer) -> LabLaw:
        """What the server needs of a predicted point: workers make it, a line has many."""
        found = [[n.metric, n.place, n.theory, n.error, n.status] for n in law.numbers()]
        return cls(law.prediction, json_value(found))


def lab_curve_at(place: Sequence[Any], entries: Sequence[Entry]) -> list[Entry]:
    """The same numbers of one of several curves: what tells it from the others comes first."""
    return [[metric, [*place, *own], *rest] for metric, own, *rest in entries]


class Dot:
    """The runs at one point of an experiment."""

    def __init__(self) -> None:
        self.runs: list[Answer] = []
        self.law: Prediction | None = None

    def measured(self) -> list[Entry]:
        """Every number: metric, place, mean, standard error, standard errors from theory."""
        if not self.runs:
            return []
        records = [answer.run for answer in self.runs]
        run = dataclasses.replace(
            records[0],
            metrics=_lab_stacked_runs([record.metrics for record in records]),
            arrays=_lab_stacked_runs([record.arrays for record in records]),
        )
        far: dict[Any, float] = {}
        if self.law is not None:
            run = compare_question(run, self.law)
            both = dataclasses.replace(self.runs[0], runs=(run,), predictions=(self.law,))
            far = {(n.metric, n.place): n.deviation for n in both.compared()}
        alone = dataclasses.replace(self.runs[0], runs=(run,))
        return json_value(
            [
                [n.metric, n.place, n.mean, n.sem, far.get((n.metric, n.place))]
                for n in alone.numbers()
            ]
        )


def _lab_stacked_runs(tables: list[Any]) -> dict[str, np.ndarray]:
    """Arrays of single seeds, one after another; those that every seed has in the same shape."""
    names = [name for name in tables[0] if all(name in table for table in tables)]
    parts = {name: [np.asarray(table[name]) for table in tables] for name in names}
    return {
        name: np.concatenate(arrays)
        for name, arrays in parts.items()
        if len({array.shape[1:] for array in arrays}) == 1
    }
