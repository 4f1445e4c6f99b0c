"""The SQLite file behind a store: its tables, how it is opened, what its errors mean."""

from __future__ import annotations

import hashlib
import os
import sqlite3
import tempfile
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from giantstep.errors import GiantstepError, one_line

#: The version of the tables.
LAYOUT = 4
#: Marks the file as ours, so that no other database is ever written to.
_MARK = 0x67737470
_PATIENCE_SECONDS = 60.0
PAGE_BYTES = 4096

#: The tables whose rows end in a digest, of all columns before it.
SEALED = {
    "cells": {
        "key": "TEXT NOT NULL UNIQUE",
        "learner": "TEXT NOT NULL",
        "verb": "TEXT NOT NULL",
        "problem": "TEXT NOT NULL",
        "settings": "TEXT NOT NULL",
        "seed": "INTEGER",
        "code": "TEXT NOT NULL",
        "status": "TEXT NOT NULL",
        "error": "TEXT",
        "seconds": "REAL",
        "about": "TEXT NOT NULL",
        "finished": "TEXT NOT NULL",
        "numbers": "BLOB NOT NULL",
        "digest": "BLOB NOT NULL",
    },
    "studies": {
        "name": "TEXT NOT NULL UNIQUE",
        "definition": "TEXT NOT NULL",
        "planned": "TEXT NOT NULL",
        "cells": "INTEGER NOT NULL",
        "digest": "BLOB NOT NULL",
    },
    "members": {
        "study": "TEXT NOT NULL REFERENCES studies",
        "planned": "TEXT NOT NULL",
        "position": "INTEGER NOT NULL",
        "key": "TEXT NOT NULL",
        "verb": "TEXT NOT NULL",
        "seed": "INTEGER",
        "coordinates": "TEXT NOT NULL",
        "digest": "BLOB NOT NULL",
    },
}
_OTHERS = (
    "CREATE UNIQUE INDEX places ON members (study, position)",
    "CREATE TABLE claims (block TEXT PRIMARY KEY, runner TEXT NOT NULL, until REAL NOT NULL) "
    "WITHOUT ROWID",
)


class StoreError(GiantstepError):
    """A store that cannot be opened, read or written; the message says which and why."""


class StudyWarning(UserWarning):
    """Something about a study that is no error, and that its owner should know."""


def _digest_of(*fields: Any) -> bytes:
    """The digest of what a row of the database holds: texts, numbers, bytes, None.

    It guards against damage (a bad disk, a copy that broke off), not against malice.

    >>> _digest_of("ab", "c") == _digest_of("a", "bc"), _digest_of(1) == _digest_of("1")
    (False, False)
    """
    digest = hashlib.blake2b(digest_size=16)
    for field in fields:
        if isinstance(field, str):
            kind, content = b"s", field.encode("utf-8", "surrogatepass")
        elif isinstance(field, bytes):
            kind, content = b"b", field
        else:
            kind, content = b"n", repr(field).encode()
        digest.update(b"%s%d:" % (kind, len(content)))
        digest.update(content)
    return digest.digest()


def sealed_row(*fields: Any) -> tuple[Any, ...]:
    """A row with its digest behind it."""
    return (*fields, _digest_of(*fields))


def is_sealed_row(row: Sequence[Any]) -> bool:
    """Whether a row is as it was sealed."""
    return bool(_digest_of(*row[:-1]) == row[-1])


def open_store_to_write(path: Path) -> sqlite3.Connection:
    """A connection to the file, which is made if there is none, and mended if it is damaged."""
    if not path.name.strip():
        # SQLite takes a blank for a name, and leaves files called " -wal" and " -shm" about.
        raise StoreError(f"store = {str(path)!r}: give the name of a file, such as study.sqlite")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(f"cannot make the folder {str(path.parent)!r}: {error.strerror}") from None
    connection = _connected_store(str(path))
    try:
        try:
            if _is_empty_store(connection):
                connection.execute(f"PRAGMA page_size = {PAGE_BYTES}")
                with store_transaction(connection):
                    # Another process may have made them while this one waited for its turn.
                    if _is_empty_store(connection):
                        make_store_tables(connection)
            _check_store(connection, path)
        except (sqlite3.DatabaseError, _Damaged) as damage:
            if not _is_damage(damage):
                raise
            connection.close()
            _replace_damaged_store(path, damage)
            connection = _connected_store(str(path))
        connection.execute("PRAGMA journal_mode = WAL")
        # The log survives a killed process as it is; a power cut may cost the last rows, no more.
        connection.execute("PRAGMA synchronous = NORMAL")
    except BaseException:
        connection.close()
        raise
    return connection


def open_store_to_read(path: Path) -> sqlite3.Connection:
    """A connection that never writes; the file may be in use, damaged, or on a read-only medium."""
    if not path.is_file():
        raise StoreError(f"there is no store {str(path)!r}: give --store, or run a study first")
    address = path.resolve().as_uri() + "?mode=ro"
    connection = _connected_store(address, uri=True)
    try:
        try:
            _is_empty_store(connection)
        except sqlite3.OperationalError:
            log = path.with_name(path.name + "-wal")
            if log.exists() and log.stat().st_size:
                raise
            # The log's index cannot be made where nobody may write; without a log nobody needs it.
            connection.close()
            connection = _connected_store(address + "&immutable=1", uri=True)
        _check_store(connection, path)
    except (sqlite3.DatabaseError, _Damaged) as damage:
        connection.close()
        if not _is_damage(damage):
            raise
        return _whole_store_rows(path, damage)
    except BaseException:
        connection.close()
        raise
    return connection


def _connected_store(address: str, *, uri: bool = False) -> sqlite3.Connection:
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
def store_transaction(connection: sqlite3.Connection) -> Iterator[None]:
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
def store_errors(act: str, path: Path) -> Iterator[None]:
    """Turn the database's errors into one line that says what to do."""
    try:
        yield
    except (sqlite3.Error, MemoryError, OverflowError, UnicodeDecodeError) as error:
        # A damaged length asks for more memory than there is; a damaged name is no text.
        said = isinstance(error, sqlite3.Error)
        cause = one_line(str(error)) if said else "the file is damaged"
        raise StoreError(
            f"cannot {act} the store {str(path)!r}: {cause}: {_store_remedy(cause)}"
        ) from None


def make_store_tables(connection: sqlite3.Connection) -> None:
    """The tables of a new store."""
    connection.execute(f"PRAGMA application_id = {_MARK}")
    connection.execute(f"PRAGMA user_version = {LAYOUT}")
    for table, columns in SEALED.items():
        listed = ", ".join(f"{name} {kind}" for name, kind in columns.items())
        connection.execute(f"CREATE TABLE {table} ({listed})")
    for other in _OTHERS:
        connection.execute(other)


class _Damaged(Exception):
    """Inconsistent pages, or a file that is not a store of giantstep."""


def _is_empty_store(connection: sqlite3.Connection) -> bool:
    return connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0] == 0


def _check_store(connection: sqlite3.Connection, path: Path) -> None:
    """Refuse other databases and stores of another giantstep; raise where pages are damaged."""
    faults = [str(row[0]) for row in connection.execute("PRAGMA quick_check(1)")]
    if faults != ["ok"]:
        raise _Damaged(one_line(faults[0]) if faults else "no answer")
    if connection.execute("PRAGMA application_id").fetchone()[0] != _MARK:
        raise _Damaged("it is not a store of giantstep")
    layout = connection.execute("PRAGMA user_version").fetchone()[0]
    if layout != LAYOUT:
        raise StoreError(
            f"the store {str(path)!r} has layout {layout}, this giantstep reads {LAYOUT}: "
            f"give another --store"
        )


def _is_damage(error: Exception) -> bool:
    """Whether the file itself is damaged, not merely locked, read-only, or on a full disk."""
    return isinstance(error, _Damaged) or not isinstance(error, sqlite3.OperationalError)


def _whole_store_rows(path: Path, damage: Exception) -> sqlite3.Connection:
    """A store in memory with the whole rows of a damaged one; raises if there is none."""
    from giantstep.asking.studies.recovery import recovered_store

    connection = recovered_store(path)
    if connection is None:
        cause = one_line(str(damage))
        raise StoreError(f"cannot open the store {str(path)!r}: {cause}: {_ANOTHER}") from None
    return connection


def _replace_damaged_store(path: Path, damage: Exception) -> None:
    """Write the whole rows of a damaged store beside it, and put that in its place."""
    whole = _whole_store_rows(path, damage)
    cells = whole.execute("SELECT count(*) FROM cells").fetchone()[0]
    folder = Path(tempfile.mkdtemp(prefix=f"{path.name}.damaged-", dir=path.parent))
    whole.execute("VACUUM INTO ?", (str(folder / "whole"),))
    whole.close()
    # The log goes first: it must never be laid over the new file.
    for name in (path.name + "-wal", path.name + "-shm"):
        with suppress(FileNotFoundError):
            os.replace(path.with_name(name), folder / name)
    os.link(path, folder / path.name)
    os.replace(folder / "whole", path)
    warnings.warn(
        f"the store {str(path)!r} was damaged ({one_line(str(damage))}): {cells} whole rows are "
        f"kept, the others will be computed again; the damaged file is in {str(folder)!r}",
        StudyWarning,
        stacklevel=4,
    )


_ANOTHER = "move it away and run the study again, or give another --store"


def _store_remedy(error: str) -> str:
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
