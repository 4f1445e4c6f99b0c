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

from giantstep.studies.database import StoreError
from giantstep.studies.digests import digest_of
from giantstep.studies.outcomes import DONE, FAILED, NO_THEORY, Value
from giantstep.studies.versions import versions_text

DAMAGED = "the row is damaged: it counts as not computed; run the study again"

_MEMBERS_AND_CELLS = (
    "SELECT m.position, m.key, m.verb, m.seed, m.coordinates, m.digest, c.learner, c.verb, "
    "c.problem, c.settings, c.seed, c.code, c.status, c.error, c.seconds, c.about, c.finished, "
    "c.digest FROM members m LEFT JOIN cells c USING (key) WHERE m.study = ? ORDER BY m.position"
)
#: Values of another role than the one asked for are not read; their digests stand for them.
_NUMBERS = (
    "SELECT name, role, number, digest, CASE WHEN ? IN (role, '') THEN npy END FROM numbers "
    "WHERE key = ? ORDER BY rowid"
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
    planned = connection.execute("SELECT cells FROM studies WHERE name = ?", (study,)).fetchone()
    position = 0
    for at, key, verb, seed, place, digest, *cell in connection.execute(
        _MEMBERS_AND_CELLS, (study,)
    ):
        if at != position or digest_of(study, at, key, verb, seed, place) != digest:
            raise _damaged_list(study)
        position += 1
        where = json.loads(place)
        if cell[-1] is None:
            yield Row(key, verb, seed, where, None, None, None, {}, ())
            continue
        values = _whole_values(connection, key, cell, role)
        if values is None:
            yield Row(key, verb, seed, where, None, None, DAMAGED, {}, ())
            continue
        status, error, seconds, about = cell[6:10]
        yield Row(key, verb, seed, where, status, seconds, error, json.loads(about), values)
    if planned is not None and planned[0] != position:
        raise _damaged_list(study)


def _whole_values(
    connection: sqlite3.Connection, key: str, cell: list[Any], role: str
) -> tuple[Value, ...] | None:
    """The values of a cell; None if the cell or one of those that were read is damaged."""
    values, digests = [], []
    for name, kind, number, digest, npy in connection.execute(_NUMBERS, (role, key)):
        if npy is not None:
            if digest_of(key, name, kind, number, npy) != digest:
                return None
            values.append(Value(name, kind, npy))
        digests.append(digest)
    *columns, digest = cell
    if digest_of(key, *columns, *digests) != digest or (columns[6] == DONE and not digests):
        return None
    return tuple(values)


def _damaged_list(study: str) -> StoreError:
    return StoreError(
        f"the list of the cells of study {study!r} is damaged in the store: run the study again, "
        f"from its file if you have it; every whole row is kept"
    )
