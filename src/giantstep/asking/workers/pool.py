"""Workers behind a backlog: each is a process, fed by a thread, replaced when it dies."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Sequence
from typing import NamedTuple, Self

from giantstep.asking.workers.backlog import FAILED, Answer, Backlog, Job, Outcome, Task
from giantstep.asking.workers.process import Worker, WorkerDied
from giantstep.errors import GiantstepError
from giantstep.numerics.cost import machine_bytes, readable

#: How often the watch looks for tasks that take too much and jobs that nobody waits for.
_PULSE_SECONDS = 0.1
#: What all workers may hold together, as a share of the machine's memory.
_MOST_MEMORY = 0.9
#: A worker that ends by itself when it starts will do so again; one that is killed may not.
_MOST_FAILED_STARTS, _MOST_KILLED_STARTS = 3, 12


class Pool:
    """Worker processes with ``threads`` BLAS and XLA threads each; a context manager.

    ``does`` names the function ``module:name`` that does a task. ``ahead`` are tasks that each
    worker does while nobody waits. ``trouble`` says why no worker can be started, if none can.
    """

    def __init__(
        self,
        does: str,
        workers: int,
        backlog: Backlog,
        threads: int = 1,
        ahead: Sequence[Task] = (),
    ) -> None:
        self.does, self.threads, self.backlog, self.ahead = does, threads, backlog, list(ahead)
        self.trouble = ""
        self.members = [PoolWorker(self) for _ in range(workers)]
        self._closed = threading.Event()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def start(self) -> None:
        """Start the processes, without waiting for them."""
        self.backlog.open()
        for member in self.members:
            member.start()
        threading.Thread(target=self._watch, daemon=True).start()

    def close(self) -> None:
        """End every process, whatever it does."""
        self.trouble = self.trouble or "the pool of workers was closed"
        self._closed.set()
        self.backlog.close()
        for member in self.members:
            member.closed = True
        for member in self.members:
            member.end()

    def outcomes(self, tasks: Sequence[Task]) -> list[Outcome]:
        """Do these tasks and wait for all of them."""
        found: dict[Task, Outcome] = {}
        over = threading.Event()

        def tell(told: list[tuple[Task, Answer]] | None) -> None:
            if told is None:
                over.set()
            for task, answer in told or ():
                if isinstance(answer, Outcome):
                    found[task] = answer

        self.backlog.put(Job("", deque(tasks), tell))
        while not over.wait(_PULSE_SECONDS):
            if self.trouble:
                raise GiantstepError(self.trouble)
        return [found[task] for task in tasks]

    def _watch(self) -> None:
        while not self._closed.wait(_PULSE_SECONDS):
            limits, now = self.backlog.limits, time.monotonic()
            held = {member: member.resident_bytes() for member in self.members}
            most = max(held, key=lambda member: held[member])
            together = sum(held.values())
            for member, size in held.items():
                doing = member.doing
                if doing is None:
                    continue
                left = doing.job.cancelled_at
                if now - doing.since > doing.task.seconds:
                    member.stop(doing, f"stopped after {doing.task.seconds:g} seconds")
                elif size > limits.worker_bytes:
                    member.stop(doing, f"stopped at {readable(size)} of memory")
                elif member is most and together > _MOST_MEMORY * machine_bytes():
                    some = f"the workers held {readable(together)} together"
                    member.stop(doing, f"stopped at {readable(size)} of memory ({some})")
                elif left is not None and now - left > limits.grace_seconds:
                    member.stop(doing, "nobody waits for it")


class Doing(NamedTuple):
    """What a worker is at, and since when."""

    job: Job
    task: Task
    since: float


class PoolWorker(threading.Thread):
    """One worker process and the thread that feeds it."""

    def __init__(self, pool: Pool) -> None:
        super().__init__(daemon=True)
        self._pool, self._backlog = pool, pool.backlog
        self.worker: Worker | None = None
        self.doing: Doing | None = None
        self.closed = False
        #: What it still does while nobody waits.
        self.ahead: list[Task] = []
        self._failed_starts = 0
        #: The task for which the worker was ended, and why.
        self._stopped: tuple[Task, str] | None = None

    def run(self) -> None:
        """Serve until the pool closes."""
        previous = ""
        while not self.closed:
            if self.worker is None:
                self._start()
                continue
            if self.ahead and not self._backlog.left:
                self._serve(Job("", deque(), lambda _: None), [self.ahead.pop(0)])
                continue
            batch = self._backlog.take(previous)
            if batch is not None:
                begin, previous = time.monotonic(), batch.job.client
                left = self._serve(*batch)
                self._backlog.release(batch, left, time.monotonic() - begin)
        self._bury()

    def end(self) -> None:
        """End the process, whatever it does, and the thread."""
        while self.is_alive():
            if (worker := self.worker) is not None:
                worker.kill()
            self.join(timeout=0.05)

    def resident_bytes(self) -> int:
        """The memory of its process."""
        worker = self.worker
        return worker.resident_bytes() if worker is not None else 0

    def stop(self, doing: Doing, why: str) -> None:
        """End the process for the sake of its task."""
        worker = self.worker
        if worker is not None and self.doing is doing:
            self._stopped = doing.task, why
            worker.kill()

    def _start(self) -> None:
        try:
            self.worker = Worker(self._pool.does, self._pool.threads)
            self.ahead, self._failed_starts = list(self._pool.ahead), 0
        except WorkerDied as death:
            self._failed_starts += 1
            most = _MOST_KILLED_STARTS if death.killed else _MOST_FAILED_STARTS
            if self._failed_starts >= most:
                self._pool.trouble = f"no worker process can be started: {death}"
                time.sleep(1.0)

    def _serve(self, job: Job, tasks: list[Task]) -> list[Task]:
        """Do the tasks; returns those that were not begun."""
        left = deque(tasks)
        worker = self.worker
        assert worker is not None
        try:
            worker.send([task.what for task in tasks], self._backlog.limits.slice_seconds)
            self.doing = Doing(job, left[0], time.monotonic())
            while (answers := worker.receive()) is not None:
                told = []
                for answer in answers:
                    told.append((left[0], answer))
                    if isinstance(answer, Outcome):
                        left.popleft()
                        self.doing = Doing(job, left[0], time.monotonic()) if left else None
                job.tell(told)
        except WorkerDied as death:
            self._bury()
            if left and not self.closed:
                self._blame(job, left, death)
        self.doing = None
        return list(left)

    def _blame(self, job: Job, left: deque[Task], death: WorkerDied) -> None:
        """It answers in order, so only the first unanswered task can be to blame."""
        guilty = left.popleft()
        limits, stopped = self._backlog.limits, self._stopped
        if stopped is not None and stopped[0] is guilty:
            error = f"{stopped[1]}: {limits.remedy}"
        else:
            job.deaths[guilty] += 1
            if job.deaths[guilty] < limits.attempts:
                left.appendleft(guilty)
                return
            error = (
                f"{death}, {limits.attempts} times in a row" if limits.attempts > 1 else f"{death}"
            )
        job.tell([(guilty, Outcome(FAILED, error=error))])

    def _bury(self) -> None:
        if self.worker is not None:
            self.worker.close()
        self.worker = None
