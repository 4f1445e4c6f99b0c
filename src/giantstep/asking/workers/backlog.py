"""What waits for a worker, and what is next: the client that has had the least of late.

None of this changes a result: a task is done in one call, whoever takes it.
"""

from __future__ import annotations

import itertools
import math
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

#: `no-theory` is an answer, not a failure; `refused` is a question that cannot be asked so.
DONE, NO_THEORY, REFUSED, FAILED = "done", "no-theory", "refused", "failed"
#: Tasks that are handed out together at most.
MOST_TOGETHER = 64


@dataclass(frozen=True)
class Outcome:
    """What became of a task: its value if it is done, and else an error that says why not."""

    status: str
    value: Any = None
    error: str | None = None
    seconds: float = math.nan
    about: Mapping[str, Any] = field(default_factory=dict)


class Progress(NamedTuple):
    """The share of a task that is done."""

    share: float


Answer = Outcome | Progress


@dataclass(frozen=True, eq=False)
class Task:
    """One thing to do within ``seconds``; ``label`` is for the client that asked."""

    what: Any
    seconds: float = math.inf
    label: Any = None


@dataclass(eq=False)
class Job:
    """Tasks of one client that are alike: one that was quick promises that the next will be.

    ``tell`` gets answers with their tasks, from any thread, and None when there are no more.
    ``admit`` returns those of some tasks that are still to be done, just before they are.
    """

    client: str
    tasks: deque[Task]
    tell: Callable[[list[tuple[Task, Answer]] | None], None]
    admit: Callable[[list[Task]], list[Task]] = lambda tasks: tasks
    cancelled_at: float | None = None
    #: Batches of it that are being worked on.
    running: int = 0
    #: What a task takes, once that is known; the slow first one, which compiles, fades.
    task_seconds: float = math.inf
    worked_seconds: float = 0.0
    #: Its tasks have taken a worker down together: from now on each goes by itself.
    alone: bool = False
    #: How often each task has taken its worker down.
    deaths: Counter[Task] = field(default_factory=Counter)

    def cancel(self) -> None:
        """Nobody waits for it any more."""
        if self.cancelled_at is None:
            self.cancelled_at = time.monotonic()


class Batch(NamedTuple):
    """Tasks of one job that go to a worker together."""

    job: Job
    tasks: list[Task]


class Busy(Exception):
    """There is no room for another job; the message says whose fault that is."""


@dataclass(frozen=True)
class Limits:
    """What tasks, jobs and clients may take; the defaults are those of studies.

    ``slice_seconds`` is how long a worker stays with a job before it asks who is next, and
    ``stays`` whether it then prefers the same client, for whom it has compiled programs.
    ``job_seconds`` bounds the work of a job, ``grace_seconds`` what goes on when nobody waits for
    it any more. A task that takes its worker down is tried ``attempts`` times. ``worker_bytes`` is
    what a worker may hold, and ``remedy`` what to do about a task that was ended.
    """

    slice_seconds: float = 0.2
    stays: bool = True
    jobs: float = math.inf
    jobs_of_client: float = math.inf
    job_seconds: float = math.inf
    grace_seconds: float = math.inf
    attempts: int = 3
    worker_bytes: float = math.inf
    remedy: str = "take smaller sizes, or give it more --cell-seconds"


class Backlog:
    """Jobs that wait or run, served by turns between clients."""

    def __init__(self, limits: Limits, workers: int) -> None:
        self.limits, self.workers = limits, workers
        self._changed = threading.Condition(threading.RLock())
        self._jobs: list[Job] = []
        #: When each client was last served, as a count of servings.
        self._served: dict[str, int] = {}
        self._turns = itertools.count(1)
        self._stopped = self._closed = False

    def put(self, job: Job) -> None:
        """Let a job wait for its turn, or raise :class:`Busy`."""
        with self._changed:
            present = [other for other in self._jobs if other.cancelled_at is None]
            if len(present) >= self.limits.jobs:
                raise Busy(f"the lab is busy with {len(present)} jobs: try again in a minute")
            if sum(other.client == job.client for other in present) >= self.limits.jobs_of_client:
                raise Busy(
                    f"this page has {self.limits.jobs_of_client} jobs already: wait, or stop one"
                )
            self._jobs.append(job)
            self._changed.notify_all()

    def take(self, previous: str = "", *, wait: bool = True) -> Batch | None:
        """The next tasks for a worker that last served ``previous``; None if it may rest."""
        with self._changed:
            while not self._closed:
                for job in list(self._jobs):
                    self._end_if_over(job)
                if waiting := [] if self._stopped else [job for job in self._jobs if job.tasks]:
                    job = min(waiting, key=self._rank(previous))
                    tasks = [job.tasks.popleft() for _ in range(self._worth(job))]
                    if tasks := job.admit(tasks):
                        job.running += 1
                        self._served[job.client] = next(self._turns)
                        return Batch(job, tasks)
                    continue
                self._served = {job.client: self._served[job.client] for job in self._running()}
                if not wait:
                    break
                self._changed.wait()
            return None

    def release(self, batch: Batch, left: Iterable[Task], seconds: float) -> None:
        """A batch that was taken is over, in that time; what is left was not begun."""
        job, left = batch.job, list(left)
        with self._changed:
            job.running -= 1
            job.worked_seconds += seconds
            job.tasks.extendleft(reversed(left))
            if done := len(batch.tasks) - len(left):
                before = min(job.task_seconds, 2 * seconds / done)
                job.task_seconds = min(seconds / done, 0.5 * (before + seconds / done))
            if job.worked_seconds > self.limits.job_seconds and job.tasks:
                error = f"stopped after {self.limits.job_seconds:g} seconds of work"
                job.tell([(job.tasks[0], Outcome(FAILED, error=error))])
                job.tasks.clear()
            self._end_if_over(job)
            self._changed.notify_all()

    def wait(self, seconds: float) -> bool:
        """Wait a moment for something to be over; whether anything is going on or waits for it."""
        with self._changed:
            if self._running() or (self.left and not self._stopped):
                self._changed.wait(seconds)
            return bool(self._running() or (self.left and not self._stopped))

    @property
    def left(self) -> int:
        """How many tasks nobody has taken."""
        return sum(len(job.tasks) for job in self._jobs)

    def stop(self) -> None:
        """Hand out nothing more."""
        self._stopped = True

    def open(self) -> None:
        """Let workers wait in :meth:`take`."""
        self._closed = False

    def close(self) -> None:
        """Send them home."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def counts(self) -> dict[str, int]:
        """How many jobs wait and run."""
        running = len(self._running())
        return {"waiting": len(self._jobs) - running, "running": running}

    def _running(self) -> Sequence[Job]:
        return [job for job in self._jobs if job.running]

    def _end_if_over(self, job: Job) -> None:
        if job.cancelled_at is not None:
            job.tasks.clear()
        if not job.tasks and not job.running and job in self._jobs:
            self._jobs.remove(job)
            job.tell(None)

    def _rank(self, previous: str) -> Callable[[Job], tuple[bool, int, int]]:
        """First the client that a worker stays with, then those who have the least."""
        running = Counter[str]()
        for job in self._running():
            running[job.client] += job.running
        favoured = previous if self.limits.stays else None
        return lambda job: (
            job.client != favoured,
            running[job.client],
            self._served.get(job.client, 0),
        )

    def _worth(self, job: Job) -> int:
        """How many tasks to hand out: towards the end fewer, to keep every worker busy."""
        quick = 0.0 if job.alone else self.limits.slice_seconds / max(job.task_seconds, 1e-6)
        fair = len(job.tasks) // (2 * max(self.workers, 1))
        return max(1, min(int(min(quick, MOST_TOGETHER)), fair))
