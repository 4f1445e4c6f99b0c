"""The program of a worker process: reads tasks, does them, answers in order.

Started as ``python -m giantstep.asking.workers.program MODULE:FUNCTION``; never forked, and
without the caller's ``__main__``, so that it may be started from any script or notebook. Its
environment is set before it starts, which is the only moment at which thread counts can be.
"""

from __future__ import annotations

import importlib
import os
import pickle
import queue
import sys
import threading
import time
import traceback
from collections.abc import Callable
from typing import Any, BinaryIO

from giantstep.asking.workers.backlog import Answer, Outcome, Progress

READY = "ready"
#: Answers that took less than this each are sent together, for so long in all.
_QUICK_SECONDS, _TOGETHER_SECONDS = 0.005, 0.03

Tell = Callable[[float], None]
Do = Callable[[Any, Tell], Outcome]


class Outbox:
    """Answers on their way: forty points of a quick line are one message, a slow point is its own.

    Each message wakes a thread and perhaps an event loop, which costs more than what it brings.
    """

    def __init__(self, stream: BinaryIO) -> None:
        self._stream, self._held = stream, list[Answer]()
        self._before = self._sent = time.monotonic()

    def put(self, answer: Answer) -> None:
        """Send an answer, or keep it for a moment."""
        now = time.monotonic()
        slow = now - self._before > _QUICK_SECONDS or now - self._sent > _TOGETHER_SECONDS
        self._before = now
        self._held.append(answer)
        if slow or isinstance(answer, Progress):
            self.flush()

    def advance(self, share: float) -> None:
        """Say how far the task at hand is."""
        self.put(Progress(share))

    def flush(self) -> None:
        """Send what is held."""
        if self._held:
            _send(self._stream, self._held)
            self._held, self._sent = [], time.monotonic()


def serve_as_worker() -> None:
    """Serve until the owner closes the pipe or dies."""
    answers = os.fdopen(os.dup(1), "wb")
    # Whatever a learner prints goes to standard error.
    os.dup2(2, 1)
    batches: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    threading.Thread(target=_receive, args=(sys.stdin.buffer, batches), daemon=True).start()
    module, _, name = sys.argv[1].partition(":")
    do: Do = getattr(importlib.import_module(module), name)
    _send(answers, READY)
    while True:
        tasks, seconds = pickle.loads(batches.get())
        begin, outbox = time.monotonic(), Outbox(answers)
        for task in tasks:
            outbox.put(do(task, outbox.advance))
            if time.monotonic() - begin > seconds:
                break
        outbox.flush()
        _send(answers, None)


def _receive(stream: BinaryIO, batches: queue.SimpleQueue[bytes]) -> None:
    """Hand on what arrives; when the owner is gone, end at once, in the midst of a task."""
    while header := stream.read(8):
        batches.put(stream.read(int.from_bytes(header, "big")))
    os._exit(0)


def _send(stream: BinaryIO, answer: object) -> None:
    pickle.dump(answer, stream)
    stream.flush()


if __name__ == "__main__":
    try:
        serve_as_worker()
    except BaseException:
        # Python would wait for the thread that reads.
        traceback.print_exc()
        os._exit(1)
