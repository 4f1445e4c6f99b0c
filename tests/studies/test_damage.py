"""Stores damaged in one spot: numbers are served as they were or not at all, in one line."""

from __future__ import annotations

import random
import shutil
import sqlite3
import warnings
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from damage import PAGE, damage
from processes import kept

from giantstep.asking.studies.database import StoreError, StudyWarning
from giantstep.asking.studies.kept import KeptStudy
from giantstep.asking.studies.store import Store
from giantstep.asking.studies.study import Study
from giantstep.asking.studies.work import compute_cells
from giantstep.errors import GiantstepError

SPOTS = 150
#: As many as fit.
ROWS_OF_A_PAGE = 8


@pytest.fixture(scope="module")
def study(sums: Callable[..., Study]) -> Study:
    """Twelve cells, two of which have no theory, and arrays of more than a page."""
    axes = {"centre": [-1.0, 1.0], "samples": ["d", "600"]}
    return sums(name="short", axes=axes, seeds=2)


@pytest.fixture(scope="module")
def whole(study: Study, tmp_path_factory: pytest.TempPathFactory) -> KeptStudy:
    results = kept(study, store=tmp_path_factory.mktemp("whole") / "s.sqlite", engine="inline")
    assert results.counts() == (12, 10, 2, 0)
    return results


def cells(results: KeptStudy) -> list[dict[str, Any]]:
    """What is said of each cell, but for the time it took."""
    return [{**row._asdict(), "seconds": None} for row in results.rows()]


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
    study: Study, whole: KeptStudy, tmp_path: Path
) -> None:
    rng = random.Random(300)
    truth, totals = cells(whole), whole.answer().to_xarray().total
    fates: Counter[str] = Counter()
    for spot in range(SPOTS):
        path = tmp_path / f"{spot}.sqlite"
        shutil.copy(whole.store, path)
        what = damage(rng, path)
        read = attempt(lambda path=path: cells(KeptStudy(path, study.name)))
        for served, true in zip(read or [], truth, strict=bool(read)):
            if served["status"] is not None:
                assert served == true, what
        lost = sum(cell["status"] is None for cell in read or [])
        if lost and rng.random() < 0.3:
            found = KeptStudy(path, study.name).answer().to_xarray()
            if "total" in found:
                assert found.total.where(found.total.notnull(), totals).equals(totals), what

        def mended(path: Path = path) -> list[dict[str, Any]]:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", StudyWarning)
                return cells(kept(study, store=path, engine="inline"))

        again = attempt(mended)
        assert again in (None, truth), what
        fates["unreadable" if read is None else "whole" if not lost else "cells lost"] += 1
        fates["cannot be mended" if again is None else "mended"] += 1
        path.unlink()
    # Each of these must happen, or the damage tests nothing.
    assert fates["cells lost"] > SPOTS / 10, fates
    assert fates["unreadable"] > SPOTS / 20, fates
    assert fates["mended"] > SPOTS * 9 / 10, fates


def change(path: Path, statement: str, *values: Any) -> None:
    connection = sqlite3.connect(path)
    with connection:
        assert connection.execute(statement, values).rowcount > 0
    connection.close()


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE cells SET numbers = x''",
        "UPDATE cells SET numbers = substr(numbers, 1, 100) WHERE status = 'done'",
        "UPDATE cells SET numbers = zeroblob(length(numbers))",
        "UPDATE cells SET about = '{'",
        "UPDATE cells SET about = cast(x'ff00ff' AS TEXT)",
        "UPDATE cells SET status = 'done' WHERE status = 'no-theory'",
        "UPDATE cells SET seconds = 'much'",
    ],
)
def test_damaged_cells_count_as_missing_and_are_computed_again(
    study: Study, whole: KeptStudy, tmp_path: Path, statement: str
) -> None:
    path = tmp_path / "s.sqlite"
    shutil.copy(whole.store, path)
    change(path, statement)
    results = KeptStudy(path, study.name)
    survey = results.survey()
    assert survey.damaged
    assert survey.counts.left == len(survey.damaged)
    lost = [cell for cell in cells(results) if cell["status"] is None]
    assert len(lost) == len(survey.damaged)
    assert all("run the study again" in cell["error"] and not cell["numbers"] for cell in lost)
    assert cells(kept(study, store=path, engine="inline")) == cells(whole)


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
    study: Study, whole: KeptStudy, tmp_path: Path, statement: str
) -> None:
    path = tmp_path / "s.sqlite"
    shutil.copy(whole.store, path)
    change(path, statement)
    with pytest.raises(StoreError, match="list of the cells of study 'short' is damaged"):
        KeptStudy(path, study.name).answer()
    assert cells(kept(study, store=path, engine="inline")) == cells(whole)


def test_a_damaged_definition_is_refused_and_the_others_stay(
    study: Study, whole: KeptStudy, tmp_path: Path
) -> None:
    path = tmp_path / "s.sqlite"
    shutil.copy(whole.store, path)
    with Store(path) as store:
        store.plan("other", study.to_json(), study.blocks())
    change(path, "UPDATE studies SET definition = '{' WHERE name = 'short'")
    with pytest.raises(StoreError, match="definition of study 'short' is damaged"):
        KeptStudy(path, "short")
    assert KeptStudy(path, "other").counts().done == 10


def saved(path: Path) -> int:
    """Cells of a damaged store that are kept; the damaged file itself is kept too."""
    before = path.read_bytes()
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        with Store(path) as store:
            rows = store._connection.execute("SELECT count(*) FROM cells").fetchone()[0]
    for warning in told:
        folder = str(warning.message).rpartition(" in ")[2].strip("'")
        assert (Path(folder) / path.name).read_bytes() == before
        assert f"{rows} whole rows are kept" in str(warning.message)
    return rows


@pytest.fixture(scope="module")
def large(sums: Callable[..., Study], tmp_path_factory: pytest.TempPathFactory) -> KeptStudy:
    """Cells that fill many pages, with arrays that go on over others."""
    axes = {"centre": "1:2:40", "samples": ["600"]}
    store = tmp_path_factory.mktemp("large") / "s.sqlite"
    return kept(sums(axes=axes, seeds=2, verbs="simulate"), store=store, engine="inline")


def test_a_file_that_is_cut_off_keeps_what_is_before_the_cut(
    large: KeptStudy, tmp_path: Path
) -> None:
    """Of 100 cuts all were lost before; now a tenth of the file costs about a tenth of its rows."""
    rng, content = random.Random(26), large.store.read_bytes()
    cells, truth = large.counts().done, {row.key: row.numbers for row in large.rows()}
    first, pages = next(iter(truth)).encode(), range(0, len(content), PAGE)
    # The key may stand in an index before; rows are in the leaves of tables, which begin with 13.
    begin = next(at for at in pages if content[at] == 13 and first in content[at : at + PAGE])
    for number, share in enumerate(sorted(rng.random() for _ in range(20))):
        path = tmp_path / f"{number}.sqlite"
        cut = int(share * len(content))
        path.write_bytes(content[:cut])
        if cut < begin + PAGE:
            # Before the first row there is nothing to keep; a study may have been planned already.
            with pytest.raises(StoreError) if cut < 2 * PAGE else suppress(StoreError):
                assert saved(path) == 0
            continue
        rows = saved(path)
        for row in attempt(lambda path=path: list(KeptStudy(path, large.name).rows())) or []:
            assert row.status is None or row.numbers == truth[row.key]
        # One page of each kind may be cut in two, and an array may go on behind the cut.
        assert rows / cells >= (cut - begin) / len(content) - 0.15
    assert rows > 0.8 * cells


def test_a_byte_that_is_changed_costs_its_own_row(large: KeptStudy, tmp_path: Path) -> None:
    rng, content = random.Random(27), large.store.read_bytes()
    cells = large.counts().done
    recovered = 0
    for number in range(60):
        path = tmp_path / f"{number}.sqlite"
        changed = bytearray(content)
        # The first bytes of pages, which say how they hang together, and any others.
        page = rng.randrange(len(content) // PAGE) * PAGE
        at = page + rng.randrange(100, 112) if number % 2 else page + rng.randrange(8)
        changed[at] ^= rng.randrange(1, 256)
        path.write_bytes(changed)
        # Of a page that no longer says how many rows it has, all may be lost.
        assert saved(path) >= cells - ROWS_OF_A_PAGE, at
        recovered += len(list(tmp_path.glob(f"{number}.sqlite.damaged-*")))
    assert recovered > 10


def test_rows_in_the_log_are_recovered_too(study: Study, whole: KeptStudy, tmp_path: Path) -> None:
    """A coordinator that is killed leaves its last rows in the write-ahead log."""
    path = tmp_path / "s.sqlite"
    with Store(tmp_path / "open.sqlite") as store:
        store.plan(study.name, study.to_json(), study.blocks())
        store._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        store.write([(block, compute_cells(block)) for block in study.blocks()])
        for name in ("s.sqlite", "s.sqlite-wal"):
            shutil.copy(tmp_path / name.replace("s.", "open."), tmp_path / name)
    path.write_bytes(bytes(len(path.read_bytes())))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StudyWarning)
        with Store(path) as store:
            assert store._connection.execute("SELECT count(*) FROM cells").fetchone() == (12,)
    assert cells(kept(study, store=path, engine="inline")) == cells(whole)


def test_a_damaged_store_is_read_as_it_is_and_mended_by_a_run(
    study: Study, whole: KeptStudy, tmp_path: Path
) -> None:
    path = tmp_path / "s.sqlite"
    shutil.copy(whole.store, path)
    content = bytearray(path.read_bytes())
    content[:100] = bytes(100)
    path.write_bytes(content)
    assert cells(KeptStudy(path, study.name)) == cells(whole)
    assert path.read_bytes() == content
    with pytest.warns(StudyWarning, match="12 whole rows are kept"):
        again = kept(study, store=path, engine="inline")
    assert cells(again) == cells(whole)
    assert path.read_bytes()[:15] == b"SQLite format 3"
