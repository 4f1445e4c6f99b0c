"""Killed at any moment and resumed, a study ends as if nothing had happened."""

from __future__ import annotations

import contextlib
import json
import logging
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import psutil
import pytest
from processes import ENVIRONMENT, done_so_far, end, kept, wait_until, workers_of

from giantstep.asking.studies.dask_cluster import _quiet_dask_logs
from giantstep.asking.studies.kept import KeptStudy
from giantstep.asking.studies.study import Study

Start = Callable[..., subprocess.Popen[str]]

KILLS = 10
CELLS = 200
STUDY = """
learner = "sums"
problem = {target = "h1"}
seeds = 8
together = 2
settings = {pause = 0.01}
verbs = ["simulate"]
[axes]
centre = "1:2:25"
"""
RUN = ("study", "run", "short.toml", "--store", "s.sqlite", "--workers", "2")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "short.toml").write_text(STUDY)
    return tmp_path


@pytest.fixture(scope="module")
def uninterrupted(
    sums: Callable[..., Study], tmp_path_factory: pytest.TempPathFactory
) -> KeptStudy:
    study = sums(
        name="short",
        axes={"centre": "1:2:25"},
        settings={"pause": 0.01},
        verbs="simulate",
        seeds=8,
    )
    return kept(study, store=tmp_path_factory.mktemp("whole") / "s.sqlite", workers=2)


def assert_whole(
    store: Path, uninterrupted: KeptStudy, content: Callable[[KeptStudy], list[Any]]
) -> None:
    connection = sqlite3.connect(store)
    count = "SELECT count(*), count(DISTINCT key), min(status), max(status) FROM cells"
    assert connection.execute(count).fetchone() == (CELLS, CELLS, "done", "done")
    assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    connection.close()
    assert content(KeptStudy(store, "short")) == content(uninterrupted)


def runs_until(process: subprocess.Popen[str], condition: Callable[[], bool]) -> bool:
    """Wait for the condition; False if the program ended first, and then it ended well."""
    wait_until(lambda: process.poll() is not None or condition())
    assert process.poll() in (None, 0), process.stderr and process.stderr.read()
    return process.poll() is None


def kill(process: psutil.Process) -> None:
    with contextlib.suppress(psutil.NoSuchProcess):
        process.send_signal(signal.SIGKILL)


@pytest.mark.slow
def test_killed_at_ten_random_moments(
    folder: Path,
    start: Start,
    uninterrupted: KeptStudy,
    content: Callable[[KeptStudy], list[Any]],
) -> None:
    rng = np.random.default_rng(2305)
    store = folder / "s.sqlite"
    moments = np.sort(rng.choice(CELLS - 10, KILLS, replace=False))
    victims = rng.permutation(["coordinator"] * 3 + ["worker"] * 4 + ["everybody"] * 3)
    seen: list[psutil.Process] = []
    kills = 0
    process = start(*RUN)
    for moment, victim in zip(moments, victims, strict=True):
        if not runs_until(
            process,
            lambda m=moment, p=process: done_so_far(store, "short") >= m and bool(workers_of(p)),
        ):
            break  # a busy machine may finish the study while nobody watches it
        kills += 1
        time.sleep(rng.uniform(0, 0.05))
        workers = workers_of(process)
        seen += workers
        if victim == "worker" and workers:
            kill(workers[rng.integers(len(workers))])
        elif victim == "everybody":
            for worker in workers:
                kill(worker)
        if victim != "worker":
            end(process)
            process = start(*RUN)
    said = process.communicate(timeout=120)[1]
    assert process.returncode == 0, said
    assert kills >= KILLS // 2
    assert_whole(store, uninterrupted, content)
    wait_until(lambda: not any(worker.is_running() for worker in seen), seconds=10)


class Cluster(NamedTuple):
    """A Dask scheduler and two workers that belong to nobody's study."""

    address: str
    scheduler: subprocess.Popen[bytes]
    workers: subprocess.Popen[bytes]


@pytest.fixture
def cluster(folder: Path) -> Iterator[Cluster]:
    file = folder / "scheduler.json"
    started = []

    def start(what: str, *options: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", f"distributed.cli.dask_{what}", f"--scheduler-file={file}"]
        program = subprocess.Popen(
            [*command, *options],
            env=ENVIRONMENT,
            cwd=folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        started.append(program)
        return program

    try:
        scheduler = start("scheduler", "--port=0", "--no-dashboard", "--host=127.0.0.1")
        wait_until(lambda: file.exists() and bool(file.read_text()))
        workers = start("worker", "--nworkers=2", "--nthreads=1", "--no-dashboard")
        yield Cluster(json.loads(file.read_text())["address"], scheduler, workers)
    finally:
        for program in reversed(started):
            program.terminate()
            program.wait(timeout=30)


@pytest.mark.slow
def test_a_dask_worker_is_killed_and_the_study_completes(
    folder: Path,
    start: Start,
    cluster: Cluster,
    uninterrupted: KeptStudy,
    content: Callable[[KeptStudy], list[Any]],
) -> None:
    store = folder / "s.sqlite"
    process = start(*RUN, "--engine", "dask", "--scheduler", cluster.address)
    # A busy machine may finish the study while nobody watches it.
    if runs_until(process, lambda: done_so_far(store, "short") > CELLS // 10):
        busy = [p for p in workers_of(cluster.workers) if "spawn_main" in " ".join(p.cmdline())]
        assert len(busy) == 2
        kill(busy[0])
    said = process.communicate(timeout=120)[1]
    assert process.returncode == 0, said
    assert_whole(store, uninterrupted, content)


@pytest.mark.slow
def test_a_dask_scheduler_is_killed_and_every_row_is_kept(
    folder: Path,
    start: Start,
    cluster: Cluster,
    uninterrupted: KeptStudy,
    content: Callable[[KeptStudy], list[Any]],
) -> None:
    store = folder / "s.sqlite"
    process = start(*RUN, "--engine", "dask", "--scheduler", cluster.address)
    if runs_until(process, lambda: done_so_far(store, "short") > CELLS // 10):
        cluster.scheduler.kill()
        said = process.communicate(timeout=60)[1]
        assert process.returncode == 2, said
        assert "the Dask scheduler is gone: every finished row is kept" in said
        assert "Traceback" not in said
        assert done_so_far(store, "short") > CELLS // 10
        process = start(*RUN)
    said = process.communicate(timeout=120)[1]
    assert process.returncode == 0, said
    assert_whole(store, uninterrupted, content)


def test_what_dask_logs_of_a_lost_scheduler_stays_out_of_sight() -> None:
    import distributed  # noqa: F401  (it gives its loggers their levels)

    names = ("distributed.batched", "distributed.client", "tornado.application", "asyncio")
    loggers = [logging.getLogger(name) for name in names]
    with _quiet_dask_logs():
        assert not any(logger.isEnabledFor(logging.ERROR) for logger in loggers)
    assert all(logger.isEnabledFor(logging.ERROR) for logger in loggers)
