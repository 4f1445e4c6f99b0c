"""A worker process of the local engine: reads blocks, computes them, answers one by one.

Started as ``python -m giantstep.studies.worker``; never forked, and without the caller's
``__main__``, so that a study may be run from any script or notebook. Its environment is set
before it starts, which is the only moment at which thread counts can be.
"""

from __future__ import annotations

import os
import pickle
import queue
import sys
import threading
from typing import BinaryIO

READY = "ready"


def main() -> None:
    """Serve until the coordinator closes the pipe or dies."""
    answers = private_standard_output()
    batches: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    threading.Thread(target=receive, args=(sys.stdin.buffer, batches), daemon=True).start()
    from giantstep.studies.work import compute

    send(answers, READY)
    while True:
        for block in pickle.loads(batches.get()):
            send(answers, compute(block))


def private_standard_output() -> BinaryIO:
    """The pipe of the answers; whatever a learner prints goes to standard error instead."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    return answers


def receive(stream: BinaryIO, batches: queue.SimpleQueue[bytes]) -> None:
    """Hand on what arrives; when the coordinator is gone, end at once, in the midst of a block."""
    while header := stream.read(8):
        batches.put(stream.read(int.from_bytes(header, "big")))
    os._exit(0)


def send(stream: BinaryIO, answer: object) -> None:
    """One answer, at once."""
    pickle.dump(answer, stream)
    stream.flush()


if __name__ == "__main__":
    main()
