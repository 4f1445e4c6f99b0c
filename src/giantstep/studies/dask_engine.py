"""The Dask engine: blocks are computed by the workers of a Dask scheduler."""

from __future__ import annotations

import contextlib
import importlib.util
import math
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from giantstep.errors import GiantstepError
from giantstep.studies.backlog import Backlog
from giantstep.studies.cells import Block
from giantstep.studies.dask_cluster import check_address, connected, own_cluster
from giantstep.studies.environment import limit_threads_here
from giantstep.studies.outcomes import FAILED, Outcome

if TYPE_CHECKING:
    from distributed import Client, Future

Result = tuple[Block, Outcome]

#: How often the coordinator looks up while nothing arrives.
_PULSE_SECONDS = 0.2
_LONG_SECONDS = 1.0


def compute_there(
    blocks: Sequence[Block], threads: int, cell_seconds: float = math.inf
) -> list[Outcome]:
    """What a Dask worker runs: the outcomes of several blocks."""
    limit_threads_here(threads)
    if math.isfinite(cell_seconds):
        from giantstep.studies.timed import compute_within

        return [compute_within(block, cell_seconds, threads) for block in blocks]
    from giantstep.studies.work import compute

    return [compute(block) for block in blocks]


@dataclass(frozen=True)
class DaskEngine:
    """Runs blocks on the workers of ``scheduler``, or on ``workers`` processes of its own."""

    workers: int
    threads: int = 1
    scheduler: str | None = None
    cell_seconds: float = math.inf

    def __post_init__(self) -> None:
        if importlib.util.find_spec("distributed") is None:
            raise GiantstepError(
                "engine = 'dask' needs Dask: install it with pip install 'giantstep[studies]'"
            )
        if self.scheduler is not None:
            check_address(self.scheduler)

    def run(self, backlog: Backlog) -> Generator[list[Result], None, None]:
        """Results in groups, as they arrive; an empty group now and then while none does."""
        with contextlib.ExitStack() as stack:
            if self.scheduler is None:
                client = stack.enter_context(own_cluster(self.workers, self.threads))
            else:
                client = stack.enter_context(connected(self.scheduler))
            flights = Flights(client, self.threads, self.cell_seconds)
            stack.callback(flights.abandon)
            stack.enter_context(_loss_explained())
            while True:
                backlog.workers = sum(client.nthreads().values())
                while flights.room(backlog.workers) and (batch := backlog.take()):
                    flights.launch(batch)
                if not flights:
                    break
                yield flights.landed(backlog)


class Flights:
    """Batches that are on their way through the scheduler."""

    def __init__(self, client: Client, threads: int, cell_seconds: float) -> None:
        self._client, self._how = client, (threads, cell_seconds)
        self._batches: dict[Future, list[Block]] = {}
        self._latest_seconds = 0.0

    def __len__(self) -> int:
        return len(self._batches)

    def room(self, workers: int) -> bool:
        """Whether to send more: one batch ahead of each worker, none where cells are long.

        Ctrl-C waits for what is in the air.
        """
        ahead = 1 if self._latest_seconds > _LONG_SECONDS else 2
        return len(self) < ahead * max(workers, 1)

    def launch(self, batch: list[Block]) -> None:
        """Send a batch."""
        future = self._client.submit(compute_there, batch, *self._how, pure=False)
        self._batches[future] = batch

    def landed(self, backlog: Backlog) -> list[Result]:
        """The results of the batches that are finished."""
        results: list[Result] = []
        for future in self._finished():
            batch = self._batches.pop(future)
            backlog.release(batch)
            outcomes = self._outcomes(future, batch)
            for block, outcome in zip(batch, outcomes, strict=bool(outcomes)):
                self._latest_seconds = outcome.seconds * len(block.keys)
                backlog.time(block, self._latest_seconds)
                results.append((block, outcome))
        return results

    def abandon(self) -> None:
        """Forget what has not landed."""
        with contextlib.suppress(Exception):
            self._client.cancel(list(self._batches), force=True)

    def _finished(self) -> list[Future]:
        from distributed import wait

        with self._client.as_current(), contextlib.suppress(TimeoutError):
            wait(list(self._batches), timeout=_PULSE_SECONDS, return_when="FIRST_COMPLETED")
        return [future for future in self._batches if future.done()]

    def _outcomes(self, future: Future, batch: list[Block]) -> list[Outcome]:
        """What came back; blocks that took their workers down together are sent again alone."""
        from distributed import CancelledError, KilledWorker

        try:
            return future.result()
        except CancelledError:
            raise
        except KilledWorker:
            if len(batch) > 1:
                for block in batch:
                    self.launch([block])
                return []
            error = "every Dask worker that tried this cell died (out of memory?)"
            return [Outcome(batch[0].keys, FAILED, error)]
        except Exception as error:
            raise GiantstepError(
                f"a Dask worker cannot run giantstep ({type(error).__name__}: {error}): "
                f"install the same giantstep on every worker"
            ) from None


@contextlib.contextmanager
def _loss_explained() -> Iterator[None]:
    from distributed import CancelledError

    try:
        yield
    except (CancelledError, OSError):
        raise GiantstepError(
            "the Dask scheduler is gone: every finished row is kept; "
            "run the same command again when there is one"
        ) from None
