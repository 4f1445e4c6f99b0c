"""The local engine: worker processes on this machine, each watched by a thread."""

from __future__ import annotations

import contextlib
import os
import pickle
import queue
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from giantstep.errors import GiantstepError
from giantstep.studies import worker
from giantstep.studies.backlog import MOST_ATTEMPTS, Backlog
from giantstep.studies.cells import Block
from giantstep.studies.environment import own_process_group, worker_environment
from giantstep.studies.outcomes import FAILED, Outcome

Result = tuple[Block, Outcome]

#: How often the coordinator looks up while nothing arrives.
_PULSE_SECONDS = 0.2
#: A worker that ends by itself when it starts will do so again; one that is killed may not.
_MOST_FAILED_STARTS, _MOST_KILLED_STARTS = 3, 12


class WorkerDied(Exception):
    """The process ended by itself or was killed by a signal; the message says how."""

    def __init__(self, message: str, *, killed: bool) -> None:
        super().__init__(message)
        self.killed = killed


class Worker:
    """One worker process and the pipes to it."""

    def __init__(self, threads: int) -> None:
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115
        self.process = subprocess.Popen(
            [sys.executable, "-P", "-m", worker.__name__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            env=worker_environment(threads, os.environ),
            **own_process_group(),
        )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self._questions, self._answers = self.process.stdin, self.process.stdout
        try:
            self.receive()
        except WorkerDied:
            self.close()
            raise

    def send(self, blocks: Sequence[Block]) -> None:
        """Give it blocks to compute."""
        message = pickle.dumps(list(blocks))
        try:
            self._questions.write(len(message).to_bytes(8, "big") + message)
            self._questions.flush()
        except OSError:
            raise self.death() from None

    def receive(self) -> Any:
        """Its next answer."""
        try:
            return pickle.load(self._answers)
        except (EOFError, pickle.UnpicklingError, OSError, ValueError):
            raise self.death() from None

    def death(self) -> WorkerDied:
        """The signal or exit code it ended with, and the last line it wrote."""
        self.kill()
        code = self.process.returncode
        if code == -signal.SIGKILL:
            return WorkerDied("the worker process was killed (out of memory?)", killed=True)
        cause = f"signal {-code}" if code < 0 else f"exit code {code}"
        message = f"the worker process died ({cause}): {self.last_words()}"
        return WorkerDied(message, killed=code < 0)

    def last_words(self) -> str:
        """The end of what it wrote to standard error."""
        self._errors.seek(0)
        lines = self._errors.read().decode(errors="replace").strip().splitlines()
        return lines[-1] if lines else "it said nothing"

    def kill(self) -> None:
        """End it now."""
        if self.process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                self.process.kill()
        self.process.wait()

    def close(self) -> None:
        """End it and give its pipes back."""
        self.kill()
        for pipe in (self._questions, self._answers):
            with contextlib.suppress(OSError):
                pipe.close()
        self._errors.close()


@dataclass(frozen=True)
class LocalEngine:
    """Runs blocks on ``workers`` processes with ``threads`` BLAS and XLA threads each."""

    workers: int
    threads: int = 1

    def run(self, backlog: Backlog) -> Generator[list[Result], None, None]:
        """Results in groups, as they arrive; an empty group now and then while none does."""
        arrived: queue.SimpleQueue[Result | Exception | None] = queue.SimpleQueue()
        crew = [Watch(self, backlog, arrived) for _ in range(self.workers)]
        try:
            for watch in crew:
                watch.start()
            resting = 0
            while resting < len(crew):
                group = []
                for item in _waiting_items(arrived):
                    if isinstance(item, Exception):
                        raise item
                    if item is None:
                        resting += 1
                    else:
                        group.append(item)
                yield group
        finally:
            backlog.stop()
            for watch in crew:
                watch.abandon()


class Watch(threading.Thread):
    """Feeds one worker, and starts another when it dies."""

    def __init__(self, engine: LocalEngine, backlog: Backlog, arrived: queue.SimpleQueue) -> None:
        super().__init__(daemon=True)
        self.engine, self.backlog, self.arrived = engine, backlog, arrived
        self.worker: Worker | None = None
        self.abandoned = False

    def run(self) -> None:
        """Serve until the backlog is empty; then say so with None."""
        try:
            previous = None
            while batch := self.backlog.take(previous):
                previous = batch[0].shape
                self._serve(batch)
                self.backlog.release(batch)
        except Exception as error:
            self.arrived.put(error)
        finally:
            self._bury()
            self.arrived.put(None)

    def abandon(self) -> None:
        """Stop at once; what is being computed is lost."""
        self.abandoned = True
        while self.is_alive():
            if self.worker is not None:
                self.worker.kill()
            self.join(timeout=0.05)

    def _serve(self, batch: list[Block]) -> None:
        waiting = list(batch)
        try:
            self.worker = self.worker or self._start()
            self.worker.send(batch)
            for block in batch:
                outcome = self.worker.receive()
                waiting.pop(0)
                self.backlog.time(block, outcome.seconds * len(block.keys))
                self.arrived.put((block, outcome))
        except WorkerDied as death:
            # It answers in order, so only the first unanswered block can be to blame.
            self._bury()
            guilty, *innocent = waiting
            self.backlog.put_back(innocent)
            if not self.backlog.may_retry(guilty) and not self.abandoned:
                error = f"{death}, {MOST_ATTEMPTS} times in a row; see whether the cell fits memory"
                self.arrived.put((guilty, Outcome(guilty.keys, FAILED, error)))

    def _bury(self) -> None:
        if self.worker is not None:
            self.worker.close()
        self.worker = None

    def _start(self, failed: int = 0) -> Worker:
        try:
            return Worker(self.engine.threads)
        except WorkerDied as death:
            most = _MOST_KILLED_STARTS if death.killed else _MOST_FAILED_STARTS
            if failed + 1 >= most or self.abandoned:
                raise GiantstepError(f"no worker process can be started: {death}") from None
            return self._start(failed + 1)


def _waiting_items(arrived: queue.SimpleQueue) -> Iterator[Result | Exception | None]:
    """What has arrived; waits a moment for the first."""
    with contextlib.suppress(queue.Empty):
        yield arrived.get(timeout=_PULSE_SECONDS)
        while True:
            yield arrived.get_nowait()
