"""Stores damaged in one spot: numbers are served as they were or not at all, in one line."""

from __future__ import annotations

import json
import random
import shutil
import sqlite3
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from damage import damage

from giantstep.errors import GiantstepError
from giantstep.studies.database import StoreError
from giantstep.studies.results import Results
from giantstep.studies.store import Store
from giantstep.studies.study import Study

SPOTS = 150
#: Layout 1, as the first release wrote it.
OLD_TABLES = (
    "CREATE TABLE cells (key TEXT PRIMARY KEY, learner TEXT NOT NULL, verb TEXT NOT NULL, "
    "problem TEXT NOT NULL, settings TEXT NOT NULL, seed INTEGER, code TEXT NOT NULL, "
    "status TEXT NOT NULL, error TEXT, seconds REAL, about TEXT NOT NULL, finished TEXT NOT NULL) "
    "WITHOUT ROWID",
    "CREATE TABLE numbers (key TEXT NOT NULL REFERENCES cells, name TEXT NOT NULL, "
    "role TEXT NOT NULL, number REAL, npy BLOB NOT NULL, UNIQUE (key, role, name))",
    "CREATE TABLE studies (name TEXT PRIMARY KEY, definition TEXT NOT NULL, "
    "planned TEXT NOT NULL) WITHOUT ROWID",
    "CREATE TABLE members (study TEXT NOT NULL REFERENCES studies, position INTEGER NOT NULL, "
    "key TEXT NOT NULL, verb TEXT NOT NULL, seed INTEGER, coordinates TEXT NOT NULL, "
    "PRIMARY KEY (study, position)) WITHOUT ROWID",
)
OLD_COLUMNS = {
    "cells": "key, learner, verb, problem, settings, seed, code, status, error, seconds, about, "
    "finished",
    "numbers": "key, name, role, number, npy",
    "studies": "name, definition, planned",
    "members": "study, position, key, verb, seed, coordinates",
}


@pytest.fixture(scope="module")
def study(sums: Callable[..., Study]) -> Study:
    """Twelve cells, two of which have no theory, and arrays of more than a page."""
    axes = {"centre": [-1.0, 1.0], "samples": ["d", "600"]}
    return sums(name="short", axes=axes, seeds=2)


@pytest.fixture(scope="module")
def whole(study: Study, tmp_path_factory: pytest.TempPathFactory) -> Results:
    results = study.run(store=tmp_path_factory.mktemp("whole") / "s.sqlite", engine="inline")
    assert results.counts() == (12, 10, 2, 0)
    return results


def cells(results: Results) -> list[dict[str, Any]]:
    """What is said of each cell, but for the time it took."""
    return [{**cell, "seconds": None} for cell in results.to_json()["cells"]]


def attempt(act: Callable[[], Any]) -> Any:
    """What comes of it; None if it is refused, in one line."""
    try:
        return act()
    except GiantstepError as error:
        message = str(error)
    assert "\n" not in message
    return None


@pytest.mark.slow
def test_numbers_are_served_as_they_were_or_not_at_all(
    study: Study, whole: Results, tmp_path: Path
) -> None:
    rng = random.Random(300)
    truth, totals = cells(whole), whole.frame().total
    fates: Counter[str] = Counter()
    for spot in range(SPOTS):
        path = tmp_path / f"{spot}.sqlite"
        shutil.copy(whole.store, path)
        what = damage(rng, path)
        read = attempt(lambda path=path: cells(Results(path, study.name)))
        for served, true in zip(read or [], truth, strict=bool(read)):
            if served["status"] is not None:
                assert served == true, what
        lost = sum(cell["status"] is None for cell in read or [])
        if lost and rng.random() < 0.3:
            frame = Results(path, study.name).frame()
            done = frame[frame.status == "done"]
            assert not len(done) or done.total.equals(totals[done.index]), what

        def mended(path: Path = path) -> list[dict[str, Any]]:
            return cells(study.run(store=path, engine="inline"))

        again = attempt(mended)
        assert again in (None, truth), what
        fates["unreadable" if read is None else "whole" if not lost else "cells lost"] += 1
        fates["cannot be mended" if again is None else "mended"] += 1
        path.unlink()
    # Each of these must happen, or the damage tests nothing.
    assert fates["cells lost"] > SPOTS / 10, fates
    assert fates["unreadable"] > SPOTS / 10, fates
    assert fates["mended"] > SPOTS / 4, fates


def change(path: Path, statement: str, *values: Any) -> None:
    connection = sqlite3.connect(path)
    with connection:
        assert connection.execute(statement, values).rowcount > 0
    connection.close()


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM numbers WHERE role = 'metric'",
        "DELETE FROM numbers WHERE role = 'array'",
        "UPDATE numbers SET npy = substr(npy, 1, 100)",
        "UPDATE numbers SET npy = zeroblob(length(npy))",
        "UPDATE numbers SET name = 'other' WHERE name = 'total'",
        "UPDATE cells SET about = '{'",
        "UPDATE cells SET about = cast(x'ff00ff' AS TEXT)",
        "UPDATE cells SET status = 'done' WHERE status = 'no-theory'",
        "UPDATE cells SET seconds = 'much'",
    ],
)
def test_damaged_cells_count_as_missing_and_are_computed_again(
    study: Study, whole: Results, tmp_path: Path, statement: str
) -> None:
    path = tmp_path / "s.sqlite"
    shutil.copy(whole.store, path)
    change(path, statement)
    results = Results(path, study.name)
    survey = results.survey()
    assert survey.damaged
    assert survey.counts.left == len(survey.damaged)
    lost = [cell for cell in cells(results) if cell["status"] is None]
    assert len(lost) == len(survey.damaged)
    assert all("run the study again" in cell["error"] and not cell["metrics"] for cell in lost)
    assert cells(study.run(store=path, engine="inline")) == cells(whole)


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE members SET coordinates = '{}' WHERE position = 3",
        "UPDATE members SET seed = 77 WHERE position = 3",
        "DELETE FROM members WHERE position = 3",
        "DELETE FROM members WHERE position = 11",
    ],
)
def test_a_damaged_list_of_cells_is_refused_and_written_again(
    study: Study, whole: Results, tmp_path: Path, statement: str
) -> None:
    path = tmp_path / "s.sqlite"
    shutil.copy(whole.store, path)
    change(path, statement)
    with pytest.raises(StoreError, match="list of the cells of study 'short' is damaged"):
        Results(path, study.name).frame()
    assert cells(study.run(store=path, engine="inline")) == cells(whole)


def test_a_damaged_definition_is_refused_and_the_others_stay(
    study: Study, whole: Results, tmp_path: Path
) -> None:
    path = tmp_path / "s.sqlite"
    shutil.copy(whole.store, path)
    with Store(path) as store:
        store.plan("other", study.to_json(), study.blocks())
    change(path, "UPDATE studies SET definition = '{' WHERE name = 'short'")
    with pytest.raises(StoreError, match="definition of study 'short' is damaged"):
        Results(path, "short")
    assert Results(path, "other").counts().done == 10


def test_a_file_that_does_not_hang_together_is_not_written_to(
    whole: Results, tmp_path: Path
) -> None:
    path = tmp_path / "s.sqlite"
    shutil.copy(whole.store, path)
    content = bytearray(path.read_bytes())
    content[5 * 4096 : 6 * 4096] = bytes(4096)
    path.write_bytes(content)
    before = path.read_bytes()
    with pytest.raises(StoreError, match=r"is damaged \(.*\): move it away"):
        Store(path)
    assert path.read_bytes() == before


def old_store(whole: Results, path: Path) -> Path:
    """The same rows as the first release kept them."""
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA application_id = 1735619696")
    connection.execute("PRAGMA user_version = 1")
    for table in OLD_TABLES:
        connection.execute(table)
    connection.execute("ATTACH ? AS new", (str(whole.store),))
    for table, columns in OLD_COLUMNS.items():
        order = "ORDER BY rowid" if table == "numbers" else ""
        connection.execute(
            f"INSERT INTO {table} ({columns}) SELECT {columns} FROM new.{table} {order}"
        )
    connection.commit()
    connection.close()
    return path


def test_a_store_without_digests_is_brought_up_to_date(
    study: Study, whole: Results, tmp_path: Path
) -> None:
    path = old_store(whole, tmp_path / "old.sqlite")
    broken = old_store(whole, tmp_path / "broken.sqlite")
    with pytest.raises(StoreError, match=r"older giantstep .* giantstep study check --store"):
        Results(path, study.name)
    with Store(path) as store:
        assert store.counts(study.name) == whole.counts()
    assert cells(Results(path, study.name)) == cells(whole)

    change(broken, "UPDATE numbers SET npy = x'00' WHERE rowid = 1")
    change(broken, "DELETE FROM numbers WHERE rowid > (SELECT max(rowid) FROM numbers) - 2")
    with Store(broken) as store:
        assert len(store.survey(study.name).damaged) == 2
    assert cells(study.run(store=broken, engine="inline")) == cells(whole)
    assert json.loads(json.dumps(Results(broken, study.name).definition())) == study.to_json()
