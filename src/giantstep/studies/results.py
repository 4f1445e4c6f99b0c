"""What a store has of a study, as a pandas table, an xarray dataset, or plain values."""

from __future__ import annotations

import dataclasses
import importlib.util
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from giantstep.errors import GiantstepError
from giantstep.results import plain
from giantstep.results.units import sizes_in_numbers
from giantstep.studies.cells import PREDICT, SIMULATE, VERBS
from giantstep.studies.database import StoreError
from giantstep.studies.outcomes import ARRAY, DONE, METRIC
from giantstep.studies.records import EVERY_ROLE, Counts, Row, Survey
from giantstep.studies.store import Store
from giantstep.studies.study import Study
from giantstep.twins.table import TWINS

if TYPE_CHECKING:
    import pandas
    import xarray


@dataclass(frozen=True)
class Results:
    """The rows of one study. Read afresh at each call, so a running study can be looked at."""

    store: Path
    name: str

    def __post_init__(self) -> None:
        with Store(self.store, read_only=True) as store:
            known, damaged = store.studies(), store.damaged_studies()
        if self.name in damaged:
            raise StoreError(
                f"the definition of study {self.name!r} is damaged in the store "
                f"{str(self.store)!r}: run it again from its file; every whole row is kept"
            )
        if self.name not in known:
            names = ", ".join(known) or "none"
            raise GiantstepError(
                f"the store {str(self.store)!r} has no study {self.name!r}: it has {names}"
            )

    def definition(self) -> dict[str, Any]:
        """The study as plain values."""
        with Store(self.store, read_only=True) as store:
            return store.studies()[self.name]

    def study(self, *, trust: bool = False) -> Study:
        """The study itself; a learner that is not one of giantstep's needs ``trust``."""
        return Study.from_json(self.definition(), trust=trust)

    def survey(self) -> Survey:
        """The state of every cell, damaged ones among them, and the versions behind them."""
        with Store(self.store, read_only=True) as store:
            return store.survey(self.name)

    def counts(self) -> Counts:
        """How many cells are done, failed and left."""
        return self.survey().counts

    def rows(self, role: str = METRIC) -> Iterator[Row]:
        """The cells one by one."""
        with Store(self.store, read_only=True) as store:
            yield from store.rows(self.name, role=role)

    def frame(self) -> pandas.DataFrame:
        """One line a cell: its place on the axes, verb, seed, status, and every metric.

        An entry of a metric that is an array has its own column, named by its indices, such as
        ``overlap[1, 0]``. Cells that are not computed yet have no status.
        """
        import pandas

        lines = []
        for row in self.rows():
            line = {**row.coordinates, "verb": row.verb, "seed": row.seed}
            line |= {"status": row.status, "seconds": row.seconds, "error": row.error}
            for value in row.values:
                line |= _columns(value.name, value.array())
            lines.append(line)
        return pandas.DataFrame(lines).astype({"seed": "Int64"})

    def to_frame(self) -> pandas.DataFrame:
        """The same with sizes as numbers too, ``n``, ``n/d``, ``p``, ``p/d``, after the axes."""
        frame, definition = self.frame(), self.definition()
        axes = list(definition["axes"])
        sizes = [
            sizes_in_numbers(settings_at(definition, dict(zip(axes, values, strict=True))))
            for values in frame[axes].itertuples(index=False)
        ]
        for name in reversed(list(dict.fromkeys(name for own in sizes for name in own))):
            if name not in frame:
                frame.insert(len(axes), name, [own.get(name) for own in sizes])
        return frame

    def summary(self) -> pandas.DataFrame:
        """One line a point: each metric's mean over seeds, ``.sem``, ``.seeds`` and ``.theory``."""
        return summary(self.frame(), list(self.definition()["axes"]))

    def dataset(self) -> xarray.Dataset:
        """Arrays with named dimensions: the axes, then ``seed``, then those of the metric itself.

        A predicted metric is named ``..._theory`` and has no seed. What is missing is NaN.
        """
        if importlib.util.find_spec("xarray") is None:
            raise GiantstepError(
                "a dataset needs xarray: install it with pip install 'giantstep[studies]'"
            )
        from giantstep.studies.dataset import gathered

        return gathered(self)

    def to_json(self) -> dict[str, Any]:
        """The study, how far it is, and its cells with their arrays whole."""
        cells = []
        for row in self.rows(EVERY_ROLE):
            cells.append(
                {
                    "key": row.key,
                    "verb": row.verb,
                    "coordinates": row.coordinates,
                    "seed": row.seed,
                    "status": row.status,
                    "seconds": row.seconds,
                    "error": row.error,
                    "metrics": {v.name: v.array() for v in row.values if v.role == METRIC},
                    "arrays": {v.name: v.array() for v in row.values if v.role == ARRAY},
                    **row.about,
                }
            )
        counts = self.counts()._asdict()
        return plain({"study": self.definition(), "counts": counts, "cells": cells})


def settings_at(definition: Mapping[str, Any], point: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of a point; of giantstep's own learners with their defaults."""
    given = {**definition["settings"], **point}
    rows = [row for row in TWINS if row.name == definition["learner"]]
    if not rows:
        return given
    own: Any = rows[0].load("settings")
    known = {f.name for f in dataclasses.fields(own)}
    return own(**{name: value for name, value in given.items() if name in known}).to_json()


#: Columns of a frame that are neither axes nor metrics.
_ABOUT = ("verb", "seed", "status", "seconds", "error")


def summary(frame: pandas.DataFrame, axes: list[str]) -> pandas.DataFrame:
    """Means over seeds beside the predictions; see :meth:`Results.summary`."""
    import pandas

    numeric = frame.select_dtypes("number").columns
    metrics = [name for name in numeric if name not in (*axes, *_ABOUT)]
    place = axes or (lambda label: 0)
    points = {
        verb: frame[(frame.verb == verb) & (frame.status == DONE)].groupby(place, sort=False)
        for verb in VERBS
    }
    parts = {
        "": points[SIMULATE][metrics].mean(),
        ".sem": points[SIMULATE][metrics].sem(),
        ".seeds": points[SIMULATE][metrics].count(),
        ".theory": points[PREDICT][metrics].first(),
    }
    table = pandas.concat([part.add_suffix(suffix) for suffix, part in parts.items()], axis=1)
    ordered = [name + suffix for name in metrics for suffix in parts]
    # Built column by column: a copy puts them together again.
    return table[ordered].dropna(axis=1, how="all").copy().reset_index(drop=not axes)


def _columns(name: str, array: np.ndarray) -> dict[str, Any]:
    if array.ndim == 0:
        return {name: array.item()}
    return {
        f"{name}[{', '.join(map(str, index))}]": array[index].item()
        for index in np.ndindex(array.shape)
    }
