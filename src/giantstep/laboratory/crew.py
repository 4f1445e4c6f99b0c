"""The workers of the lab: what a page asks for, from the cache or from a process."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Sequence
from typing import Any, NamedTuple

from giantstep.asking.workers.backlog import FAILED, Answer, Backlog, Job, Outcome, Task
from giantstep.asking.workers.pool import Pool
from giantstep.laboratory.cache import Cache, lab_cache_key
from giantstep.laboratory.limits import LabLimits
from giantstep.laboratory.work import do_for_lab

#: Places of questions with their answers.
Placed = list[tuple[int, Answer]]


class LabTask(NamedTuple):
    """A verb of ``work`` and its arguments, and whether the answer is the same for everybody."""

    verb: str
    arguments: dict[str, Any]
    kept: bool = True


class Label(NamedTuple):
    """Where an answer belongs, and the key that it is kept under, if it is."""

    place: int
    key: str


class Crew:
    """So many workers of one kind; ``ahead`` is what each does while nobody waits."""

    def __init__(
        self, workers: int, limits: LabLimits, cache: Cache, ahead: Sequence[LabTask] = ()
    ) -> None:
        self.limits, self.cache = limits, cache
        self.backlog = Backlog(limits.work, workers)
        tasks = [self._task(0, wanted) for wanted in ahead]
        self.pool = Pool(
            f"{do_for_lab.__module__}:{do_for_lab.__name__}", workers, self.backlog, ahead=tasks
        )

    async def ask(self, client: str, wanted: Sequence[LabTask]) -> AsyncGenerator[Placed, None]:
        """The answers with their places, as they come: known ones first; a failure ends them."""
        loop, answers = asyncio.get_running_loop(), asyncio.Queue[Placed | None]()

        def tell(told: list[tuple[Task, Answer]] | None) -> None:
            for task, answer in told or ():
                if task.label.key and isinstance(answer, Outcome) and answer.status != FAILED:
                    self.cache.put(task.label.key, answer)
            placed: Any = told and [(task.label.place, answer) for task, answer in told]
            if not loop.is_closed():
                loop.call_soon_threadsafe(answers.put_nowait, placed)

        def unknown(tasks: list[Task]) -> list[Task]:
            found = [(task, self.cache.get(task.label.key)) for task in tasks]
            if known := [(task, answer) for task, answer in found if answer is not None]:
                tell(known)
            return [task for task, answer in found if answer is None]

        tasks = unknown([self._task(place, each) for place, each in enumerate(wanted)])
        job = Job(client, deque(tasks), tell, unknown)
        if tasks:
            self.backlog.put(job)
        else:
            tell(None)
        try:
            while (placed := await answers.get()) is not None:
                yield placed
                if any(isinstance(a, Outcome) and a.status == FAILED for _, a in placed):
                    return
        finally:
            job.cancel()

    def _task(self, place: int, wanted: LabTask) -> Task:
        what = wanted.verb, wanted.arguments
        key = lab_cache_key(*what) if wanted.kept else ""
        return Task(what, self.limits.seconds[wanted.verb], Label(place, key))
