"""The store: one SQLite file that keeps every finished cell, and survives being killed.

Coordinators alone write, each group of results in one transaction of the write-ahead log, so that
a row is there whole or not at all and others may read at any time. A finished cell is never written
again. Every row has its digest beside it (see :mod:`giantstep.asking.studies.records`).
"""

from __future__ import annotations

import json
import math
import sqlite3
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

from giantstep.asking.studies.cells import Block
from giantstep.asking.studies.database import (
    SEALED,
    is_sealed_row,
    open_store_to_read,
    open_store_to_write,
    sealed_row,
    store_errors,
    store_transaction,
)
from giantstep.asking.studies.records import (
    Row,
    Survey,
    stored_cells,
    study_survey,
)
from giantstep.asking.workers.backlog import FAILED, Outcome


class Store:
    """An open store; a context manager."""

    def __init__(self, path: str | Path, *, read_only: bool = False) -> None:
        self.path = Path(path)
        self._lock = threading.RLock()
        with store_errors("open", self.path):
            self._connection = (open_store_to_read if read_only else open_store_to_write)(self.path)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """A transaction; the threads of this process take turns."""
        with self._lock, store_errors("write", self.path), store_transaction(self._connection):
            yield self._connection

    def plan(self, name: str, definition: dict[str, Any], blocks: Sequence[Block]) -> None:
        """Keep a study's definition and the list of its cells, in place of an earlier list."""
        members = [
            (key, block.verb, seed, json.dumps(block.coordinates))
            for block in blocks
            for key, seed in zip(block.keys, block.seed_labels, strict=True)
        ]
        planned = _now()
        study = sealed_row(name, json.dumps(definition), planned, len(members))
        rows = (sealed_row(name, planned, place, *member) for place, member in enumerate(members))
        with self.writing() as connection:
            connection.execute(f"INSERT OR REPLACE {_insert_into_store('studies')}", study)
            connection.execute("DELETE FROM members WHERE study = ?", (name,))
            connection.executemany(f"INSERT {_insert_into_store('members')}", rows)

    def write(self, results: Iterable[tuple[Block, Outcome]]) -> None:
        """Add finished cells, all of them or none; one that is already done stays as it is."""
        with self.writing() as connection:
            for block, outcome in results:
                self._write_block(block, outcome)
                connection.execute("DELETE FROM claims WHERE block = ?", (block.keys[0],))

    def _write_block(self, block: Block, outcome: Outcome) -> None:
        problem, settings = json.dumps(block.problem), json.dumps(block.settings)
        error = outcome.error and outcome.error.encode("utf-8", "replace").decode()
        # SQL has no NaN.
        seconds = None if math.isnan(outcome.seconds) else outcome.seconds
        end = (outcome.status, error, seconds, json.dumps(outcome.about), _now())
        for i, (key, seed) in enumerate(zip(block.keys, block.seed_labels, strict=True)):
            numbers = outcome.value[i] if outcome.value else b""
            what = (key, block.learner.name, block.verb, problem, settings, seed, block.code)
            self._connection.execute(_WRITE_CELL, (*sealed_row(*what, *end, numbers), FAILED))

    def mend(self, name: str) -> Survey:
        """Take the damaged cells of a study out, so that they can be computed again."""
        survey = self.survey(name)
        if not survey.damaged:
            return survey
        with store_errors("mend", self.path), store_transaction(self._connection):
            # Rows are found by an index, which may be all that is damaged.
            self._connection.execute("REINDEX")
            survey = self.survey(name)
            for key in survey.damaged:
                self._connection.execute("DELETE FROM cells WHERE key = ?", (key,))
        return survey

    def studies(self) -> dict[str, dict[str, Any] | None]:
        """The definitions of the studies in the store, by name; None where one is damaged."""
        with store_errors("read", self.path):
            rows = self._connection.execute("SELECT * FROM studies").fetchall()
        found = {str(row[0]): json.loads(row[1]) if is_sealed_row(row) else None for row in rows}
        return dict(sorted(found.items()))

    def survey(self, name: str) -> Survey:
        """What the store has of a study, with every byte checked."""
        return study_survey(self.rows(name))

    def rows(self, name: str) -> Iterator[Row]:
        """The cells of a study in its order."""
        with store_errors("read", self.path):
            yield from stored_cells(self._connection, name)


def _insert_into_store(table: str) -> str:
    columns = SEALED[table]
    return f"INTO {table} ({', '.join(columns)}) VALUES ({', '.join('?' * len(columns))})"


#: What a cell that failed may become; one that is done stays as it is.
_END = ("status", "error", "seconds", "about", "finished", "numbers", "digest")
_WRITE_CELL = (
    f"INSERT {_insert_into_store('cells')} ON CONFLICT (key) DO UPDATE SET "
    f"{', '.join(f'{name} = excluded.{name}' for name in _END)} WHERE cells.status = ?"
)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
