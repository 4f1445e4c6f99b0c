"""Computing a block with a limit of time, where the process that computes cannot be ended.

Dask's workers run many cells and answer for all of them, so a cell that may hang is computed in a
process of the worker's own.
"""

from __future__ import annotations

import threading

from giantstep.studies.cells import Block
from giantstep.studies.outcomes import FAILED, Outcome, overdue
from giantstep.studies.worker_process import Worker, WorkerDied

#: Each thread of a Dask worker has one.
_own = threading.local()


def compute_within(block: Block, cell_seconds: float, threads: int) -> Outcome:
    """The outcome of a block; a failed one if it takes longer than that for each cell."""
    late = threading.Event()
    worker: Worker | None = getattr(_own, "worker", None)
    try:
        if worker is None:
            worker = _own.worker = Worker(threads)
        timer = threading.Timer(cell_seconds * len(block.keys), _end, (worker, late))
        timer.start()
        try:
            worker.send([block])
            return worker.receive()
        finally:
            timer.cancel()
    except WorkerDied as death:
        if worker is not None:
            worker.close()
        _own.worker = None
        error = overdue(cell_seconds, len(block.keys)) if late.is_set() else str(death)
        return Outcome(block.keys, FAILED, error)


def _end(worker: Worker, late: threading.Event) -> None:
    late.set()
    worker.kill()
