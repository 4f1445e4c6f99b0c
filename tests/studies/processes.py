"""Starting the command as a program of its own, watching it, and finding its workers."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil

from giantstep.asking.studies.kept import KeptStudy
from giantstep.asking.studies.study import Study
from giantstep.errors import GiantstepError

ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}


def start_command(*arguments: str, cwd: Path) -> subprocess.Popen[str]:
    """`giantstep ARGUMENTS`, in a session of its own as in a terminal of its own."""
    return subprocess.Popen(
        [sys.executable, str(Path(__file__).with_name("command.py")), *arguments],
        cwd=cwd,
        env=ENVIRONMENT,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def end(process: subprocess.Popen[str]) -> str:
    """Kill it if it still runs; what it said."""
    process.kill()
    with process:
        return process.stderr.read() if process.stderr else ""


def workers_of(process: subprocess.Popen[str]) -> list[psutil.Process]:
    """The processes it started."""
    try:
        return psutil.Process(process.pid).children(recursive=True)
    except psutil.NoSuchProcess:
        return []


def done_so_far(store: Path, name: str) -> int:
    """Cells done, as a reader sees them while the study runs."""
    try:
        return KeptStudy(store, name).counts().done
    except GiantstepError:
        return 0


def wait_until(condition: Callable[[], bool], seconds: float = 90.0) -> None:
    """Wait for the condition."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.005)


def kept(study: Study, *, store: Path, **how: Any) -> KeptStudy:
    """Run a study; what the store then has of it."""
    study.run(store=store, **how)
    return KeptStudy(store, study.name)
