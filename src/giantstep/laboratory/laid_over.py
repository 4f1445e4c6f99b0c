"""Runs of single seeds gathered at their point, and laid over the prediction if there is one."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from giantstep.answer import Answer, json_value
from giantstep.asking.one_point import compare_question

#: A number as the page takes it: metric, place, value, and what belongs to it.
Entry = list[Any]


def lab_predicted(law: Answer) -> list[Entry]:
    """Every number of a prediction: metric, place, value, error, status."""
    return json_value([[n.metric, n.place, n.theory, n.error, n.status] for n in law.numbers()])


def lab_curve_at(place: Sequence[Any], entries: Sequence[Entry]) -> list[Entry]:
    """The same numbers of one of several curves: what tells it from the others comes first."""
    return [[metric, [*place, *own], *rest] for metric, own, *rest in entries]


class Dot:
    """The runs at one point of an experiment."""

    def __init__(self) -> None:
        self.runs: list[Answer] = []
        self.law: Answer | None = None

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
            run = compare_question(run, self.law.prediction)
            both = dataclasses.replace(self.runs[0], runs=(run,), predictions=self.law.predictions)
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
