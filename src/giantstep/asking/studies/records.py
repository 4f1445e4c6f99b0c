"""Reading a store: every row is checked against its digest before anything of it is believed.

A cell that is damaged, or has lost its numbers, counts as not computed, and the next run computes
it again. A damaged list of cells is an error: nobody can tell where its cells belong.
"""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from giantstep.asking.studies.database import SEALED, StoreError, is_sealed_row
from giantstep.asking.studies.versions import cell_versions
from giantstep.asking.workers.backlog import DONE, FAILED, NO_THEORY

DAMAGED = "the row is damaged: it counts as not computed; run the study again"

_MEMBERS_AND_CELLS = (
    "SELECT m.*, c.* FROM members m LEFT JOIN cells c ON c.key = m.key WHERE m.study = ? "
    "ORDER BY m.position"
)


class Counts(NamedTuple):
    """How many cells of a study are in which state."""

    cells: int
    done: int
    no_theory: int
    failed: int

    @property
    def left(self) -> int:
        """Cells not computed yet."""
        return self.cells - self.done - self.no_theory - self.failed


class Row(NamedTuple):
    """A cell of a study as the store has it; ``status`` is None while it is not computed."""

    key: str
    verb: str
    seed: int | None
    coordinates: dict[str, Any]
    status: str | None
    seconds: float | None
    error: str | None
    about: dict[str, Any]
    numbers: bytes


@dataclass(frozen=True)
class Survey:
    """What a store has of a study, every byte of it checked."""

    #: The key of each cell with its status; None: not computed, or damaged.
    statuses: dict[str, str | None] = field(default_factory=dict)
    damaged: tuple[str, ...] = ()
    #: The versions of the libraries behind the cells, as JSON, and how many cells have them.
    versions: Counter[str] = field(default_factory=Counter)

    @property
    def counts(self) -> Counts:
        """How many cells are in which state."""
        found = Counter(self.statuses.values())
        return Counts(len(self.statuses), found[DONE], found[NO_THEORY], found[FAILED])

    def finished(self, *, failed_too: bool) -> set[str]:
        """Keys of the cells that need no computing."""
        ends = (DONE, NO_THEORY, FAILED) if failed_too else (DONE, NO_THEORY)
        return {key for key, status in self.statuses.items() if status in ends}


def study_survey(rows: Iterable[Row]) -> Survey:
    """The survey of a study's rows."""
    statuses: dict[str, str | None] = {}
    damaged: list[str] = []
    versions: Counter[str] = Counter()
    for row in rows:
        statuses[row.key] = row.status
        if row.error == DAMAGED:
            damaged.append(row.key)
        if row.status == DONE:
            versions[cell_versions(row.about)] += 1
    return Survey(statuses, tuple(damaged), versions)


def stored_cells(connection: sqlite3.Connection, study: str) -> Iterator[Row]:
    """The cells of a study in its order."""
    found = connection.execute("SELECT planned, cells FROM studies WHERE name = ?", (study,))
    plan = found.fetchone() or (None, None)
    position, width = 0, len(SEALED["members"])
    for joined in connection.execute(_MEMBERS_AND_CELLS, (study,)):
        member, cell = joined[:width], joined[width:]
        _, planned, at, key, verb, seed, place, _ = member
        if not is_sealed_row(member) or at != position or planned != plan[0]:
            raise _damaged_list(study)
        position += 1
        where = json.loads(place)
        if not is_sealed_row(cell):
            error = None if cell[-1] is None else DAMAGED
            yield Row(key, verb, seed, where, None, None, error, {}, b"")
            continue
        status, error, seconds, about, _, numbers, _ = cell[7:]
        yield Row(key, verb, seed, where, status, seconds, error, json.loads(about), numbers)
    if plan[1] not in (None, position):
        raise _damaged_list(study)


def _damaged_list(study: str) -> StoreError:
    return StoreError(
        f"the list of the cells of study {study!r} is damaged in the store: run the study again, "
        f"from its file if you have it; every whole row is kept"
    )
