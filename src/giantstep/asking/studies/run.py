"""Running a study: what is missing is computed, and written as it arrives."""

from __future__ import annotations

import dataclasses
import itertools
import math
import signal
import tempfile
import threading
import time
import warnings
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, nullcontext
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from giantstep.answer import Answer
from giantstep.asking.questions import Grid
from giantstep.asking.studies import DEFAULT_STORE
from giantstep.asking.studies.cells import Block
from giantstep.asking.studies.dask_engine import DaskEngine
from giantstep.asking.studies.database import StudyWarning as StudyWarning
from giantstep.asking.studies.engines import Engine, InlineEngine, LocalEngine
from giantstep.asking.studies.kept import KeptStudy
from giantstep.asking.studies.leases import Leases
from giantstep.asking.studies.records import Counts, Survey
from giantstep.asking.studies.store import Store
from giantstep.asking.studies.study import SEEDS_TOGETHER, Study
from giantstep.asking.studies.versions import cell_versions, mixed_versions_note
from giantstep.asking.workers.backlog import (
    DONE,
    FAILED,
    NO_THEORY,
    Backlog,
    Job,
    Limits,
    Outcome,
    Task,
)
from giantstep.asking.workers.environment import usable_cores, worker_threads
from giantstep.errors import SettingsError, shown, whole_or_error

Result = tuple[Block, Outcome]
#: Called now and then with how far the study is, and whether it is stopping.
Watcher = Callable[[Counts, bool], None]


#: How often to look whether another runner has finished its blocks.
_PATIENCE_SECONDS = 0.3


class Interrupted(KeyboardInterrupt):
    """Ctrl-C: what was running is finished and written; the rest is for another time."""


def run_study_grid(
    grid: Grid,
    *,
    store: str | Path | None,
    name: str | None = None,
    progress: Callable[[float], None] | None = None,
    verbs: Sequence[str],
    seeds: int,
    seed: int,
    together: int = SEEDS_TOGETHER,
    **how: Any,
) -> Answer:
    """The answer to a grid of questions through a store; see :func:`run_study` for ``how``.

    ``name`` is that of the study in the store, unless told that of the file. Without a store
    nothing is kept. ``together`` is the number of seeds that one call of a learner computes.
    """

    def watch(counts: Counts, stopping: bool) -> None:
        if progress is not None:
            progress((counts.cells - counts.left) / max(counts.cells, 1))

    with tempfile.TemporaryDirectory() if store is None else nullcontext() as folder:
        path = Path(store) if store is not None else Path(str(folder)) / "answer.sqlite"
        study = Study.of(
            grid, name=name or path.stem, verbs=verbs, seeds=seeds, seed=seed, together=together
        )
        return run_study(study, store=path, watch=watch, grid=grid, **how)


def run_study(
    study: Study,
    *,
    store: str | Path | Store = DEFAULT_STORE,
    engine: str = "local",
    workers: int | None = None,
    threads: int = 1,
    scheduler: str | None = None,
    retry: bool = False,
    cell_seconds: float | None = None,
    watch: Watcher | None = None,
    grid: Grid | None = None,
) -> Answer:
    """Compute the cells that the store does not have, and with ``retry`` those that failed.

    ``engine`` is ``local`` (``workers`` processes on this machine, one for each core unless
    told), ``dask`` (the workers of ``scheduler``, or of a cluster of its own) or ``inline`` (this
    process). Each worker uses ``threads`` BLAS and XLA threads. Rows do not depend on any of this,
    but for the threads, on which their last bits depend: cells of other threads are other cells.
    A cell that takes longer than ``cell_seconds``, compilation included, is ended and has failed.
    Several runs may share a store: each cell is computed by one of them, and each run ends when
    all of its cells are there. ``grid`` is the study's own, if it is known already.
    """
    limit = _study_cell_limit(cell_seconds)
    machinery = _engine(engine, workers, threads, scheduler, limit)
    # Wrong settings are found here, before a file is made for them.
    grid = grid or study.grid()
    here = worker_threads() if engine == "inline" else threads
    blocks = [dataclasses.replace(block, threads=here) for block in study.blocks(grid)]
    with nullcontext(store) if isinstance(store, Store) else Store(store) as opened:
        opened.plan(study.name, study.to_json(), blocks)
        found = opened.mend(study.name)
        finished = found.finished(failed_too=not retry)
        missing = [block for block in blocks if not finished.issuperset(block.keys)]
        tally = Tally(found, watch, retry)
        tally.add([], False)
        if missing:
            _compute(missing, opened, machinery, tally, retry, limit)
        mixed = mixed_versions_note(tally.versions)
        if mixed is not None:
            warnings.warn(f"study {study.name!r}: {mixed}", StudyWarning, stacklevel=3)
        return KeptStudy(opened.path, study.name).answer(grid)


class Tally:
    """How far a study is, for whoever watches."""

    def __init__(self, found: Survey, watch: Watcher | None, retry: bool) -> None:
        self._counts = found.counts._replace(failed=0) if retry else found.counts
        self._watch = watch
        self.versions = found.versions.copy()

    def add(self, group: Sequence[Result], stopping: bool) -> None:
        """Count results that were written, and tell."""
        for block, outcome in group:
            if outcome.status == DONE:
                self.versions[cell_versions(outcome.about)] += len(block.keys)
        self.count((outcome.status for block, outcome in group for _ in block.keys), stopping)

    def count(self, statuses: Iterable[str], stopping: bool) -> None:
        """Count cells that are finished, and tell."""
        cells = Counter(statuses)
        self._counts = self._counts._replace(
            done=self._counts.done + cells[DONE],
            no_theory=self._counts.no_theory + cells[NO_THEORY],
            failed=self._counts.failed + cells[FAILED],
        )
        if self._watch is not None:
            self._watch(self._counts, stopping)


def _compute(
    missing: Sequence[Block],
    store: Store,
    engine: Engine,
    tally: Tally,
    retry: bool,
    cell_seconds: float,
) -> None:
    arrived: SimpleQueue[Result] = SimpleQueue()
    elsewhere: list[Block] = []
    backlog = Backlog(Limits(), engine.workers)

    def tell(told: list[tuple[Task, Any]] | None) -> None:
        for task, answer in told or ():
            if isinstance(answer, Outcome):
                arrived.put((task.what, answer))

    def admit(tasks: list[Task]) -> list[Task]:
        granted = set(leases.take([task.what for task in tasks]))
        elsewhere.extend(task.what for task in tasks if task.what not in granted)
        return [task for task in tasks if task.what in granted]

    def put(blocks: Iterable[Block]) -> None:
        # A worker stays with a shape, for which it has compiled programs.
        for shape, alike in itertools.groupby(sorted(blocks, key=_cell_shape), _cell_shape):
            tasks = (Task(block, cell_seconds * len(block.keys)) for block in alike)
            backlog.put(Job(shape, deque(tasks), tell, admit))

    def write(stopping: bool) -> None:
        group = [arrived.get() for _ in range(arrived.qsize())]
        if group:
            store.write(group)
        tally.add(group, stopping)

    with Leases(store, retry=retry) as leases, _gentle_study_interrupt(backlog) as asked:
        put(missing)
        while backlog.left and not asked():
            with closing(engine.run(backlog)) as pulses:
                for _ in pulses:
                    write(asked())
            write(asked())
            while elsewhere and not backlog.left and not asked():
                statuses, free, elsewhere[:] = leases.news(elsewhere)
                tally.count(statuses, asked())
                put(free)
                if elsewhere and not free:
                    time.sleep(_PATIENCE_SECONDS)
    if asked() and (left := backlog.left + len(elsewhere)):
        raise Interrupted(f"{left} blocks are left: run the study again to go on")


def _cell_shape(block: Block) -> str:
    return block.shape


@contextmanager
def _gentle_study_interrupt(backlog: Backlog) -> Iterator[Callable[[], bool]]:
    """The first Ctrl-C stops the backlog, the second the program; yields whether there was one."""
    asked = threading.Event()

    def ask(number: int, frame: Any) -> None:
        if asked.is_set():
            raise KeyboardInterrupt
        asked.set()
        backlog.stop()

    if threading.current_thread() is not threading.main_thread():
        yield asked.is_set
        return
    before = {number: signal.signal(number, ask) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield asked.is_set
    finally:
        for number, handler in before.items():
            signal.signal(number, handler or signal.SIG_DFL)


def _engine(
    name: str,
    workers: int | None,
    threads: int,
    scheduler: str | None,
    limit: float,
) -> Engine:
    for what, count in (("workers", workers), ("threads", threads)):
        if count is not None:
            whole_or_error(what, count, 1)
    if scheduler is not None and name != "dask":
        raise SettingsError(f"scheduler = {scheduler!r} goes with engine = 'dask', not {name!r}")
    if name == "local":
        return LocalEngine(workers or usable_cores(), threads)
    if name == "dask":
        return DaskEngine(workers or usable_cores(), threads, scheduler)
    if name == "inline":
        if math.isfinite(limit):
            raise SettingsError(
                "cell_seconds needs worker processes that can be ended: use engine = 'local'"
            )
        return InlineEngine()
    raise SettingsError(f"engine = {name!r} is unknown: use local, dask or inline")


def _study_cell_limit(cell_seconds: float | None) -> float:
    if cell_seconds is None:
        return math.inf
    if isinstance(cell_seconds, bool) or not isinstance(cell_seconds, int | float):
        raise SettingsError(f"cell_seconds = {shown(cell_seconds)} is not a number of seconds")
    if not 0 < cell_seconds < math.inf:
        raise SettingsError(f"cell_seconds = {shown(cell_seconds)}: give a number above 0")
    return float(cell_seconds)
