"""Running: identical rows whatever the engine, resumed, retried, and interrupted politely."""

from __future__ import annotations

import os
import signal
import socket
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from processes import done_so_far, kept, wait_until

from giantstep.answer import Run
from giantstep.asking.studies.database import StoreError
from giantstep.asking.studies.kept import KeptStudy
from giantstep.asking.studies.run import StudyWarning, run_study
from giantstep.asking.studies.store import Store
from giantstep.asking.studies.study import Study
from giantstep.asking.workers import pool
from giantstep.errors import GiantstepError, SettingsError

AXES = {"centre": [-1.0, 0.5, 1.0, 1.5], "samples": ["d", "2d"]}


@pytest.fixture(scope="module")
def reference(sums: Callable[..., Study], tmp_path_factory: pytest.TempPathFactory) -> KeptStudy:
    path = tmp_path_factory.mktemp("reference") / "s.sqlite"
    return kept(sums(axes=AXES, seeds=5), store=path, workers=1)


def finished_at(results: KeptStudy) -> dict[str, str]:
    with Store(results.store, read_only=True) as store:
        return dict(store._connection.execute("SELECT key, finished FROM cells"))


def test_every_cell_is_there(reference: KeptStudy) -> None:
    counts = reference.counts()
    assert counts == (8 * 6, 8 * 6 - 2, 2, 0)
    without = [row for row in reference.rows() if row.status == "no-theory"]
    assert all("there is theory from 0 upwards" in row.error for row in without)


@pytest.mark.parametrize(
    "how", [{"workers": 2}, {"engine": "dask", "workers": 2}], ids=["two-workers", "dask"]
)
def test_rows_do_not_depend_on_the_engine(
    sums: Callable[..., Study],
    reference: KeptStudy,
    content: Callable[[KeptStudy], list[Any]],
    tmp_path: Path,
    how: dict[str, Any],
) -> None:
    results = kept(sums(axes=AXES, seeds=5), store=tmp_path / "s.sqlite", **how)
    assert content(results) == content(reference)


def test_resuming_computes_only_what_is_missing(
    sums: Callable[..., Study], reference: KeptStudy
) -> None:
    before = finished_at(reference)
    more = sums(axes={**AXES, "centre": [*AXES["centre"], 2.0]}, seeds=5)
    after = finished_at(kept(more, store=reference.store, workers=1))
    assert before.items() <= after.items()
    assert len(after) == len(before) + 2 * 6
    kept(sums(axes=AXES, seeds=5), store=reference.store, workers=1)
    assert finished_at(reference) == after
    assert reference.counts().cells == 48


def test_failed_cells_are_rows_and_are_retried_on_request(
    sums: Callable[..., Study], tmp_path: Path
) -> None:
    mark, store = tmp_path / "mark", tmp_path / "s.sqlite"
    study = sums(axes={"trouble": ["none", f"unless:{mark}"]}, verbs="simulate")
    failed = kept(study, store=store, workers=1)
    assert failed.counts() == (6, 3, 0, 3)
    errors = [row.error for row in failed.rows() if row.status == "failed"]
    assert all("RuntimeError: asked to fail until the file is there" in e for e in errors)
    mark.touch()
    assert kept(study, store=store, workers=1).counts().failed == 3
    assert kept(study, store=store, workers=1, retry=True).counts() == (6, 6, 0, 0)


def test_a_killed_worker_is_replaced(sums: Callable[..., Study], tmp_path: Path) -> None:
    troubles = [f"kill-once:{tmp_path / 'mark'}", "kill", "none"]
    study = sums(axes={"trouble": troubles}, verbs="simulate", seeds=1)
    rows = list(kept(study, store=tmp_path / "s.sqlite", workers=1).rows())
    assert [row.status for row in rows] == ["done", "failed", "done"]
    assert "was killed (out of memory?), 3 times in a row" in rows[1].error


@pytest.mark.parametrize(
    "engine", ["local", pytest.param("dask", marks=pytest.mark.slow)], ids=["local", "dask"]
)
def test_a_cell_that_hangs_is_ended(
    sums: Callable[..., Study], tmp_path: Path, engine: str
) -> None:
    study = sums(axes={"pause": [0, 600, 0.001]}, verbs="simulate", seeds=2)
    how = {"engine": engine, "workers": 1, "cell_seconds": 1.5}
    begin = time.monotonic()
    rows = list(kept(study, store=tmp_path / "s.sqlite", **how).rows())
    assert time.monotonic() - begin < 120
    assert [row.status for row in rows] == ["done"] * 2 + ["failed"] * 2 + ["done"] * 2
    error = "stopped after 3 seconds: take smaller sizes, or give it more --cell-seconds"
    assert all(error in row.error for row in rows[2:4])


def test_a_cell_that_eats_memory_is_ended(
    sums: Callable[..., Study], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It held 600 MiB, on a machine of which workers may have 400."""
    monkeypatch.setattr("giantstep.asking.workers.pool._MOST_MEMORY", 1.0)
    monkeypatch.setattr("giantstep.asking.workers.pool.machine_bytes", lambda: 400 * 2**20)
    study = sums(axes={"trouble": ["none", "eat", "well"]}, verbs="simulate", seeds=1)
    rows = list(kept(study, store=tmp_path / "s.sqlite", workers=1).rows())
    assert [row.status for row in rows] == ["done", "failed", "done"]
    assert "MiB of memory (the workers held" in rows[1].error


def test_cells_know_their_libraries_and_a_mixture_is_told(
    sums: Callable[..., Study], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = tmp_path / "s.sqlite"
    first = kept(sums(axes={"centre": [1]}, verbs="simulate"), store=store, engine="inline")
    found = next(iter(first.rows())).about["versions"]
    assert set(found) == {"python", "giantstep", "numpy", "scipy", "jax", "jaxlib"}
    assert found["numpy"] == np.__version__
    other = {**found, "numpy": "1.0"}
    monkeypatch.setattr("giantstep.asking.studies.work.library_versions", lambda: other)
    told = rf"numpy {np.__version__} \(3 cells\), 1\.0 \(3 cells\)$"
    with pytest.warns(StudyWarning, match=told):
        both = kept(sums(axes={"centre": [1, 2]}, verbs="simulate"), store=store, engine="inline")
    assert len(both.survey().versions) == 2


def test_a_learner_without_metrics_has_failed(
    sums: Callable[..., Study], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nothing = lambda *_, **__: Run("sums", {}, {}, {})  # noqa: E731
    monkeypatch.setattr("cheap_learners.sums.simulate", nothing)
    results = kept(sums(verbs="simulate"), store=tmp_path / "s.sqlite", engine="inline")
    assert results.counts().failed == 3
    assert "gave no metric" in next(iter(results.rows())).error


def test_a_full_disk_stops_the_run_and_keeps_every_row(
    sums: Callable[..., Study],
    content: Callable[[KeptStudy], list[Any]],
    tmp_path: Path,
) -> None:
    study = sums(axes={"centre": "1:2:40"}, settings={"samples": 500})
    with Store(tmp_path / "s.sqlite") as store:
        store.plan(study.name, study.to_json(), study.blocks())
        pages = store._connection.execute("PRAGMA page_count").fetchone()[0]
        store._connection.execute(f"PRAGMA max_page_count = {pages + 30}")
        with pytest.raises(StoreError, match="full: free some space and run the same command"):
            run_study(study, store=store, workers=1)
        results = KeptStudy(store.path, study.name)
        kept = [row for row in content(results) if row[4] == "done"]
        assert 0 < results.counts().done < results.counts().cells
        store._connection.execute("PRAGMA max_page_count = 1000000")
        run_study(study, store=store, workers=1)
        whole = content(results)
        assert results.counts().left == 0
        assert all(row in whole for row in kept)


def test_a_store_nobody_may_write_to_is_said_before_anything_runs(
    sums: Callable[..., Study], tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StoreError, match="cannot make the folder"):
        kept(sums(), store=tmp_path / "file" / "s.sqlite")


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"engine": "ray"}, "engine = 'ray' is unknown: use local, dask or inline"),
        ({"workers": 0}, "workers = 0"),
        ({"threads": 0}, "threads = 0"),
        ({"scheduler": "tcp://x:1"}, "goes with engine = 'dask'"),
        ({"scheduler": "somewhere", "engine": "dask"}, "is no address with a port: give the"),
        ({"scheduler": "tcp://somewhere", "engine": "dask"}, "is no address with a port: give"),
        ({"scheduler": "tcp://x:99999", "engine": "dask"}, "is no address with a port: give"),
        ({"cell_seconds": 0}, "cell_seconds = 0: give a number above 0"),
        ({"cell_seconds": "x"}, "cell_seconds = 'x' is not a number"),
        ({"cell_seconds": 1, "engine": "inline"}, "needs worker processes"),
    ],
)
def test_what_is_wrong_is_said(
    sums: Callable[..., Study], tmp_path: Path, how: dict[str, Any], message: str
) -> None:
    with pytest.raises(SettingsError, match=message):
        kept(sums(), store=tmp_path / "s.sqlite", **how)
    assert not (tmp_path / "s.sqlite").exists()


def test_a_scheduler_that_does_not_answer_is_named(
    sums: Callable[..., Study], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("giantstep.asking.studies.dask_cluster._CONNECT_SECONDS", 0.5)
    with pytest.raises(GiantstepError, match=r"scheduler = 'tcp://127.0.0.1:1' does not answer"):
        kept(sums(), store=tmp_path / "s", engine="dask", scheduler="tcp://127.0.0.1:1")
    with socket.create_server(("127.0.0.1", 0)) as mute:
        address = f"127.0.0.1:{mute.getsockname()[1]}"
        with pytest.raises(GiantstepError, match="does not answer") as caught:
            kept(sums(), store=tmp_path / "s", engine="dask", scheduler=address)
    assert str(caught.value).isprintable()


def test_a_cluster_that_cannot_start_is_said(
    sums: Callable[..., Study], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("Cluster failed to start:\nno port is free")

    with monkeypatch.context() as patch:
        patch.setattr("distributed.LocalCluster", broken)
        with pytest.raises(GiantstepError, match=r"cannot be started here \(Cluster.*free\): use"):
            kept(sums(), store=tmp_path / "s", engine="dask")
    monkeypatch.setattr("giantstep.asking.workers.process.sys.executable", "/bin/false")
    with pytest.raises(GiantstepError, match=r"can be started: .*exit code 1\): it said nothing"):
        kept(sums(), store=tmp_path / "s", engine="dask")


def test_a_worker_with_other_code_refuses(
    sums: Callable[..., Study], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("giantstep.asking.studies.cells.code_version", lambda row, verb: "another")
    results = kept(sums(verbs="simulate"), store=tmp_path / "s.sqlite", workers=1)
    assert results.counts().failed == 3
    assert "install the same giantstep" in next(iter(results.rows())).error


def test_a_worker_that_cannot_start_is_an_error(
    sums: Callable[..., Study], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("giantstep.asking.studies.engines.COMPUTE", "giantstep.nowhere:compute")
    with pytest.raises(GiantstepError, match=r"no worker process can be started: .*nowhere"):
        kept(sums(), store=tmp_path / "s.sqlite", workers=1)


def test_a_worker_killed_while_it_starts_is_started_again(
    sums: Callable[..., Study], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fates = iter([True] * 5)

    class Unlucky(pool.Worker):
        def __init__(self, does: str, threads: int) -> None:
            if next(fates, False):
                raise pool.WorkerDied("killed", killed=True)
            super().__init__(does, threads)

    monkeypatch.setattr(pool, "Worker", Unlucky)
    assert kept(sums(), store=tmp_path / "s.sqlite", workers=1).counts().done == 4


def test_workers_have_one_thread_and_the_caller_keeps_its_environment(
    sums: Callable[..., Study], tmp_path: Path
) -> None:
    from giantstep.asking.workers.environment import worker_environment

    before = dict(os.environ)
    kept(sums(verbs="predict"), store=tmp_path / "s.sqlite", workers=1)
    assert dict(os.environ) == before
    one = worker_environment(1, {"XLA_FLAGS": "--a=b"})
    assert one["OMP_NUM_THREADS"] == one["OPENBLAS_NUM_THREADS"] == one["NPROC"] == "1"
    assert one["XLA_FLAGS"] == "--a=b --xla_cpu_multi_thread_eigen=false"
    assert worker_environment(4, {})["OMP_NUM_THREADS"] == "4"


def test_a_study_runs_in_a_thread(sums: Callable[..., Study], tmp_path: Path) -> None:
    found: list[KeptStudy] = []
    thread = threading.Thread(
        target=lambda: found.append(kept(sums(verbs="predict"), store=tmp_path / "s", workers=1))
    )
    thread.start()
    thread.join()
    assert found[0].counts().done == 1


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["local", "dask"])
def test_ctrl_c_finishes_what_is_running_and_says_how_to_go_on(
    tmp_path: Path, start: Callable[..., Any], engine: str
) -> None:
    (tmp_path / "long.toml").write_text(
        'learner = "sums"\nproblem = {target = "h1"}\nseeds = 4\ntogether = 2\n'
        "settings = {pause = 0.05}\nverbs = ['simulate']\n[axes]\ncentre = '1:2:100'\n"
    )
    store = tmp_path / "s.sqlite"
    process = start(
        *("study", "run", "long.toml", "--store", "s.sqlite", "--engine", engine),
        *("--workers", "2"),
    )
    wait_until(lambda: done_so_far(store, "long") > 4)
    os.killpg(process.pid, signal.SIGINT)
    said = process.communicate(timeout=120)[1]
    assert process.returncode == 130, said
    assert "stopped: long:" in said
    where = "" if engine == "local" else " --engine dask"
    assert f"go on with: giantstep study run long.toml{where} --store s.sqlite" in said
    counts = KeptStudy(store, "long").counts()
    assert 4 < counts.done < 400
    assert counts.done % 2 == 0
    assert counts.failed == 0
