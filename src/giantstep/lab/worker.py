"""A worker process of the lab: reads tasks, does them, answers one by one until its time is up.

Started as ``python -m giantstep.lab.worker`` and never forked, as the workers of studies are.
"""

from __future__ import annotations

import pickle
import queue
import sys
import threading
import time

from giantstep.studies.worker import READY, private_standard_output, receive, send


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
        begin = time.monotonic()
        for task in tasks:
            send(answers, do(task, lambda share: send(answers, Progress(share))))
            if time.monotonic() - begin > seconds:
                break
        send(answers, None)


if __name__ == "__main__":
    main()
