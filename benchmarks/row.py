"""One line of the table: the work, ours, the peer or limit, their ratio, and the goal."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np


class Row(NamedTuple):
    """``ratio`` is what ``goal`` bounds; ``met`` says whether it does."""

    work: str
    ours: str
    peer: str
    ratio: float
    goal: str
    met: bool


def seconds(
    work: Callable[[], Any], repeats: int = 3, clock: Callable[[], float] = time.perf_counter
) -> float:
    """The shortest of several timings: what the machine can do when left alone."""
    best = float("inf")
    for _ in range(repeats):
        begin = clock()
        work()
        best = min(best, clock() - begin)
    return best


def cpu_seconds(work: Callable[[], Any], repeats: int = 3) -> float:
    """The same on the clock of the processor, all threads together.

    What else the machine does falls on the clock on the wall, and hardly on this.
    """
    return seconds(work, repeats, time.process_time)


def under_limit(work: str, ours: float, limit: float) -> Row:
    """A row against a fixed limit in seconds."""
    return Row(work, f"{ours:.3f} s", f"limit {limit:g} s", ours / limit, "<= 1", ours <= limit)


#: A study gives three digits: this much of a difference may be rounding.
ROUNDING = 0.0005


def beside_study(work: str, runs: np.ndarray, study: float, study_runs: int) -> Row:
    """Our mean beside that of a study with few runs: how many of their standard errors apart.

    The study does not tell how far its runs scatter, and ours stands for that.
    """
    mean, spread = float(np.mean(runs)), float(np.std(runs, ddof=1))
    ours = f"{mean:.3f}({1000 * spread / len(runs) ** 0.5:.0f}), {len(runs)} runs"
    error = np.hypot(spread * np.sqrt(1 / len(runs) + 1 / study_runs), ROUNDING)
    apart = float(abs(mean - study) / error)
    return Row(work, ours, f"{study:.3f}, {study_runs} runs", apart, "<= 3 s.e.", apart <= 3)


#: Runs a command in a process of its own and prints the most kibibytes that it held.
_RUN = """
import sys
from giantstep.cli.main import main
sys.argv = ["giantstep", *sys.argv[1:]]
try:
    main()
except SystemExit as ended:
    assert not ended.code, ended.code
with open("/proc/self/status") as status:
    print([line.split()[1] for line in status if line.startswith("VmHWM")][0])
"""


def under_a_gibibyte(work: str, *words: str) -> Row:
    """A row about the peak memory of a command (on Linux)."""
    done = subprocess.run(
        [sys.executable, "-c", _RUN, *words], capture_output=True, text=True, check=True
    )
    used = int(done.stdout.split()[-1]) / 2**20
    return Row(work, f"{used:.2f} GiB", "limit 1 GiB", used, "<= 1", used <= 1)
