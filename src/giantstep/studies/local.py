"""The local engine: worker processes on this machine, each watched by a thread."""

from __future__ import annotations

import contextlib
import math
import queue
import threading
import time
from collections.abc import Generator, Iterator
from dataclasses import dataclass

from giantstep.errors import GiantstepError
from giantstep.studies.backlog import MOST_ATTEMPTS, Backlog
from giantstep.studies.cells import Block
from giantstep.studies.outcomes import FAILED, Outcome, overdue
from giantstep.studies.worker_process import Worker, WorkerDied

Result = tuple[Block, Outcome]

#: How often the coordinator looks up while nothing arrives.
_PULSE_SECONDS = 0.2
#: A worker that ends by itself when it starts will do so again; one that is killed may not.
_MOST_FAILED_STARTS, _MOST_KILLED_STARTS = 3, 12


@dataclass(frozen=True)
class LocalEngine:
    """Runs blocks on ``workers`` processes with ``threads`` BLAS and XLA threads each.

    A worker that takes longer than ``cell_seconds`` for each cell of a block is ended.
    """

    workers: int
    threads: int = 1
    cell_seconds: float = math.inf

    def run(self, backlog: Backlog) -> Generator[list[Result], None, None]:
        """Results in groups, as they arrive; an empty group now and then while none does."""
        arrived: queue.SimpleQueue[Result | Exception | None] = queue.SimpleQueue()
        crew = [Watch(self, backlog, arrived) for _ in range(self.workers)]
        try:
            for watch in crew:
                watch.start()
            resting = 0
            while resting < len(crew):
                group = []
                for item in _waiting_items(arrived):
                    if isinstance(item, Exception):
                        raise item
                    if item is None:
                        resting += 1
                    else:
                        group.append(item)
                for watch in crew:
                    watch.end_if_overdue()
                yield group
        finally:
            for watch in crew:
                watch.abandoned = True
            for watch in crew:
                watch.abandon()


class Watch(threading.Thread):
    """Feeds one worker, and starts another when it dies."""

    def __init__(self, engine: LocalEngine, backlog: Backlog, arrived: queue.SimpleQueue) -> None:
        super().__init__(daemon=True)
        self.engine, self.backlog, self.arrived = engine, backlog, arrived
        self.worker: Worker | None = None
        self.abandoned = False
        #: The block that is being computed, and until when it may be.
        self._running: tuple[Block, float] | None = None
        self._ended: Block | None = None

    def run(self) -> None:
        """Serve until the backlog is empty; then say so with None."""
        try:
            previous = None
            while not self.abandoned and (batch := self.backlog.take(previous)):
                previous = batch[0].shape
                self._serve(batch)
                self.backlog.release(batch)
        except Exception as error:
            self.arrived.put(error)
        finally:
            self._bury()
            self.arrived.put(None)

    def abandon(self) -> None:
        """Stop at once; what is being computed is lost."""
        while self.is_alive():
            if self.worker is not None:
                self.worker.kill()
            self.join(timeout=0.05)

    def end_if_overdue(self) -> None:
        """End the worker if its block has taken too long."""
        running, worker = self._running, self.worker
        if running is not None and worker is not None and time.monotonic() > running[1]:
            self._ended = running[0]
            worker.kill()

    def _serve(self, batch: list[Block]) -> None:
        waiting = list(batch)
        try:
            self.worker = self.worker or self._start()
            self.worker.send(batch)
            for block in batch:
                limit = self.engine.cell_seconds * len(block.keys)
                self._running = block, time.monotonic() + limit
                outcome = self.worker.receive()
                self._running = None
                waiting.pop(0)
                self.backlog.time(block, outcome.seconds * len(block.keys))
                self.arrived.put((block, outcome))
        except WorkerDied as death:
            # It answers in order, so only the first unanswered block can be to blame.
            self._running = None
            self._bury()
            guilty, *innocent = waiting
            self.backlog.put_back(innocent)
            if guilty is self._ended:
                error = overdue(self.engine.cell_seconds, len(guilty.keys))
                self.arrived.put((guilty, Outcome(guilty.keys, FAILED, error)))
            elif not self.backlog.may_retry(guilty) and not self.abandoned:
                error = f"{death}, {MOST_ATTEMPTS} times in a row; see whether the cell fits memory"
                self.arrived.put((guilty, Outcome(guilty.keys, FAILED, error)))

    def _bury(self) -> None:
        if self.worker is not None:
            self.worker.close()
        self.worker = None

    def _start(self, failed: int = 0) -> Worker:
        try:
            return Worker(self.engine.threads)
        except WorkerDied as death:
            most = _MOST_KILLED_STARTS if death.killed else _MOST_FAILED_STARTS
            if failed + 1 >= most or self.abandoned:
                raise GiantstepError(f"no worker process can be started: {death}") from None
            return self._start(failed + 1)


def _waiting_items(arrived: queue.SimpleQueue) -> Iterator[Result | Exception | None]:
    """What has arrived; waits a moment for the first."""
    with contextlib.suppress(queue.Empty):
        yield arrived.get(timeout=_PULSE_SECONDS)
        while True:
            yield arrived.get_nowait()
