"""A worker process as its owner sees it: questions go in, answers come out, and it may die."""

from __future__ import annotations

import contextlib
import os
import pickle
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from typing import Any

from giantstep.studies import worker
from giantstep.studies.environment import own_process_group, worker_environment


class WorkerDied(Exception):
    """The process ended by itself or was killed by a signal; the message says how."""

    def __init__(self, message: str, *, killed: bool) -> None:
        super().__init__(message)
        self.killed = killed


class Worker:
    """One worker process and the pipes to it; ``program`` is its module, if not that of studies."""

    def __init__(self, threads: int, program: str | None = None) -> None:
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115
        self.process = subprocess.Popen(
            [sys.executable, "-P", "-m", program or worker.__name__],
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

    def send(self, questions: Sequence[Any]) -> None:
        """Give it something to compute: blocks of a study, or what else its program takes."""
        message = pickle.dumps(list(questions))
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
