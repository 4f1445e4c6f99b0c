"""Runners that share a store share its cells; what a runner leaves behind comes back."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from processes import done_so_far, end, kept, wait_until, workers_of

from giantstep.asking.studies import leases
from giantstep.asking.studies.cells import Block
from giantstep.asking.studies.kept import KeptStudy
from giantstep.asking.studies.leases import LEASE_SECONDS, Leases
from giantstep.asking.studies.outcomes import METRIC, packed_cell
from giantstep.asking.studies.store import Store
from giantstep.asking.studies.study import Study
from giantstep.asking.workers.backlog import DONE, FAILED, Outcome


@pytest.fixture
def blocks(sums: Callable[..., Study]) -> list[Block]:
    return sums(axes={"centre": "1:2:6"}, verbs="simulate", seeds=1).blocks()


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path / "s.sqlite") as opened:
        yield opened


def claimed_by(store: Store, runner: str, until: object, block: Block) -> None:
    with store.writing() as connection:
        connection.execute(
            "INSERT OR REPLACE INTO claims VALUES (?, ?, ?)", (block.keys[0], runner, until)
        )


def ended(block: Block, status: str = DONE) -> tuple[Block, Outcome]:
    values = (packed_cell({(METRIC, "total"): 1.0}),) if status == DONE else ()
    return block, Outcome(status, values)


def test_a_block_has_one_runner(store: Store, blocks: list[Block]) -> None:
    with Leases(store) as one, Leases(store) as other:
        assert one.take(blocks[:3]) == blocks[:3]
        assert other.take(blocks[:5]) == blocks[3:5]
        assert one.take(blocks) == [*blocks[:3], blocks[5]]
        store.write([ended(blocks[0]), ended(blocks[1], FAILED)])
        assert other.take(blocks) == blocks[3:5]
        assert other.news(blocks[:3]) == ([DONE, FAILED], [], [blocks[2]])
    with Leases(store) as third:
        assert third.take(blocks) == blocks[2:]
    with Leases(store, retry=True) as fourth:
        assert fourth.take(blocks) == blocks[1:]


def test_a_lease_runs_out_unless_it_is_renewed(
    store: Store, blocks: list[Block], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(leases, "_RENEWAL_SECONDS", 0.02)
    with Leases(store) as mine:
        claimed_by(store, "elsewhere 1 2 x", time.time() + 5, blocks[0])
        claimed_by(store, "elsewhere 1 2 x", time.time() - 5, blocks[1])
        assert mine.take(blocks[:2]) == [blocks[1]]
        with store.writing() as connection:
            connection.execute("UPDATE claims SET until = 1.0 WHERE runner = ?", (mine.runner,))
        query = "SELECT until FROM claims WHERE runner = ?"
        wait_until(
            lambda: store._connection.execute(query, (mine.runner,)).fetchone()[0] > time.time()
        )


def test_a_runner_that_is_gone_holds_nothing(store: Store, blocks: list[Block]) -> None:
    with Leases(store) as other:
        machine, _, _, token = other.runner.split(" ")
        soon = time.time() + LEASE_SECONDS
        gone = subprocess.Popen([sys.executable, "-c", ""])
        gone.wait()
        claimed_by(store, f"{machine} {gone.pid} 7 {token}", soon, blocks[0])
        # The number of a process is used again for another one.
        claimed_by(store, f"{machine} {os.getpid()} 7 {token}", soon, blocks[1])
        claimed_by(store, f"another-{machine} {gone.pid} 7 {token}", soon, blocks[2])
        claimed_by(store, "damaged", soon + 1e9, blocks[3])
        claimed_by(store, "damaged", "soon", blocks[4])
    with Leases(store) as mine:
        assert mine.take(blocks) == [*blocks[:2], *blocks[3:]]


def test_two_runs_at_once_compute_every_cell_once(
    sums: Callable[..., Study], content: Callable[[KeptStudy], list[Any]], tmp_path: Path
) -> None:
    def study(log: str) -> Study:
        settings = {"pause": 0.005, "trouble": f"count:{tmp_path / log}"}
        return sums(axes={"centre": "1:2:30"}, settings=settings, verbs="simulate", seeds=2)

    found: list[KeptStudy] = []

    def run() -> None:
        found.append(kept(study("two"), store=tmp_path / "two.sqlite", engine="inline"))

    threads = [threading.Thread(target=run) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len((tmp_path / "two").read_text().splitlines()) == 30
    assert found[0].counts() == found[1].counts() == (60, 60, 0, 0)


@pytest.mark.slow
def test_of_two_runners_one_is_killed(tmp_path: Path, start: Callable[..., Any]) -> None:
    (tmp_path / "shared.toml").write_text(
        'learner = "sums"\nproblem = {target = "h1"}\nseeds = 1\nverbs = ["simulate"]\n'
        f'settings = {{pause = 0.1, trouble = "count:{tmp_path / "log"}"}}\n'
        "[axes]\ncentre = '1:2:120'\n"
    )
    store = tmp_path / "s.sqlite"
    command = ("study", "run", "shared.toml", "--store", "s.sqlite", "--workers", "1")
    runners = [start(*command), start(*command)]
    workers: list[set[int]] = [set(), set()]

    def both_have_begun() -> bool:
        for found, runner in zip(workers, runners, strict=True):
            found.update(process.pid for process in workers_of(runner))
        computed = set(_computed(tmp_path / "log"))
        return all(found & computed for found in workers) and done_so_far(store, "shared") > 20

    wait_until(both_have_begun)
    end(runners[0])
    said = runners[1].communicate(timeout=120)[1]
    assert runners[1].returncode == 0, said
    assert KeptStudy(store, "shared").counts() == (120, 120, 0, 0)
    # What the dead runner was computing, and what it had not written yet, is computed again.
    assert 120 <= sum(_computed(tmp_path / "log").values()) <= 130


def _computed(log: Path) -> Counter[int]:
    """How many cells each process has computed."""
    return Counter(map(int, log.read_text().split())) if log.exists() else Counter()
