"""The Dask engine: blocks are computed on the machines of a Dask scheduler."""

from __future__ import annotations

import contextlib
import importlib.util
import threading
import time
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from giantstep.asking.studies.dask_cluster import check_dask_address, dask_client, own_dask_cluster
from giantstep.asking.studies.engines import COMPUTE, PULSE_SECONDS
from giantstep.asking.workers.backlog import FAILED, Backlog, Batch, Limits, Outcome, Task
from giantstep.asking.workers.pool import Pool
from giantstep.errors import GiantstepError

if TYPE_CHECKING:
    from distributed import Client, Future

_LONG_SECONDS = 1.0
#: Each thread of a Dask worker has a pool of one, found by the worker's name and the thread.
_pools: dict[tuple[str, int], Pool] = {}


def _compute_there(tasks: list[Task], threads: int) -> list[Outcome]:
    """What a Dask worker runs: it hands blocks to a process whose threads and time are its own."""
    from distributed import get_worker

    place = (get_worker().address, threading.get_ident())
    pool = _pools.get(place)
    if pool is None or pool.threads != threads:
        pool = _pools[place] = Pool(COMPUTE, 1, Backlog(Limits(), 1), threads)
        pool.start()
    return pool.outcomes(tasks)


def _close_pools(client: Client) -> None:
    """End the processes of the workers that are threads of this process."""
    for place in [place for place in _pools if place[0] in client.nthreads()]:
        _pools.pop(place).close()


@dataclass(frozen=True)
class DaskEngine:
    """Runs blocks on the workers of ``scheduler``, or on ``workers`` processes of its own."""

    workers: int
    threads: int = 1
    scheduler: str | None = None

    def __post_init__(self) -> None:
        if importlib.util.find_spec("distributed") is None:
            raise GiantstepError(
                "engine = 'dask' needs Dask: pip install '.[studies]' in giantstep's folder"
            )
        if self.scheduler is not None:
            check_dask_address(self.scheduler)

    def run(self, backlog: Backlog) -> Generator[None, None, None]:
        """Send and receive batches."""
        with contextlib.ExitStack() as stack:
            if self.scheduler is None:
                client = stack.enter_context(own_dask_cluster(self.workers))
                stack.callback(_close_pools, client)
            else:
                client = stack.enter_context(dask_client(self.scheduler))
            flights = Flights(client, self.threads, backlog)
            stack.callback(flights.abandon)
            stack.enter_context(_lost_worker_explained())
            while flights.launch():
                flights.land()
                yield


class Flights:
    """Batches that are on their way through the scheduler."""

    def __init__(self, client: Client, threads: int, backlog: Backlog) -> None:
        self._client, self._threads, self._backlog = client, threads, backlog
        self._batches: dict[Future[Any], tuple[Batch, float]] = {}
        self._latest_seconds = 0.0

    def launch(self) -> bool:
        """Send batches, one ahead of each worker, none where cells are long; whether any fly.

        Ctrl-C waits for what is in the air.
        """
        self._backlog.workers = sum(self._client.nthreads().values())
        ahead = 1 if self._latest_seconds > _LONG_SECONDS else 2
        while len(self._batches) < ahead * max(self._backlog.workers, 1):
            batch = self._backlog.take(wait=False)
            if batch is None:
                break
            future = self._client.submit(_compute_there, batch.tasks, self._threads, pure=False)
            self._batches[future] = batch, time.monotonic()
        return bool(self._batches)

    def land(self) -> None:
        """Tell the outcomes of the batches that are finished."""
        from distributed import wait

        with self._client.as_current(), contextlib.suppress(TimeoutError):
            wait(list(self._batches), timeout=PULSE_SECONDS, return_when="FIRST_COMPLETED")
        for future in [future for future in self._batches if future.done()]:
            batch, begin = self._batches.pop(future)
            outcomes = self._outcomes(future, batch)
            batch.job.tell(list(zip(batch.tasks, outcomes, strict=False)))
            self._latest_seconds = time.monotonic() - begin
            self._backlog.release(batch, batch.tasks[len(outcomes) :], self._latest_seconds)

    def abandon(self) -> None:
        """Forget what has not landed."""
        with contextlib.suppress(Exception):
            self._client.cancel(list(self._batches), force=True)

    def _outcomes(self, future: Future[Any], batch: Batch) -> list[Outcome]:
        """What came back; blocks that took their workers down together are sent again alone."""
        from distributed import CancelledError, KilledWorker
        from distributed.comm.core import CommClosedError

        try:
            return future.result()
        except (CancelledError, CommClosedError):
            raise
        except KilledWorker:
            batch.job.alone = True
            error = "every Dask worker that tried this cell died (out of memory?)"
            return [Outcome(FAILED, error=error)] if len(batch.tasks) == 1 else []
        except Exception as error:
            raise GiantstepError(
                f"a Dask worker cannot run giantstep ({type(error).__name__}: {error}): "
                f"install the same giantstep on every worker"
            ) from None


@contextlib.contextmanager
def _lost_worker_explained() -> Iterator[None]:
    from distributed import CancelledError

    try:
        yield
    except (CancelledError, OSError):
        raise GiantstepError(
            "the Dask scheduler is gone: every finished row is kept; "
            "run the same command again when there is one"
        ) from None
