"""The store: one SQLite file that keeps every finished cell, and survives being killed.

The coordinator alone writes, each group of results in one transaction of the write-ahead log, so
that a row is there whole or not at all and others may read at any time. A finished cell is never
written again.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self

from giantstep.studies.cells import Block
from giantstep.studies.database import explained, open_to_read, open_to_write, transaction
from giantstep.studies.outcomes import DONE, FAILED, METRIC, NO_THEORY, Outcome, Value


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


class Store:
    """An open store; a context manager."""

    def __init__(self, path: str | Path, *, read_only: bool = False) -> None:
        self.path = Path(path)
        with explained("open", self.path):
            self._connection = (open_to_read if read_only else open_to_write)(self.path)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def plan(self, name: str, definition: dict[str, Any], blocks: Sequence[Block]) -> None:
        """Keep a study's definition and the list of its cells, in place of an earlier list."""
        members = (
            (key, block.verb, seed, json.dumps(block.coordinates))
            for block in blocks
            for key, seed in zip(block.keys, block.seed_labels, strict=True)
        )
        with explained("write", self.path), transaction(self._connection):
            self._connection.execute(
                "INSERT OR REPLACE INTO studies VALUES (?, ?, ?)",
                (name, json.dumps(definition), _now()),
            )
            self._connection.execute("DELETE FROM members WHERE study = ?", (name,))
            self._connection.executemany(
                "INSERT INTO members VALUES (?, ?, ?, ?, ?, ?)",
                ((name, position, *member) for position, member in enumerate(members)),
            )

    def write(self, results: Iterable[tuple[Block, Outcome]]) -> None:
        """Add finished cells, all of them or none; one that is already done stays as it is."""
        with explained("write", self.path), transaction(self._connection):
            for block, outcome in results:
                self._write_block(block, outcome)

    def _write_block(self, block: Block, outcome: Outcome) -> None:
        problem, settings = json.dumps(block.problem), json.dumps(block.settings)
        end = (outcome.status, outcome.error, outcome.seconds, json.dumps(outcome.about), _now())
        for i, (key, seed) in enumerate(zip(block.keys, block.seed_labels, strict=True)):
            what = (key, block.twin.name, block.verb, problem, settings, seed, block.code)
            written = self._connection.execute(
                "INSERT INTO cells VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) "
                "ON CONFLICT (key) DO UPDATE SET status = excluded.status, error = excluded.error, "
                "seconds = excluded.seconds, about = excluded.about, finished = excluded.finished "
                "WHERE cells.status = ?",
                (*what, *end, FAILED),
            ).rowcount
            if written and outcome.values:
                self._connection.executemany(
                    "INSERT INTO numbers VALUES (?, ?, ?, ?, ?)",
                    ((key, v.name, v.role, v.number(), v.npy) for v in outcome.values[i]),
                )

    def finished(self, name: str, *, failed_too: bool = True) -> set[str]:
        """Keys of the study's cells that need no computing."""
        query = (
            "SELECT key FROM members JOIN cells USING (key) WHERE study = ? AND (status != ? OR ?)"
        )
        with explained("read", self.path):
            return {key for (key,) in self._connection.execute(query, (name, FAILED, failed_too))}

    def studies(self) -> dict[str, dict[str, Any]]:
        """The definitions of the studies in the store, by name."""
        with explained("read", self.path):
            rows = self._connection.execute("SELECT name, definition FROM studies ORDER BY name")
            return {name: json.loads(definition) for name, definition in rows}

    def counts(self, name: str) -> Counts:
        """How far a study is."""
        query = (
            "SELECT count(*), coalesce(sum(status = ?), 0), coalesce(sum(status = ?), 0), "
            "coalesce(sum(status = ?), 0) FROM members LEFT JOIN cells USING (key) WHERE study = ?"
        )
        with explained("read", self.path):
            found = self._connection.execute(query, (DONE, NO_THEORY, FAILED, name))
            return Counts(*found.fetchone())

    def rows(self, name: str, *, role: str = METRIC) -> Iterator[Row]:
        """The cells of a study in its order, with their values of one role."""
        query = (
            "SELECT m.key, m.verb, m.seed, m.coordinates, c.status, c.seconds, c.error, c.about, "
            "n.name, n.npy FROM members m LEFT JOIN cells c USING (key) "
            "LEFT JOIN numbers n ON n.key = m.key AND n.role = ? "
            "WHERE m.study = ? ORDER BY m.position, n.rowid"
        )
        with explained("read", self.path):
            row: Row | None = None
            for (
                key,
                verb,
                seed,
                place,
                status,
                seconds,
                error,
                about,
                value,
                npy,
            ) in self._connection.execute(query, (role, name)):
                if row is None or row.key != key:
                    if row is not None:
                        yield row
                    where, said = json.loads(place), json.loads(about or "{}")
                    row = Row(key, verb, seed, where, status, seconds, error, said, ())
                if value is not None:
                    row = row._replace(values=(*row.values, Value(value, role, npy)))
            if row is not None:
                yield row


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
