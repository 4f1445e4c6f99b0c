"""The SQLite file behind a store: its tables, how it is opened, what its errors mean."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from giantstep.errors import GiantstepError, one_line
from giantstep.studies.migration import add_digests

#: Layout 2 added the digests of rows and the claims of runners.
LAYOUT = 2
#: Marks the file as ours, so that no other database is ever written to.
_MARK = 0x67737470
_PATIENCE_SECONDS = 60.0

CLAIMS = """CREATE TABLE claims (
    block TEXT PRIMARY KEY,
    runner TEXT NOT NULL,
    until REAL NOT NULL
) WITHOUT ROWID"""

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
        finished TEXT NOT NULL,
        digest BLOB NOT NULL
    ) WITHOUT ROWID""",
    """CREATE TABLE numbers (
        key TEXT NOT NULL REFERENCES cells,
        name TEXT NOT NULL,
        role TEXT NOT NULL,
        number REAL,
        digest BLOB NOT NULL,
        npy BLOB NOT NULL,
        UNIQUE (key, role, name)
    )""",
    """CREATE TABLE studies (
        name TEXT PRIMARY KEY,
        definition TEXT NOT NULL,
        planned TEXT NOT NULL,
        cells INTEGER NOT NULL,
        digest BLOB NOT NULL
    ) WITHOUT ROWID""",
    """CREATE TABLE members (
        study TEXT NOT NULL REFERENCES studies,
        position INTEGER NOT NULL,
        key TEXT NOT NULL,
        verb TEXT NOT NULL,
        seed INTEGER,
        coordinates TEXT NOT NULL,
        digest BLOB NOT NULL,
        PRIMARY KEY (study, position)
    ) WITHOUT ROWID""",
    CLAIMS,
)


class StoreError(GiantstepError):
    """A store that cannot be opened, read or written; the message says which and why."""


def open_to_write(path: Path) -> sqlite3.Connection:
    """A connection to the file, which is made if there is none, and checked if there is one."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(f"cannot make the folder {str(path.parent)!r}: {error.strerror}") from None
    connection = _connected(str(path))
    try:
        if _is_empty(connection):
            connection.execute("PRAGMA journal_mode = WAL")
            with transaction(connection):
                _make_tables(connection)
        else:
            _check_structure(connection, path)
        if layout_of(connection, path) == 1:
            with transaction(connection):
                # Another process may have done it while this one waited for its turn.
                if layout_of(connection, path) == 1:
                    add_digests(connection, CLAIMS)
                    connection.execute(f"PRAGMA user_version = {LAYOUT}")
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
    connection = _connected(address, uri=True)
    try:
        connection.execute("SELECT count(*) FROM sqlite_master")
    except sqlite3.OperationalError:
        connection.close()
        log = path.with_name(path.name + "-wal")
        if log.exists() and log.stat().st_size:
            raise
        # The log's index cannot be made where nobody may write; without a log nobody needs it.
        connection = _connected(address + "&immutable=1", uri=True)
    except BaseException:
        connection.close()
        raise
    try:
        _check_layout(connection, path)
    except BaseException:
        connection.close()
        raise
    return connection


def _connected(address: str, *, uri: bool = False) -> sqlite3.Connection:
    connection = sqlite3.connect(
        address,
        uri=uri,
        timeout=_PATIENCE_SECONDS,
        isolation_level=None,
        # Whoever shares a connection between threads has a lock for it.
        check_same_thread=False,
    )
    # A damaged text is no error here: its digest tells.
    connection.text_factory = lambda content: content.decode("utf-8", "replace")
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
    except (sqlite3.Error, MemoryError, OverflowError, UnicodeDecodeError) as error:
        # A damaged length asks for more memory than there is; a damaged name is no text.
        said = isinstance(error, sqlite3.Error)
        cause = one_line(str(error)) if said else "the file is damaged"
        raise StoreError(
            f"cannot {act} the store {str(path)!r}: {cause}: {_remedy(cause)}"
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


def _check_structure(connection: sqlite3.Connection, path: Path) -> None:
    """Refuse to write into a file whose pages do not hang together."""
    faults = [str(row[0]) for row in connection.execute("PRAGMA quick_check(1)")]
    if faults != ["ok"]:
        fault = one_line(faults[0]) if faults else "no answer"
        raise StoreError(f"the store {str(path)!r} is damaged ({fault}): {_ANOTHER}")


def layout_of(connection: sqlite3.Connection, path: Path) -> int:
    """The version of the tables; other databases are refused."""
    mark = connection.execute("PRAGMA application_id").fetchone()[0]
    if mark != _MARK:
        raise StoreError(f"{str(path)!r} is not a store of giantstep: give another --store")
    return connection.execute("PRAGMA user_version").fetchone()[0]


def _check_layout(connection: sqlite3.Connection, path: Path) -> None:
    layout = layout_of(connection, path)
    if layout == 1:
        raise StoreError(
            f"the store {str(path)!r} is of an older giantstep and has no digests of its rows: "
            f"bring it up to date with giantstep study check --store {path}"
        )
    if layout != LAYOUT:
        raise StoreError(
            f"the store {str(path)!r} has layout {layout}, this giantstep reads {LAYOUT}: "
            f"give another --store"
        )


_ANOTHER = "move it away and run the study again, or give another --store"


def _remedy(error: str) -> str:
    if "full" in error:
        return "free some space and run the same command again; every finished row is kept"
    if "readonly" in error or "unable to open" in error:
        return "give a --store in a folder you may write to"
    if "not a database" in error:
        return "give another --store"
    if "locked" in error or "busy" in error:
        return "another program holds it; run the same command again when that has ended"
    damage = ("malformed", "damaged", "no such", "too big", "corrupt", "constraint", "duplicate")
    if any(word in error for word in damage):
        return f"it is damaged; {_ANOTHER}"
    return "every finished row is kept; run the same command again when this is mended"
