"""Writes, syncs and allocations that fail, each in turn: what was acknowledged is there."""

from __future__ import annotations

import _sqlite3
import contextlib
import ctypes
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from giantstep.asking.studies.cells import Block
from giantstep.asking.studies.outcomes import METRIC, packed_cell
from giantstep.asking.studies.store import Store
from giantstep.asking.studies.study import Study
from giantstep.asking.workers.backlog import DONE, Outcome
from giantstep.errors import GiantstepError
from giantstep.files import file_written_beside

IOERR = 10
OPEN = ctypes.CFUNCTYPE(
    ctypes.c_int,
    ctypes.c_void_p,
    ctypes.c_void_p,
    ctypes.c_void_p,
    ctypes.c_int,
    ctypes.POINTER(ctypes.c_int),
)
WRITE = ctypes.CFUNCTYPE(
    ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int, ctypes.c_int64
)
TRUNCATE = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_int64)
SYNC = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_int)
#: The places of these functions in sqlite3_io_methods, which has 19 fields, and in sqlite3_vfs.
FIELDS, WRITES, TRUNCATES, SYNCS = 19, 3, 4, 5
#: iVersion, szOsFile and mxPathname are ints: xOpen comes after three more pointers.
OPENS = 40


class Disk:
    """SQLite's own file system, of whose calls the one of a given number fails."""

    def __init__(self) -> None:
        library = ctypes.CDLL(_sqlite3.__file__)
        self._limit = library.sqlite3_hard_heap_limit64
        self._limit.argtypes = [ctypes.c_int64]
        library.sqlite3_vfs_find.restype = ctypes.c_void_p
        self._place = ctypes.c_void_p.from_address(library.sqlite3_vfs_find(None) + OPENS)
        self._original = self._place.value
        self._methods: dict[int, Any] = {}
        self._kept: list[Any] = []
        self.calls = {"write": 0, "sync": 0}
        self.failing: tuple[str, int] | None = None

    def __enter__(self) -> Disk:
        self._open = OPEN(self._opened)
        self._place.value = ctypes.cast(self._open, ctypes.c_void_p).value
        return self

    def __exit__(self, *_: object) -> None:
        self._place.value = self._original

    def begin(self, kind: str, number: int) -> None:
        """From now on count; the call of that number fails."""
        self.calls, self.failing = {"write": 0, "sync": 0}, (kind, number)

    def limit_memory(self, size: int) -> None:
        """From now on SQLite gets no more bytes than that; 0 is no limit."""
        self._limit(size)

    def _fails(self, kind: str) -> bool:
        self.calls[kind] += 1
        return self.failing == (kind, self.calls[kind])

    def _opened(self, vfs: int, name: int, file: int, flags: int, out: Any) -> int:
        code = OPEN(self._original)(vfs, name, file, flags, out)
        methods = ctypes.c_void_p.from_address(file)
        if code == 0 and methods.value:
            if methods.value not in self._methods:
                self._methods[methods.value] = self._wrapped(methods.value)
            methods.value = ctypes.addressof(self._methods[methods.value])
        return code

    def _wrapped(self, address: int) -> Any:
        table = (ctypes.c_void_p * FIELDS).from_buffer_copy(
            ctypes.string_at(address, FIELDS * ctypes.sizeof(ctypes.c_void_p))
        )
        for place, kind, form in (
            (WRITES, "write", WRITE),
            (TRUNCATES, "write", TRUNCATE),
            (SYNCS, "sync", SYNC),
        ):
            own = form(table[place])
            function = form(lambda *a, own=own, kind=kind: IOERR if self._fails(kind) else own(*a))
            self._kept.append(function)
            table[place] = ctypes.cast(function, ctypes.c_void_p).value
        return table


@pytest.fixture(scope="module")
def disk() -> Iterator[Disk]:
    try:
        made = Disk()
    except (AttributeError, OSError):
        pytest.skip("this Python has an SQLite that cannot be reached from outside")
    with made:
        yield made


@pytest.fixture(scope="module")
def blocks(sums: Callable[..., Study]) -> list[Block]:
    return sums(axes={"centre": "1:2:6"}, verbs="simulate", seeds=1).blocks()


def written(path: Path, blocks: list[Block]) -> list[str]:
    """The keys of the cells that the store has acknowledged; any error is one of ours."""
    done: list[str] = []
    with contextlib.suppress(GiantstepError), Store(path) as store:
        store.plan("sums", {}, blocks)
        for block in blocks:
            with contextlib.suppress(GiantstepError):
                store.write([(block, outcome())])
                done += block.keys
        # The log goes into the file, which is the other half of what can fail.
        with contextlib.suppress(sqlite3.Error):
            store._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return done


def outcome() -> Outcome:
    return Outcome(DONE, (packed_cell({(METRIC, "total"): [1.0] * 700}),))


def check(path: Path, blocks: list[Block], acknowledged: list[str]) -> None:
    """What was acknowledged is there, whole; and the store goes on."""
    with Store(path) as store:
        there = {key: values for key, values in _cells(store)}
        assert set(acknowledged) <= set(there)
        store.plan("sums", {}, blocks)
        assert set(acknowledged) <= store.survey("sums").finished(failed_too=True)
        store.write([(block, outcome()) for block in blocks])
        assert len(store.survey("sums").finished(failed_too=True)) == len(blocks)


def _cells(store: Store) -> list[tuple[str, bytes]]:
    return store._connection.execute("SELECT key, numbers FROM cells").fetchall()


@pytest.mark.slow
def test_no_acknowledged_row_is_lost(disk: Disk, blocks: list[Block], tmp_path: Path) -> None:
    points = 0
    for kind in ("write", "sync"):
        for number in range(1, 400):
            path = tmp_path / f"{kind}-{number}.sqlite"
            disk.begin(kind, number)
            done = written(path, blocks)
            reached = disk.calls[kind] >= number
            disk.failing = None
            check(path, blocks, done)
            points += reached
            if not reached:
                assert len(done) == len(blocks)
                break
    for limit in range(20_000, 700_000, 1500):
        path = tmp_path / f"memory-{limit}.sqlite"
        disk.limit_memory(limit)
        try:
            done = written(path, blocks)
        finally:
            disk.limit_memory(0)
        check(path, blocks, done)
        points += 1
    assert points >= 500, points


@pytest.mark.parametrize("call", ["fsync", "replace", "chmod"])
def test_a_file_is_whole_or_as_it_was(
    call: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object, **__: object) -> None:
        raise OSError(5, "Input/output error")

    path = tmp_path / "page.html"
    path.write_text("before")

    def write(text: str, error: Exception | None = None) -> None:
        with file_written_beside(path) as beside:
            beside.write_text(text)
            if error is not None:
                raise error

    with monkeypatch.context() as broken:
        broken.setattr(f"os.{call}", fails)
        with pytest.raises(OSError, match="Input"):
            write("after")
    assert path.read_text() == "before"
    with pytest.raises(KeyError):
        write("half", KeyError())
    assert path.read_text() == "before"
    write("after")
    assert path.read_text() == "after"
    assert list(tmp_path.iterdir()) == [path]
