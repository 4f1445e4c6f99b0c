"""Stores from before rows had digests, brought up to date.

What is in such a store cannot be checked against anything: it is taken as it is, except for cells
in which damage can be seen, which are left without a digest and so count as not computed.
"""

from __future__ import annotations

import json
import sqlite3
from typing import Any

from giantstep.studies.digests import digest_of
from giantstep.studies.outcomes import DONE, FAILED, NO_THEORY, Value

_NEW_COLUMNS = (
    "cells ADD COLUMN digest BLOB NOT NULL DEFAULT x''",
    "numbers ADD COLUMN digest BLOB NOT NULL DEFAULT x''",
    "members ADD COLUMN digest BLOB NOT NULL DEFAULT x''",
    "studies ADD COLUMN cells INTEGER NOT NULL DEFAULT 0",
    "studies ADD COLUMN digest BLOB NOT NULL DEFAULT x''",
)


def add_digests(connection: sqlite3.Connection, claims: str) -> None:
    """Add the columns and the table that layout 1 did not have, and fill them."""
    for column in _NEW_COLUMNS:
        connection.execute(f"ALTER TABLE {column}")
    connection.execute(claims)
    _fill_cells(connection)
    _fill_studies(connection)


def _fill_cells(connection: sqlite3.Connection) -> None:
    cells = connection.execute(
        "SELECT key, learner, verb, problem, settings, seed, code, status, error, seconds, about, "
        "finished FROM cells"
    ).fetchall()
    for cell in cells:
        key, numbers = cell[0], []
        found = connection.execute(
            "SELECT rowid, name, role, number, npy FROM numbers WHERE key = ? ORDER BY rowid",
            (key,),
        ).fetchall()
        for rowid, *number in found:
            numbers.append(digest_of(key, *number))
            connection.execute(
                "UPDATE numbers SET digest = ? WHERE rowid = ?", (numbers[-1], rowid)
            )
        if _looks_whole(cell, [tuple(number[1:]) for number in found]):
            digest = digest_of(*cell, *numbers)
            connection.execute("UPDATE cells SET digest = ? WHERE key = ?", (digest, key))


def _looks_whole(cell: tuple[Any, ...], numbers: list[tuple[Any, ...]]) -> bool:
    status, about = cell[7], cell[10]
    if status not in (DONE, FAILED, NO_THEORY) or (status == DONE and not numbers):
        return False
    try:
        json.loads(about)
        return all(Value(name, role, npy).number() == number for name, role, number, npy in numbers)
    except Exception:
        # Whatever numpy and json say of bytes that are not theirs.
        return False


def _fill_studies(connection: sqlite3.Connection) -> None:
    for study in connection.execute("SELECT name, definition, planned FROM studies").fetchall():
        name = study[0]
        members = connection.execute(
            "SELECT study, position, key, verb, seed, coordinates FROM members WHERE study = ?",
            (name,),
        ).fetchall()
        for member in members:
            connection.execute(
                "UPDATE members SET digest = ? WHERE study = ? AND position = ?",
                (digest_of(*member), *member[:2]),
            )
        connection.execute(
            "UPDATE studies SET cells = ?, digest = ? WHERE name = ?",
            (len(members), digest_of(*study, len(members)), name),
        )
