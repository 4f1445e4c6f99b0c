"""What a computation costs: bytes and operations, known before anything is allocated."""

from __future__ import annotations

import functools
import math
import os
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np

from giantstep.errors import SettingsError

CGROUP_LIMIT = Path("/sys/fs/cgroup/memory.max")
#: Multiplications in a matrix product that take as long as: a normal number, an exponential, one
#: entry of a matrix that is read for a product with a vector, and eigenvectors over n^3.
DRAW, EXPONENTIAL, ENTRY, EIGEN = 250, 100, 16, 5
#: A simulation that is expected to take longer is a slip of the keyboard.
MOST_SECONDS = 7 * 86400.0
#: Side of the matrices whose product measures the speed of the machine.
_PROBE = 512


class Cost(NamedTuple):
    """Bytes that are held at once, and operations of one seed in multiplications of a product.

    ``sizes`` names what causes it, ``remedy`` says what would lower it.
    """

    bytes: float
    operations: float
    sizes: str
    remedy: str

    def check(self, seeds: int = 1) -> None:
        """Raise SettingsError if it does not fit into memory, or if nobody would wait for it."""
        available, seconds = machine_bytes(), self.seconds(seeds)
        if self.bytes > available:
            raise SettingsError(
                f"{self.sizes} needs about {readable(self.bytes)} of memory and the machine has "
                f"{readable(available)}: {self.remedy}"
            )
        if seconds > MOST_SECONDS:
            raise SettingsError(
                f"{self.sizes} with {seeds} seeds would take about {duration(seconds)} on this "
                f"machine: {self.remedy}, or lower --samples or --seeds"
            )

    def seconds(self, seeds: int) -> float:
        """How long so many seeds are expected to take on this machine."""
        return seeds * self.operations / multiplications_per_second()


def machine_bytes() -> float:
    """Memory of the machine, or of the container the process lives in; infinite if unknown."""
    if not hasattr(os, "sysconf"):
        return math.inf
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    if CGROUP_LIMIT.exists() and (limit := CGROUP_LIMIT.read_text().strip()).isdigit():
        total = min(total, int(limit))
    return total


@functools.cache
def multiplications_per_second() -> float:
    """Multiplications a second in a product of float64 matrices, measured once."""
    matrix = np.full((_PROBE, _PROBE), 0.5)
    times = []
    for _ in range(3):
        begin = time.perf_counter()
        matrix @ matrix
        times.append(time.perf_counter() - begin)
    return _PROBE**3 / max(min(times), 1e-9)


def readable(size: float) -> str:
    """A number of bytes with its unit.

    >>> readable(3 * 2**30)
    '3 GiB'
    """
    units = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")
    power = min(int(math.log(max(size, 1), 1024)), len(units) - 1)
    return f"{size / 1024**power:.4g} {units[power]}"


def duration(seconds: float) -> str:
    """A time in the unit that suits it.

    >>> duration(90), duration(7200), duration(1e6)
    ('1.5 minutes', '2 hours', '12 days')
    """
    for unit, length in (("days", 86400), ("hours", 3600), ("minutes", 60)):
        if seconds >= 1.5 * length or (unit == "minutes" and seconds >= length):
            return f"{seconds / length:.2g} {unit}"
    return f"{seconds:.2g} seconds"


def ridge_fit(samples: float, width: float) -> float:
    """Operations of a path of ridge fits: the Gram matrix on its smaller side, diagonalised."""
    small, large = sorted((samples, width))
    return small**2 * large + EIGEN * small**3


def needed_dim(dim: int | None, rank: int = 0) -> int:
    """The dimension, which a simulation must be given, and which must hold ``rank`` directions."""
    if dim is None:
        raise SettingsError("dim is missing: a simulation needs --dim, the dimension of the inputs")
    if rank > dim:
        raise SettingsError(f"dim = {dim} is below the target's {rank} directions: raise --dim")
    return dim
