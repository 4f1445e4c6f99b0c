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

from giantstep.asking.studies.database import StoreError, digest_of
from giantstep.asking.studies.outcomes import ARRAY, METRIC, Value, unpacked
from giantstep.asking.studies.versions import versions_text
from giantstep.asking.workers.backlog import DONE, FAILED, NO_THEORY

DAMAGED = "the row is damaged: it counts as not computed; run the study again"

#: Arrays are read if they are asked for; their digest stands for them.
_MEMBERS_AND_CELLS = (
    "SELECT m.planned, m.position, m.key, m.verb, m.seed, m.coordinates, m.digest, c.learner, "
    "c.verb, c.problem, c.settings, c.seed, c.code, c.status, c.error, c.seconds, c.about, "
    "c.finished, c.metrics, c.arrays_digest, c.digest, CASE WHEN ? THEN c.arrays END "
    "FROM members m LEFT JOIN cells c USING (key) WHERE m.study = ? ORDER BY m.position"
)
EVERY_ROLE = ""


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
    values: tuple[Value, ...]


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


def surveyed(rows: Iterable[Row]) -> Survey:
    """The survey of rows that were read with every role."""
    statuses: dict[str, str | None] = {}
    damaged: list[str] = []
    versions: Counter[str] = Counter()
    for row in rows:
        statuses[row.key] = row.status
        if row.error == DAMAGED:
            damaged.append(row.key)
        if row.status == DONE:
            versions[versions_text(row.about)] += 1
    return Survey(statuses, tuple(damaged), versions)


def read_definitions(connection: sqlite3.Connection) -> dict[str, dict[str, Any] | None]:
    """The definitions of the studies, by name; None where one is damaged."""
    rows = connection.execute("SELECT name, definition, planned, cells, digest FROM studies")
    return {
        str(name): json.loads(definition) if digest_of(name, definition, *rest) == digest else None
        for name, definition, *rest, digest in rows
    }


def read_rows(connection: sqlite3.Connection, study: str, role: str) -> Iterator[Row]:
    """The cells of a study in its order, with their values of one role, or of every role."""
    found = connection.execute("SELECT planned, cells FROM studies WHERE name = ?", (study,))
    plan = found.fetchone() or (None, None)
    position = 0
    for planned, at, key, verb, seed, place, digest, *cell in connection.execute(
        _MEMBERS_AND_CELLS, (role != METRIC, study)
    ):
        is_whole = digest_of(study, planned, at, key, verb, seed, place) == digest
        if not is_whole or at != position or planned != plan[0]:
            raise _damaged_list(study)
        position += 1
        where = json.loads(place)
        if cell[-2] is None:
            yield Row(key, verb, seed, where, None, None, None, {}, ())
            continue
        values = _whole_values(key, cell, role)
        if values is None:
            yield Row(key, verb, seed, where, None, None, DAMAGED, {}, ())
            continue
        status, error, seconds, about = cell[6:10]
        yield Row(key, verb, seed, where, status, seconds, error, json.loads(about), values)
    if plan[1] not in (None, position):
        raise _damaged_list(study)


def _whole_values(key: str, cell: list[Any], role: str) -> tuple[Value, ...] | None:
    """The values of a cell; None if the cell or what was read of it is damaged."""
    *columns, metrics, arrays_digest, digest, arrays = cell
    if digest_of(key, *columns, metrics, arrays_digest) != digest:
        return None
    if arrays is not None and digest_of(arrays) != arrays_digest:
        return None
    found = () if role == ARRAY else unpacked(metrics)
    return found if arrays is None else (*found, *unpacked(arrays))


def _damaged_list(study: str) -> StoreError:
    return StoreError(
        f"the list of the cells of study {study!r} is damaged in the store: run the study again, "
        f"from its file if you have it; every whole row is kept"
    )
