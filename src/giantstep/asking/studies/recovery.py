"""Whole rows out of a damaged store: its pages are read one by one, and digests decide.

A page that hangs in no tree any more still holds its rows. Only the leaves of tables are read,
https://www.sqlite.org/fileformat2.html; SQLite itself has put in what was in the log.
"""

from __future__ import annotations

import sqlite3
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from giantstep.asking.studies.database import PAGE_BYTES, SEALED, is_sealed_row, make_store_tables

_LEAF_OF_TABLE = 0x0D
#: What is read of a row that has no room on its page, and how much of it stays there.
_MOST_LOCAL = PAGE_BYTES - 35
_LEAST_LOCAL = (PAGE_BYTES - 12) * 32 // 255 - 23
#: Whole numbers by their serial type.
_WIDTHS = {1: 1, 2: 2, 3: 3, 4: 4, 5: 6, 6: 8}


def recovered_store(path: Path) -> sqlite3.Connection | None:
    """A store in memory with every whole row of a damaged one; None if there is none."""
    content = path.read_bytes()
    pages = [content[i : i + PAGE_BYTES] for i in range(0, len(content), PAGE_BYTES)]
    by_width = {len(columns): table for table, columns in SEALED.items()}
    seconds, status = (list(SEALED["cells"]).index(name) for name in ("seconds", "status"))
    found: dict[str, list[tuple[Any, ...]]] = {table: [] for table in SEALED}
    for row in _recovered_store_rows(pages):
        table = by_width.get(len(row), "")
        if table == "cells" and isinstance(row[seconds], int):
            # SQLite keeps a whole REAL as an integer.
            row[seconds] = float(row[seconds])
        if table and is_sealed_row(row):
            found[table].append(tuple(row))
    # Old lists of cells may still lie about: they bear the time of another plan.
    plans = {name: planned for name, _, planned, *_ in sorted(found["studies"], key=lambda r: r[2])}
    found["studies"] = [row for row in found["studies"] if plans[row[0]] == row[2]]
    found["members"] = [row for row in found["members"] if plans.get(row[0]) == row[1]]
    # A cell that failed may have been done later.
    found["cells"].sort(key=lambda row: row[status] != "done")
    if not any(found.values()):
        return None
    connection = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
    make_store_tables(connection)
    for table, rows in found.items():
        marks = ", ".join("?" * len(SEALED[table]))
        connection.executemany(f"INSERT OR IGNORE INTO {table} VALUES ({marks})", rows)
    return connection


def _recovered_store_rows(pages: list[bytes]) -> Iterator[list[Any]]:
    """Every row that can be read on a page of a table."""
    for number, page in enumerate(pages):
        begin = 0 if number else 100
        if len(page) < begin + 8 or page[begin] != _LEAF_OF_TABLE:
            continue
        (count,) = struct.unpack_from(">H", page, begin + 3)
        for place in range(begin + 8, min(begin + 8 + 2 * count, len(page) - 1), 2):
            try:
                yield _record(_payload(pages, page, struct.unpack_from(">H", page, place)[0]))
            except (IndexError, ValueError, struct.error):
                continue


def _payload(pages: list[bytes], page: bytes, at: int) -> bytes:
    """The bytes of a row, from its page and from the pages on which it continues."""
    size, at = _store_varint(page, at)
    _, at = _store_varint(page, at)
    if size <= _MOST_LOCAL:
        return _exact_store_bytes(page[at : at + size], size)
    local = _LEAST_LOCAL + (size - _LEAST_LOCAL) % (PAGE_BYTES - 4)
    local = local if local <= _MOST_LOCAL else _LEAST_LOCAL
    parts, left = [page[at : at + local]], size - local
    (following,) = struct.unpack_from(">I", page, at + local)
    while left > 0:
        more = pages[following - 1]
        parts.append(more[4 : 4 + left])
        left -= PAGE_BYTES - 4
        (following,) = struct.unpack_from(">I", more)
    return _exact_store_bytes(b"".join(parts), size)


def _record(payload: bytes) -> list[Any]:
    """The columns of a row."""
    end, at = _store_varint(payload, 0)
    kinds = []
    while at < end:
        kind, at = _store_varint(payload, at)
        kinds.append(kind)
    row: list[Any] = []
    for kind in kinds:
        size = _WIDTHS.get(kind, 8 if kind == 7 else max(kind - 12, 0) // 2)
        content = _exact_store_bytes(payload[at : at + size], size)
        at += size
        if kind in _WIDTHS:
            row.append(int.from_bytes(content, "big", signed=True))
        elif kind == 7:
            row.append(struct.unpack(">d", content)[0])
        elif kind >= 12:
            row.append(content.decode("utf-8", "replace") if kind % 2 else content)
        else:
            row.append({0: None, 8: 0, 9: 1}[kind] if kind in (0, 8, 9) else b"")
    return row


def _store_varint(content: bytes, at: int) -> tuple[int, int]:
    """A whole number of up to nine bytes, and where it ends."""
    number = 0
    for place in range(at, at + 8):
        number = number << 7 | content[place] & 0x7F
        if content[place] < 0x80:
            return number, place + 1
    return number << 8 | content[at + 8], at + 9


def _exact_store_bytes(content: bytes, size: int) -> bytes:
    if len(content) != size:
        raise ValueError("the row is cut off")
    return content
