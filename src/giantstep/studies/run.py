"""Running a study: what is missing is computed, and written as it arrives."""

from __future__ import annotations

import math
import os
import signal
import threading
import time
import warnings
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, nullcontext
from pathlib import Path
from typing import Any, Protocol

from giantstep.errors import SettingsError, shown
from giantstep.studies import DEFAULT_STORE
from giantstep.studies.backlog import Backlog
from giantstep.studies.cells import Block
from giantstep.studies.claims import Claims
from giantstep.studies.dask_engine import DaskEngine
from giantstep.studies.inline import InlineEngine
from giantstep.studies.local import LocalEngine
from giantstep.studies.outcomes import DONE, FAILED, NO_THEORY, Outcome
from giantstep.studies.records import Counts, Survey
from giantstep.studies.results import Results
from giantstep.studies.store import Store
from giantstep.studies.study import Study
from giantstep.studies.versions import mixture, versions_text

Result = tuple[Block, Outcome]
#: Called now and then with how far the study is, and whether it is stopping.
Watcher = Callable[[Counts, bool], None]


#: How often to look whether another runner has finished its blocks.
_PATIENCE_SECONDS = 0.3


class Engine(Protocol):
    """Computes the blocks of a backlog, somewhere."""

    @property
    def workers(self) -> int:
        """How many blocks it computes at a time."""

    def run(self, backlog: Backlog) -> Generator[list[Result], None, None]:
        """Results in groups, as they arrive."""


class StudyWarning(UserWarning):
    """Something about a study that is no error, and that its owner should know."""


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
    cell_seconds: float | None = None,
    watch: Watcher | None = None,
) -> Results:
    """Compute the cells that the store does not have; ``retry`` those too that failed.

    ``engine`` is ``local`` (``workers`` processes on this machine, one for each core unless
    told), ``dask`` (the workers of ``scheduler``, or of a cluster of its own) or ``inline`` (this
    process). Each worker uses ``threads`` BLAS and XLA threads. Rows do not depend on any of this.
    A cell that takes longer than ``cell_seconds``, compilation included, is ended and has failed.
    Several runs may share a store: each cell is computed by one of them, and each run ends when
    all of its cells are there.
    """
    machinery = _engine(engine, workers, threads, scheduler, cell_seconds)
    # Wrong settings are found here, before a file is made for them.
    blocks = study.blocks()
    with nullcontext(store) if isinstance(store, Store) else Store(store) as opened:
        opened.plan(study.name, study.to_json(), blocks)
        found = opened.mend(study.name)
        finished = found.finished(failed_too=not retry)
        missing = [block for block in blocks if not finished.issuperset(block.keys)]
        tally = Tally(found, watch, retry)
        _compute(missing, opened, machinery, tally, retry)
        mixed = mixture(tally.versions)
        if mixed is not None:
            warnings.warn(f"study {study.name!r}: {mixed}", StudyWarning, stacklevel=3)
        return Results(opened.path, study.name)


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
                self.versions[versions_text(outcome.about)] += len(block.keys)
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
    missing: Sequence[Block], store: Store, engine: Engine, tally: Tally, retry: bool
) -> None:
    tally.add([], False)
    if not missing:
        return
    with Claims(store, retry=retry) as claims:
        backlog = Backlog(missing, engine.workers, claims.take)
        with _gentle_interrupt(backlog) as asked:
            while backlog.left and not asked():
                with closing(engine.run(backlog)) as groups:
                    for group in groups:
                        if group:
                            store.write(group)
                        tally.add(group, asked())
                _wait_for_others(backlog, claims, tally, asked)
    left = backlog.left + len(backlog.elsewhere)
    if asked() and left:
        raise Interrupted(f"{left} blocks are left: run the study again to go on")


def _wait_for_others(
    backlog: Backlog, claims: Claims, tally: Tally, asked: Callable[[], bool]
) -> None:
    """Wait until another runner has finished its blocks, or has given some of them up."""
    while backlog.elsewhere and not backlog.left and not asked():
        statuses, free, backlog.elsewhere = claims.news(backlog.elsewhere)
        backlog.readmit(free)
        tally.count(statuses, asked())
        if backlog.elsewhere and not free:
            time.sleep(_PATIENCE_SECONDS)


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


def _engine(
    name: str,
    workers: int | None,
    threads: int,
    scheduler: str | None,
    cell_seconds: float | None,
) -> Engine:
    for what, count in (("workers", workers), ("threads", threads)):
        if count is not None and (isinstance(count, bool) or int(count) != count or count < 1):
            raise SettingsError(f"{what} = {count!r}: give a whole number of at least 1")
    if scheduler is not None and name != "dask":
        raise SettingsError(f"scheduler = {scheduler!r} goes with engine = 'dask', not {name!r}")
    limit = _limit(cell_seconds)
    if name == "local":
        return LocalEngine(workers or _cores(), threads, limit)
    if name == "dask":
        return DaskEngine(workers or _cores(), threads, scheduler, limit)
    if name == "inline":
        if math.isfinite(limit):
            raise SettingsError(
                "cell_seconds needs worker processes that can be ended: use engine = 'local'"
            )
        return InlineEngine()
    raise SettingsError(f"engine = {name!r} is unknown: use local, dask or inline")


def _limit(cell_seconds: float | None) -> float:
    if cell_seconds is None:
        return math.inf
    if isinstance(cell_seconds, bool) or not isinstance(cell_seconds, int | float):
        raise SettingsError(f"cell_seconds = {shown(cell_seconds)} is not a number of seconds")
    if not 0 < cell_seconds < math.inf:
        raise SettingsError(f"cell_seconds = {shown(cell_seconds)}: give a number above 0")
    return float(cell_seconds)


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
