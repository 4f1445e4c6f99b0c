"""Where the blocks of a study are computed: in this process, or in others on this machine."""

from __future__ import annotations

import time
from collections.abc import Generator
from dataclasses import dataclass
from typing import ClassVar, Protocol

from giantstep.asking.studies.work import compute_cells
from giantstep.asking.workers.backlog import Backlog
from giantstep.asking.workers.pool import Pool
from giantstep.errors import GiantstepError

#: What a worker process does with a block.
COMPUTE = f"{compute_cells.__module__}:{compute_cells.__name__}"
#: How often the coordinator looks up while nothing arrives.
PULSE_SECONDS = 0.2


class Engine(Protocol):
    """Computes the blocks of a backlog, somewhere."""

    @property
    def workers(self) -> int:
        """How many blocks it computes at a time."""

    def run(self, backlog: Backlog) -> Generator[None, None, None]:
        """Work the backlog off; yields whenever something may have arrived."""


@dataclass(frozen=True)
class InlineEngine:
    """No process to start and programs stay compiled: best for a few seconds of work."""

    workers: ClassVar[int] = 1

    def run(self, backlog: Backlog) -> Generator[None, None, None]:
        """One batch at a time."""
        previous = ""
        while (batch := backlog.take(previous, wait=False)) is not None:
            previous, begin = batch.job.client, time.monotonic()
            for task in batch.tasks:
                batch.job.tell([(task, compute_cells(task.what))])
                yield
            backlog.release(batch, [], time.monotonic() - begin)


@dataclass(frozen=True)
class LocalEngine:
    """Runs blocks on ``workers`` processes with ``threads`` BLAS and XLA threads each."""

    workers: int
    threads: int = 1

    def run(self, backlog: Backlog) -> Generator[None, None, None]:
        """Wait while the workers work."""
        with Pool(COMPUTE, min(self.workers, backlog.left), backlog, self.threads) as pool:
            while backlog.wait(PULSE_SECONDS):
                if pool.trouble:
                    raise GiantstepError(pool.trouble)
                yield
