"""The SQLite file behind a store: its tables, how it is opened, what its errors mean."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from giantstep.errors import GiantstepError

LAYOUT = 1
#: Marks the file as ours, so that no other database is ever written to.
_MARK = 0x67737470
_PATIENCE_SECONDS = 60.0

_TABLES = (
    """CREATE TABLE cells (
        key TEXT PRIMARY KEY,
        learner TEXT NOT NULL,
        verb TEXT NOT NULL,
        problem TEXT NOT NULL,
        settings TEXT NOT NULL,
        seed INTEGER,
        code TEXT NOT NULL,
        status TEXT NOT NULL,
        error TEXT,
        seconds REAL,
        about TEXT NOT NULL,
        finished TEXT NOT NULL
    ) WITHOUT ROWID""",
    """CREATE TABLE numbers (
        key TEXT NOT NULL REFERENCES cells,
        name TEXT NOT NULL,
        role TEXT NOT NULL,
        number REAL,
        npy BLOB NOT NULL,
        UNIQUE (key, role, name)
    )""",
    """CREATE TABLE studies (
        name TEXT PRIMARY KEY,
        definition TEXT NOT NULL,
        planned TEXT NOT NULL
    ) WITHOUT ROWID""",
    """CREATE TABLE members (
        study TEXT NOT NULL REFERENCES studies,
        position INTEGER NOT NULL,
        key TEXT NOT NULL,
        verb TEXT NOT NULL,
        seed INTEGER,
        coordinates TEXT NOT NULL,
        PRIMARY KEY (study, position)
    ) WITHOUT ROWID""",
)


class StoreError(GiantstepError):
    """A store that cannot be opened, read or written; the message says which and why."""


def open_to_write(path: Path) -> sqlite3.Connection:
    """A connection to the file, which is made if there is none."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(f"cannot make the folder {str(path.parent)!r}: {error.strerror}") from None
    connection = sqlite3.connect(path, timeout=_PATIENCE_SECONDS, isolation_level=None)
    try:
        if _is_empty(connection):
            connection.execute("PRAGMA journal_mode = WAL")
            with transaction(connection):
                _make_tables(connection)
        _check_layout(connection, path)
        # The log survives a killed process as it is; a power cut may cost the last rows, no more.
        connection.execute("PRAGMA synchronous = NORMAL")
    except BaseException:
        connection.close()
        raise
    return connection


def open_to_read(path: Path) -> sqlite3.Connection:
    """A connection that never writes; the file may be in use, or on a read-only medium."""
    if not path.is_file():
        raise StoreError(f"there is no store {str(path)!r}: give --store, or run a study first")
    address = path.resolve().as_uri() + "?mode=ro"
    connection = sqlite3.connect(address, uri=True, timeout=_PATIENCE_SECONDS, isolation_level=None)
    try:
        connection.execute("SELECT count(*) FROM sqlite_master")
    except sqlite3.OperationalError:
        connection.close()
        log = path.with_name(path.name + "-wal")
        if log.exists() and log.stat().st_size:
            raise
        # The log's index cannot be made where nobody may write; without a log nobody needs it.
        connection = sqlite3.connect(address + "&immutable=1", uri=True, isolation_level=None)
    try:
        _check_layout(connection, path)
    except BaseException:
        connection.close()
        raise
    return connection


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """All of the statements inside, or none of them."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        # A full disk has already rolled back by itself.
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


@contextmanager
def explained(act: str, path: Path) -> Iterator[None]:
    """Turn the database's errors into one line that says what to do."""
    try:
        yield
    except sqlite3.Error as error:
        raise StoreError(
            f"cannot {act} the store {str(path)!r}: {error}: {_remedy(str(error))}"
        ) from None


def _is_empty(connection: sqlite3.Connection) -> bool:
    return connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0] == 0


def _make_tables(connection: sqlite3.Connection) -> None:
    # Another process may have made them while this one waited for its turn.
    if _is_empty(connection):
        connection.execute(f"PRAGMA application_id = {_MARK}")
        connection.execute(f"PRAGMA user_version = {LAYOUT}")
        for table in _TABLES:
            connection.execute(table)


def _check_layout(connection: sqlite3.Connection, path: Path) -> None:
    mark = connection.execute("PRAGMA application_id").fetchone()[0]
    layout = connection.execute("PRAGMA user_version").fetchone()[0]
    if mark != _MARK:
        raise StoreError(f"{str(path)!r} is not a store of giantstep: give another --store")
    if layout != LAYOUT:
        raise StoreError(
            f"the store {str(path)!r} has layout {layout}, this giantstep reads {LAYOUT}: "
            f"give another --store"
        )


def _remedy(error: str) -> str:
    if "full" in error:
        return "free some space and run the same command again; every finished row is kept"
    if "readonly" in error or "unable to open" in error:
        return "give a --store in a folder you may write to"
    if "not a database" in error or "malformed" in error:
        return "give another --store"
    return "every finished row is kept; run the same command again when this is mended"
