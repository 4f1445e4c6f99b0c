"""Jobs that wait for a worker, and who is next: the client that has had the least of late."""

from __future__ import annotations

import asyncio
import itertools
import threading
import time
from collections import deque
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from giantstep.lab.cache import key_of
from giantstep.lab.limits import Limits

_numbers = itertools.count()


class Task(NamedTuple):
    """One thing for a worker to do: a verb of ``work`` and its arguments.

    ``key`` is what its answer is kept under; without one it is not kept.
    """

    verb: str
    arguments: dict[str, Any]
    key: str = ""

    @classmethod
    def kept(cls, verb: str, arguments: dict[str, Any]) -> Task:
        """A task whose answer is the same whoever asks and whenever."""
        return cls(verb, arguments, key_of(verb, arguments))


class Outcome(NamedTuple):
    """What became of a task: ``kind`` is done, no-theory, refused or failed."""

    kind: str
    value: Any


class Progress(NamedTuple):
    """The share of a task that is done."""

    share: float


Answer = Outcome | Progress


class Busy(Exception):
    """There is no room for one job more; the message says whose fault that is."""


@dataclass(eq=False)
class Job:
    """Tasks of one client, answered in order to the event loop that asked."""

    client: str
    tasks: deque[Task]
    loop: asyncio.AbstractEventLoop
    answers: asyncio.Queue[list[Answer] | None] = field(default_factory=asyncio.Queue)
    number: int = field(default_factory=lambda: next(_numbers))
    cancelled_at: float | None = None
    worked_seconds: float = 0.0

    @classmethod
    def of(cls, client: str, tasks: Sequence[Task]) -> Job:
        """A job for the loop that runs now."""
        return cls(client, deque(tasks), asyncio.get_running_loop())

    def tell(self, answers: list[Answer] | None) -> None:
        """Hand answers to the loop, from any thread; None says that there are no more."""
        if not self.loop.is_closed():
            self.loop.call_soon_threadsafe(self.answers.put_nowait, answers)

    def cancel(self) -> None:
        """Nobody waits for it any more."""
        if self.cancelled_at is None:
            self.cancelled_at = time.monotonic()

    async def outcomes(self) -> AsyncGenerator[list[Answer], None]:
        """The answers as they come; a consumer that stops early cancels the job."""
        try:
            while (answers := await self.answers.get()) is not None:
                yield answers
        finally:
            self.cancel()


class Backlog:
    """Jobs that wait, served by turns between clients."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._changed = threading.Condition()
        self._waiting: list[Job] = []
        self._running: list[Job] = []
        #: When each client was last served, as a count of servings.
        self._served: dict[str, int] = {}
        self._turns = itertools.count(1)
        self._closed = False

    def put(self, job: Job) -> None:
        """Let a job wait for its turn, or raise :class:`Busy`."""
        with self._changed:
            present = [other for other in self._all() if other.cancelled_at is None]
            if len(present) >= self._limits.jobs:
                raise Busy(f"the lab is busy with {len(present)} jobs: try again in a minute")
            if sum(other.client == job.client for other in present) >= self._limits.jobs_of_client:
                raise Busy(
                    f"this page has {self._limits.jobs_of_client} jobs already: wait, or stop one"
                )
            self._waiting.append(job)
            self._changed.notify()

    def take(self) -> Job | None:
        """The job whose turn it is, as soon as there is one; None when the lab closes."""
        with self._changed:
            while not self._closed:
                for job in [job for job in self._waiting if job.cancelled_at is not None]:
                    self._waiting.remove(job)
                    job.tell(None)
                if self._waiting:
                    chosen = min(self._waiting, key=self._rank)
                    self._waiting.remove(chosen)
                    self._running.append(chosen)
                    self._served[chosen.client] = next(self._turns)
                    return chosen
                self._served = {job.client: self._served[job.client] for job in self._running}
                self._changed.wait()
            return None

    def release(self, job: Job) -> None:
        """Its turn is over: it waits again if it has tasks left, and else it has ended."""
        with self._changed:
            self._running.remove(job)
            if job.tasks and job.cancelled_at is None:
                self._waiting.append(job)
                self._changed.notify()
                return
        job.tell(None)

    def others_wait(self) -> bool:
        """Whether somebody waits for a worker."""
        return bool(self._waiting)

    def close(self) -> None:
        """Nobody is served any more."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def counts(self) -> dict[str, int]:
        """How many jobs wait and run."""
        return {"waiting": len(self._waiting), "running": len(self._running)}

    def _all(self) -> list[Job]:
        return [*self._waiting, *self._running]

    def _rank(self, job: Job) -> tuple[int, int, int]:
        running = sum(other.client == job.client for other in self._running)
        return running, self._served.get(job.client, 0), job.number
