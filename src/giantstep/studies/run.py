"""Running a study: what is missing is computed, and written as it arrives."""

from __future__ import annotations

import os
import signal
import threading
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing, contextmanager, nullcontext
from pathlib import Path
from typing import Any, Protocol

from giantstep.errors import SettingsError
from giantstep.studies import DEFAULT_STORE
from giantstep.studies.backlog import Backlog
from giantstep.studies.cells import Block
from giantstep.studies.dask_engine import DaskEngine
from giantstep.studies.inline import InlineEngine
from giantstep.studies.local import LocalEngine
from giantstep.studies.outcomes import DONE, FAILED, NO_THEORY, Outcome
from giantstep.studies.records import Counts
from giantstep.studies.results import Results
from giantstep.studies.store import Store
from giantstep.studies.study import Study

Result = tuple[Block, Outcome]
#: Called now and then with how far the study is, and whether it is stopping.
Watcher = Callable[[Counts, bool], None]


class Engine(Protocol):
    """Computes the blocks of a backlog, somewhere."""

    @property
    def workers(self) -> int:
        """How many blocks it computes at a time."""

    def run(self, backlog: Backlog) -> Generator[list[Result], None, None]:
        """Results in groups, as they arrive."""


class Interrupted(KeyboardInterrupt):
    """Ctrl-C: what was running is finished and written; the rest is for another time."""


def run(
    study: Study,
    *,
    store: str | Path | Store = DEFAULT_STORE,
    engine: str = "local",
    workers: int | None = None,
    threads: int = 1,
    scheduler: str | None = None,
    retry: bool = False,
    watch: Watcher | None = None,
) -> Results:
    """Compute the cells that the store does not have; ``retry`` those too that failed.

    ``engine`` is ``local`` (``workers`` processes on this machine, one for each core unless
    told), ``dask`` (the workers of ``scheduler``, or of a cluster of its own) or ``inline`` (this
    process). Each worker uses ``threads`` BLAS and XLA threads. Rows do not depend on any of this.
    """
    machinery = _engine(engine, workers, threads, scheduler)
    # Wrong settings are found here, before a file is made for them.
    blocks = study.blocks()
    with nullcontext(store) if isinstance(store, Store) else Store(store) as opened:
        opened.plan(study.name, study.to_json(), blocks)
        found = opened.mend(study.name)
        finished = found.finished(failed_too=not retry)
        missing = [block for block in blocks if not finished.issuperset(block.keys)]
        tally = found.counts._replace(failed=0) if retry else found.counts
        _compute(missing, opened, machinery, Tally(tally, watch))
        return Results(opened.path, study.name)


class Tally:
    """How far a study is, for whoever watches."""

    def __init__(self, counts: Counts, watch: Watcher | None) -> None:
        self._counts, self._watch = counts, watch

    def add(self, group: Sequence[Result], stopping: bool) -> None:
        """Count results that were written, and tell."""
        cells = Counter(outcome.status for block, outcome in group for _ in block.keys)
        self._counts = self._counts._replace(
            done=self._counts.done + cells[DONE],
            no_theory=self._counts.no_theory + cells[NO_THEORY],
            failed=self._counts.failed + cells[FAILED],
        )
        if self._watch is not None:
            self._watch(self._counts, stopping)


def _compute(missing: Sequence[Block], store: Store, engine: Engine, tally: Tally) -> None:
    tally.add([], False)
    if not missing:
        return
    backlog = Backlog(missing, engine.workers)
    with _gentle_interrupt(backlog) as asked, closing(engine.run(backlog)) as groups:
        for group in groups:
            if group:
                store.write(group)
            tally.add(group, asked())
    if asked() and backlog.left:
        raise Interrupted(f"{backlog.left} blocks are left: run the study again to go on")


@contextmanager
def _gentle_interrupt(backlog: Backlog) -> Iterator[Callable[[], bool]]:
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


def _engine(name: str, workers: int | None, threads: int, scheduler: str | None) -> Engine:
    for what, count in (("workers", workers), ("threads", threads)):
        if count is not None and (isinstance(count, bool) or int(count) != count or count < 1):
            raise SettingsError(f"{what} = {count!r}: give a whole number of at least 1")
    if scheduler is not None and name != "dask":
        raise SettingsError(f"scheduler = {scheduler!r} goes with engine = 'dask', not {name!r}")
    if name == "local":
        return LocalEngine(workers or _cores(), threads)
    if name == "dask":
        return DaskEngine(workers or _cores(), threads, scheduler)
    if name == "inline":
        return InlineEngine()
    raise SettingsError(f"engine = {name!r} is unknown: use local, dask or inline")


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
