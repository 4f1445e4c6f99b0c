"""A worker process of the lab: reads tasks, does them, answers in order until its time is up.

Started as ``python -m giantstep.lab.worker`` and never forked, as the workers of studies are.
"""

from __future__ import annotations

import pickle
import queue
import sys
import threading
import time
from typing import Any, BinaryIO

from giantstep.studies.worker import READY, private_standard_output, receive, send

#: Answers that took less than this each are sent together, for so long in all.
_QUICK_SECONDS, _TOGETHER_SECONDS = 0.005, 0.03


class Outbox:
    """Answers on their way: forty points of a quick line are one message, a slow point is its own.

    Each message wakes a thread and the event loop of the server, which then costs more than what
    it brings.
    """

    def __init__(self, stream: BinaryIO) -> None:
        self._stream, self._held = stream, list[Any]()
        self._before = self._sent = time.monotonic()

    def put(self, answer: Any, *, at_once: bool = False) -> None:
        """Send an answer, or keep it for a moment."""
        now = time.monotonic()
        slow = now - self._before > _QUICK_SECONDS or now - self._sent > _TOGETHER_SECONDS
        self._before = now
        self._held.append(answer)
        if at_once or slow:
            self.flush()

    def flush(self) -> None:
        """Send what is held."""
        if self._held:
            send(self._stream, self._held)
            self._held, self._sent = [], time.monotonic()


def main() -> None:
    """Serve until the lab closes the pipe or dies."""
    answers = private_standard_output()
    batches: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    threading.Thread(target=receive, args=(sys.stdin.buffer, batches), daemon=True).start()
    from giantstep.lab.jobs import Progress
    from giantstep.lab.work import do

    send(answers, READY)
    while True:
        tasks, seconds = pickle.loads(batches.get())
        begin, outbox = time.monotonic(), Outbox(answers)

        def tell(share: float, outbox: Outbox = outbox) -> None:
            outbox.put(Progress(share), at_once=True)

        for task in tasks:
            outbox.put(do(task, tell))
            if time.monotonic() - begin > seconds:
                break
        outbox.flush()
        send(answers, None)


if __name__ == "__main__":
    main()
