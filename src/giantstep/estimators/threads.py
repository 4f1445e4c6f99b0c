"""One thread for the linear algebra of a small fit.

Matrices of a few hundred rows are too small to share: threads that wait for one another spend
processor time on nothing, on a busy machine twenty times as much as the work itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

from threadpoolctl import threadpool_limits

#: Rows from which threads of the linear algebra are left as they are.
MANY_ROWS = 5000
#: The limit is the process's, so that one fit at a time sets it, and lifts it.
_LIMITED = Lock()


@contextmanager
def few_threads(rows: int) -> Iterator[None]:
    """Keep linear algebra to one thread while a fit to this many rows runs, if these are few.

    A fit that begins while another one has set the limit, in another thread, leaves it alone.
    """
    if rows >= MANY_ROWS or not _LIMITED.acquire(blocking=False):
        yield
        return
    try:
        with threadpool_limits(1, user_api="blas"):
            yield
    finally:
        _LIMITED.release()
