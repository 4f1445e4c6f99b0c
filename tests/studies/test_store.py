"""The store: lossless, never written twice, readable while written, clear when it cannot be."""

from __future__ import annotations

import os
import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from giantstep.asking.studies.cells import Block
from giantstep.asking.studies.database import StoreError
from giantstep.asking.studies.outcomes import ARRAY, METRIC, packed_cell, unpacked_cell
from giantstep.asking.studies.store import Store
from giantstep.asking.studies.study import Study
from giantstep.asking.workers.backlog import DONE, FAILED, Outcome

NOBODY = 65534


@pytest.fixture
def blocks(sums: Callable[..., Study]) -> list[Block]:
    return sums(axes={"centre": [1, 2]}, verbs="simulate", seeds=2).blocks()


def ended(block: Block, *values: object) -> Outcome:
    cells = tuple(packed_cell({(METRIC, "total"): value}) for value in values)
    return Outcome(DONE, cells, seconds=0.5)


def totals(store: Store, name: str = "sums") -> list[float]:
    done = (row.numbers for row in store.rows(name) if row.numbers)
    return [float(unpacked_cell(numbers)[METRIC]["total"]) for numbers in done]


@contextmanager
def without_privileges() -> Iterator[None]:
    """File permissions mean nothing to the superuser."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.mark.parametrize(
    "value",
    [
        1.0,
        np.float32(0.1),
        np.nan,
        -np.inf,
        7,
        True,
        "text",
        np.pi * np.arange(6.0).reshape(2, 3),
        np.array([np.nan, -0.0]),
        np.zeros((0, 3), dtype=np.float32),
        np.array([1 + 2j]),
    ],
)
def test_values_are_kept_losslessly(tmp_path: Path, blocks: list[Block], value: object) -> None:
    block, cells = blocks[0], [packed_cell({(ARRAY, "v"): value})] * 2
    with Store(tmp_path / "s.sqlite") as store:
        store.plan("sums", {}, blocks)
        store.write([(block, Outcome(DONE, tuple(cells)))])
        kept = unpacked_cell(next(iter(store.rows("sums"))).numbers)[ARRAY]["v"]
    expected = np.asarray(value)
    assert kept.dtype == expected.dtype
    assert kept.shape == expected.shape
    assert kept.tobytes() == expected.tobytes()


def test_missing_numbers_become_nan_and_objects_are_refused() -> None:
    assert np.isnan(unpacked_cell(packed_cell({(METRIC, "v"): [None, 1.0]}))[METRIC]["v"][0])
    with pytest.raises((TypeError, ValueError)):
        packed_cell({(METRIC, "v"): object()})


def test_a_finished_cell_is_never_written_again(tmp_path: Path, blocks: list[Block]) -> None:
    with Store(tmp_path / "s.sqlite") as store:
        store.plan("sums", {}, blocks)
        store.write([(blocks[0], Outcome(FAILED, error="bad luck"))])
        assert store.survey("sums").counts == (4, 0, 0, 2)
        assert store.survey("sums").finished(failed_too=True) == set(blocks[0].keys)
        assert store.survey("sums").finished(failed_too=False) == set()
        store.write([(blocks[0], ended(blocks[0], 1.0, 2.0))])
        store.write([(blocks[0], ended(blocks[0], 3.0, 4.0))])
        store.write([(blocks[0], Outcome(FAILED, error="late"))])
        assert store.survey("sums").counts == (4, 2, 0, 0)
        assert totals(store) == [1.0, 2.0]


def test_a_group_is_written_whole_or_not_at_all(tmp_path: Path, blocks: list[Block]) -> None:
    too_few = Outcome(DONE, (packed_cell({(METRIC, "a"): 1.0}),))
    with Store(tmp_path / "s.sqlite") as store:
        store.plan("sums", {}, blocks)
        with pytest.raises(IndexError):
            store.write([(blocks[0], ended(blocks[0], 1.0, 2.0)), (blocks[1], too_few)])
        assert store.survey("sums").counts.done == 0
        store.write([(blocks[0], ended(blocks[0], 1.0, 2.0))])
        assert store.survey("sums").counts.done == 2


def test_studies_share_a_store(tmp_path: Path, sums: Callable[..., Study]) -> None:
    small, large = (
        sums(name=n, axes={"centre": c}, seeds=2) for n, c in (("a", [1]), ("b", [1, 2]))
    )
    with Store(tmp_path / "s.sqlite") as store:
        for study in (small, large):
            store.plan(study.name, study.to_json(), study.blocks())
        block = small.blocks()[0]
        store.write([(block, ended(block, 1.0, 2.0))])
        assert store.survey("a").counts.done == store.survey("b").counts.done == 2
        assert list(store.studies()) == ["a", "b"]
        assert Study.from_json(store.studies()["b"], trust=True).to_json() == large.to_json()


def test_reading_works_while_a_transaction_is_open(tmp_path: Path, blocks: list[Block]) -> None:
    path = tmp_path / "s.sqlite"
    with Store(path) as store:
        store.plan("sums", {}, blocks)
        store.write([(blocks[0], ended(blocks[0], 1.0, 2.0))])
        store._connection.execute("BEGIN IMMEDIATE")
        store._connection.execute("DELETE FROM cells")
        with Store(path, read_only=True) as reader:
            assert totals(reader) == [1.0, 2.0]
        store._connection.execute("ROLLBACK")


def test_a_full_disk_is_said_and_keeps_what_is_there(tmp_path: Path, blocks: list[Block]) -> None:
    with Store(tmp_path / "s.sqlite") as store:
        store.plan("sums", {}, blocks)
        store.write([(blocks[0], ended(blocks[0], 1.0, 2.0))])
        pages = store._connection.execute("PRAGMA page_count").fetchone()[0]
        store._connection.execute(f"PRAGMA max_page_count = {pages}")
        large = ended(blocks[1], np.zeros(10_000), np.zeros(10_000))
        with pytest.raises(StoreError, match=r"disk is full: free some space .* row is kept"):
            store.write([(blocks[1], large)])
        assert totals(store) == [1.0, 2.0]
        store._connection.execute("PRAGMA max_page_count = 100000")
        store.write([(blocks[1], large)])
        assert store.survey("sums").counts.done == 4


def test_a_read_only_store_can_be_read_but_not_written(tmp_path: Path, blocks: list[Block]) -> None:
    folder = tmp_path / "fixed"
    with Store(folder / "s.sqlite") as store:
        store.plan("sums", {}, blocks)
        store.write([(blocks[0], ended(blocks[0], 1.0, 2.0))])
    (folder / "s.sqlite").chmod(0o444)
    folder.chmod(0o555)
    for parent in (tmp_path, *tmp_path.parents):
        if parent == Path(tempfile.gettempdir()):
            break
        parent.chmod(0o755)
    try:
        with without_privileges():
            with pytest.raises(StoreError, match=r"cannot .* the store .*folder you may write to"):
                Store(folder / "s.sqlite").plan("sums", {}, blocks)
            with pytest.raises(StoreError, match=r"cannot .*folder"):
                Store(folder / "new" / "s.sqlite")
            with Store(folder / "s.sqlite", read_only=True) as reader:
                assert totals(reader) == [1.0, 2.0]
    finally:
        folder.chmod(0o755)


def test_other_files_are_left_alone(tmp_path: Path) -> None:
    text = tmp_path / "notes.txt"
    text.write_text("not a database, and long enough to be looked at " * 40)
    with pytest.raises(StoreError, match="not a database"):
        Store(text)
    other = tmp_path / "other.sqlite"
    connection = sqlite3.connect(other)
    connection.execute("CREATE TABLE theirs (a)")
    connection.close()
    with pytest.raises(StoreError, match="is not a store of giantstep"):
        Store(other)
    with pytest.raises(StoreError, match="there is no store"):
        Store(tmp_path / "none.sqlite", read_only=True)
    newer = tmp_path / "newer.sqlite"
    with Store(newer) as store:
        store._connection.execute("PRAGMA user_version = 99")
    with pytest.raises(StoreError, match="has layout 99"):
        Store(newer)


@pytest.mark.parametrize("name", ["", " "])
def test_a_store_has_a_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(StoreError, match="give the name of a file"):
        Store(name)
    assert not list(tmp_path.iterdir())
