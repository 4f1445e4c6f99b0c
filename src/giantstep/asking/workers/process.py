"""A worker process as its owner sees it: tasks go in, answers come out, and it may die."""

from __future__ import annotations

import contextlib
import os
import pickle
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from giantstep.asking.workers import program
from giantstep.asking.workers.environment import worker_environment, worker_process_group

#: How long a process may take to end by itself.
_ENDING_SECONDS = 1.0


class WorkerDied(Exception):
    """The process ended by itself or was killed by a signal; the message says how."""

    def __init__(self, message: str, *, killed: bool) -> None:
        super().__init__(message)
        self.killed = killed


class Worker:
    """One worker process and the pipes to it; ``does`` is the function that does its tasks."""

    def __init__(self, does: str, threads: int) -> None:
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115
        self.process = subprocess.Popen(
            [sys.executable, "-P", "-m", program.__name__, does],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            env=worker_environment(threads, os.environ),
            **worker_process_group(),
        )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self._questions, self._answers = self.process.stdin, self.process.stdout
        try:
            self.receive()
        except WorkerDied:
            self.close()
            raise

    def send(self, tasks: list[Any], seconds: float) -> None:
        """Give it tasks; it does those that it can begin within ``seconds``."""
        message = pickle.dumps((tasks, seconds))
        try:
            self._questions.write(len(message).to_bytes(8, "big") + message)
            self._questions.flush()
        except OSError:
            raise self._death() from None

    def receive(self) -> Any:
        """Its next answers; None when it has done what it will."""
        try:
            return pickle.load(self._answers)
        except (EOFError, pickle.UnpicklingError, OSError, ValueError):
            raise self._death() from None

    def resident_bytes(self) -> int:
        """The memory that it holds; 0 where the system does not say."""
        try:
            pages = Path(f"/proc/{self.process.pid}/statm").read_text().split()[1]
            return int(pages) * os.sysconf("SC_PAGE_SIZE")
        except (OSError, IndexError, ValueError):
            return 0

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

    def _death(self) -> WorkerDied:
        """The signal or exit code it ended with, and the last line it wrote."""
        # Its pipe closes a moment before it has ended.
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(timeout=_ENDING_SECONDS)
        self.kill()
        code = self.process.returncode
        if code == -signal.SIGKILL:
            return WorkerDied("the worker process was killed (out of memory?)", killed=True)
        cause = f"signal {-code}" if code < 0 else f"exit code {code}"
        self._errors.seek(0)
        lines = self._errors.read().decode(errors="replace").strip().splitlines()
        words = lines[-1] if lines else "it said nothing"
        return WorkerDied(f"the worker process died ({cause}): {words}", killed=code < 0)
