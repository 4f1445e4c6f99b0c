"""The workers behind a backlog: each is a process, fed by a thread, replaced when it dies."""

from __future__ import annotations

import contextlib
import itertools
import threading
import time
from collections.abc import AsyncGenerator, Sequence

from giantstep.lab import worker
from giantstep.lab.cache import Cache
from giantstep.lab.jobs import Answer, Backlog, Job, Outcome, Progress, Task
from giantstep.lab.limits import Limits
from giantstep.studies.worker_process import Worker, WorkerDied

#: How often the watch looks for tasks that took too long and jobs that nobody waits for.
_PULSE_SECONDS = 0.1
#: Tasks that are sent at once; what a slice does not reach goes back.
_MOST_AT_ONCE = 256
#: A worker that cannot start will not start the next moment either.
_PAUSE_SECONDS = 1.0


class Crew:
    """So many workers of one kind; ``warm`` are tasks that each does while nobody waits."""

    def __init__(
        self, workers: int, limits: Limits, warm: Sequence[Task] = (), cache: Cache | None = None
    ) -> None:
        self.limits, self.warm, self.cache = limits, list(warm), cache or Cache()
        self.backlog = Backlog(limits)
        self.members = [Member(self) for _ in range(workers)]
        self._closed = threading.Event()

    def start(self) -> None:
        """Start the processes, without waiting for them."""
        for member in self.members:
            member.start()
        threading.Thread(target=self._watch, daemon=True).start()

    def close(self) -> None:
        """End every process."""
        self._closed.set()
        self.backlog.close()
        for member in self.members:
            member.end()

    async def ask(
        self, client: str, tasks: Sequence[Task]
    ) -> AsyncGenerator[list[tuple[int, Answer]], None]:
        """The outcome of each task with its place, as they come; a failure ends them."""
        job = Job.of(client, tasks)
        self.backlog.put(job)
        number = 0
        outcomes = job.outcomes()
        try:
            async for answers in outcomes:
                placed = []
                for answer in answers:
                    placed.append((number, answer))
                    number += not isinstance(answer, Progress)
                yield placed
        finally:
            await outcomes.aclose()

    def _watch(self) -> None:
        while not self._closed.wait(_PULSE_SECONDS):
            for member in self.members:
                member.end_what_is_overdue()


class Member(threading.Thread):
    """One worker process and the thread that feeds it."""

    def __init__(self, crew: Crew) -> None:
        super().__init__(daemon=True)
        self.crew = crew
        self.worker: Worker | None = None
        self.job: Job | None = None
        #: What is still to be compiled ahead.
        self.cold: list[Task] = []
        self._closed = False
        #: The verb that is worked on and since when; None between tasks.
        self.busy: tuple[str, float] | None = None
        self._overdue = ""

    def run(self) -> None:
        """Serve until the crew closes."""
        while not self._closed:
            try:
                self._start()
                while (job := self._next()) is not None:
                    self._serve(job)
            except WorkerDied:
                time.sleep(0.0 if self._closed else _PAUSE_SECONDS)
            finally:
                self._bury()

    def end(self) -> None:
        """End the process, whatever it does, and the thread."""
        self._closed = True
        while self.is_alive():
            if self.worker is not None:
                self.worker.kill()
            self.join(timeout=0.05)

    def end_what_is_overdue(self) -> None:
        """End the process if its task takes too long, or if nobody waits for the answer."""
        busy, job, process, now = self.busy, self.job, self.worker, time.monotonic()
        if busy is None or process is None:
            return
        limits, (verb, since) = self.crew.limits, busy
        left = job is not None and job.cancelled_at is not None
        if now - since > limits.seconds[verb]:
            self._overdue = f"stopped after {limits.seconds[verb]:g} seconds: take smaller sizes"
            process.kill()
        elif left and job is not None and now - (job.cancelled_at or now) > limits.grace_seconds:
            process.kill()

    def _start(self) -> None:
        self.worker = Worker(1, worker.__name__)
        self.cold = list(self.crew.warm)

    def _next(self) -> Job | None:
        """The next job, after whatever can be compiled ahead while nobody waits."""
        while self.worker is not None and self.cold and not self.crew.backlog.others_wait():
            self._slice(self.worker, [self.cold.pop(0)], None)
        return self.crew.backlog.take()

    def _serve(self, job: Job) -> None:
        """One slice of a job; a worker that dies takes the job with it, and nothing else."""
        self.job, begin = job, time.monotonic()
        try:
            if self.worker is None:
                self._start()
            assert self.worker is not None
            if tasks := self._unknown(job):
                self._slice(self.worker, tasks, job)
        except WorkerDied as death:
            job.tasks.clear()
            if not self._closed:
                job.tell([Outcome("failed", self._overdue or f"{death}; the next job runs")])
            self._overdue = ""
            self._bury()
        finally:
            job.worked_seconds += time.monotonic() - begin
            if job.worked_seconds > self.crew.limits.job_seconds and job.tasks:
                job.tasks.clear()
                limit = f"{self.crew.limits.job_seconds:g}"
                job.tell([Outcome("failed", f"stopped after {limit} seconds of work")])
            self.job = None
            self.crew.backlog.release(job)
        if self.worker is None and not self._closed:
            # The next job should find a worker that is ready.
            with contextlib.suppress(WorkerDied):
                self._start()

    def _slice(self, process: Worker, tasks: list[Task], job: Job | None) -> None:
        process.send([tasks, self.crew.limits.slice_seconds])
        waiting = iter(tasks)
        verb = next(waiting).verb
        self.busy = verb, time.monotonic()
        try:
            while (answers := process.receive()) is not None:
                for answer in answers:
                    if isinstance(answer, Outcome) and job is not None:
                        self._keep(job.tasks.popleft(), answer)
                    if isinstance(answer, Outcome):
                        self.busy = next(waiting, tasks[-1]).verb, time.monotonic()
                if job is not None:
                    job.tell(answers)
        finally:
            self.busy = None

    def _unknown(self, job: Job) -> list[Task]:
        """The next tasks of a job up to one that somebody else has had answered meanwhile."""
        known: list[Answer] = []
        while job.tasks and (answer := self._kept(job.tasks[0])) is not None:
            job.tasks.popleft()
            known.append(answer)
        if known:
            job.tell(known)
        ahead = itertools.islice(job.tasks, _MOST_AT_ONCE)
        return list(itertools.takewhile(lambda task: self._kept(task) is None, ahead))

    def _kept(self, task: Task) -> Outcome | None:
        return self.crew.cache.get(task.key) if task.key else None

    def _keep(self, task: Task, outcome: Outcome) -> None:
        if task.key and outcome.kind != "failed":
            self.crew.cache.put(task.key, outcome)

    def _bury(self) -> None:
        if self.worker is not None:
            self.worker.close()
        self.worker = None
