"""What a store has of a study, as an answer; and how far it is."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from giantstep.answer import Answer, Prediction, Run, unique
from giantstep.asking.one_point import compare_question
from giantstep.asking.questions import Grid
from giantstep.asking.studies.database import StoreError
from giantstep.asking.studies.outcomes import ARRAY, ERROR, METRIC, SUBSPACE, unpacked_cell
from giantstep.asking.studies.records import Counts, Row, Survey, study_survey
from giantstep.asking.studies.store import Store
from giantstep.asking.studies.study import Study, study_grid
from giantstep.asking.verbs import PREDICT, SIMULATE
from giantstep.asking.workers.backlog import DONE
from giantstep.errors import GiantstepError

#: Why there is no number where nothing has been computed.
MISSING = "not computed yet"


@dataclass(frozen=True)
class KeptStudy:
    """One study in a store. Read afresh at each call, so a running study can be looked at."""

    store: Path
    name: str

    def __post_init__(self) -> None:
        self.definition()

    def definition(self) -> dict[str, Any]:
        """The study as plain values."""
        with Store(self.store, read_only=True) as store:
            known = store.studies()
        if (found := known.get(self.name)) is not None:
            return found
        if self.name in known:
            raise StoreError(
                f"the definition of study {self.name!r} is damaged in the store "
                f"{str(self.store)!r}: run it again from its file; every whole row is kept"
            )
        names = ", ".join(name for name in known if known[name] is not None) or "none"
        raise GiantstepError(
            f"the store {str(self.store)!r} has no study {self.name!r}: it has {names}"
        )

    def study(self, *, trust: bool = False) -> Study:
        """The study itself; a learner that is not one of giantstep's needs ``trust``."""
        return Study.from_json(self.definition(), trust=trust)

    def survey(self) -> Survey:
        """The state of every cell, damaged ones among them, and the versions behind them."""
        return study_survey(self.rows())

    def counts(self) -> Counts:
        """How many cells are done, failed and left."""
        return self.survey().counts

    def rows(self) -> list[Row]:
        """The cells one by one."""
        with Store(self.store, read_only=True) as store:
            return list(store.rows(self.name))

    def answer(self, grid: Grid | None = None) -> Answer:
        """Everything that is there; the code of the learner is neither needed nor imported."""
        definition = self.definition()
        return _study_answer(grid or study_grid(definition, trust=False), definition, self.rows())


def _study_answer(grid: Grid, definition: Mapping[str, Any], rows: Iterable[Row]) -> Answer:
    """The cells of a study as an answer to its questions."""
    places = (tuple(_study_value(value) for _, value in place) for place in grid.answer().places())
    numbers = {place: number for number, place in enumerate(places)}
    simulated: list[list[Row]] = [[] for _ in grid.questions]
    laws: list[Prediction | None] = [None] * len(grid.questions)
    failures: dict[tuple[int, int | None], str] = {}
    for row in rows:
        number = numbers[tuple(_study_value(row.coordinates[name]) for name in grid.axes)]
        if row.status != DONE:
            failures[number, row.seed] = row.error or MISSING
        elif row.verb == PREDICT:
            laws[number] = _stored_prediction(grid.learner.name, row)
        else:
            simulated[number].append(row)
    verbs, first = definition["verbs"], definition["seed"]
    runs = [_stored_run(grid.learner.name, own) for own in simulated] if SIMULATE in verbs else []
    if PREDICT in verbs:
        runs = [
            run if run is None or law is None else compare_question(run, law)
            for run, law in zip(runs, laws, strict=False)
        ]
    seeds = tuple(range(first, first + definition["seeds"])) if runs else ()
    return grid.answer(
        runs=tuple(runs),
        predictions=tuple(laws) if PREDICT in verbs else (),
        seeds=seeds,
        failures=failures,
    )


def _study_value(value: Any) -> float | str:
    """A coordinate without its type: settings read without their learner's code keep 1 for 1.0."""
    try:
        return float(value)
    except ValueError:
        return str(value)


def _stored_run(learner: str, rows: list[Row]) -> Run | None:
    """The seeds of a point as one run; arrays whose shape differs between seeds are left out."""
    if not rows:
        return None
    every = [unpacked_cell(row.numbers) for row in rows]
    stacked: dict[str, dict[str, np.ndarray]] = {METRIC: {}, ARRAY: {}}
    for role, found in stacked.items():
        for name in every[0][role]:
            arrays = [values[role][name] for values in every if name in values[role]]
            if len(arrays) == len(rows) and len({array.shape for array in arrays}) == 1:
                found[name] = np.stack(arrays)
    return Run(
        learner,
        rows[0].about.get("settings", {}),
        stacked[METRIC],
        notes=tuple(unique(note for row in rows for note in row.about.get("notes", ()))),
        arrays=stacked[ARRAY],
        seeds=tuple(row.seed for row in rows if row.seed is not None),
    )


def _stored_prediction(learner: str, row: Row) -> Prediction:
    values = {
        role: {name: array if array.ndim else array[()] for name, array in named.items()}
        for role, named in unpacked_cell(row.numbers).items()
    }
    about = row.about
    return Prediction(
        learner,
        about.get("settings", {}),
        values[METRIC],
        about["statuses"],
        tuple(about["references"]),
        notes=tuple(about["notes"]),
        errors=values[ERROR],
        subspaces=tuple(values[SUBSPACE].values()),
        arrays=values[ARRAY],
    )


def study_failures(answer: Answer) -> dict[str, int]:
    """Each different failure once, by its last line, with the number of cells that met it."""
    met: dict[str, int] = {}
    for why in answer.failures.values():
        line = why.strip().splitlines()[-1]
        met[line] = met.get(line, 0) + 1
    return dict(sorted(met.items(), key=lambda pair: -pair[1]))
