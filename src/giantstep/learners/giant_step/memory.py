"""Refuse what does not fit into the machine, before anything is allocated."""

from __future__ import annotations

import math
import os
from pathlib import Path

from giantstep.errors import SettingsError

CGROUP_LIMIT = Path("/sys/fs/cgroup/memory.max")


def machine_bytes() -> float:
    """Memory of the machine, or of the container the process lives in; infinite if unknown."""
    if not hasattr(os, "sysconf"):
        return math.inf
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    if CGROUP_LIMIT.exists() and (limit := CGROUP_LIMIT.read_text().strip()).isdigit():
        total = min(total, int(limit))
    return total


def require(needed: float, what: str, remedy: str) -> None:
    """Raise SettingsError if ``what`` needs more bytes than the machine has."""
    available = machine_bytes()
    if needed > available:
        raise SettingsError(
            f"{what} needs about {readable(needed)} of memory and the machine has "
            f"{readable(available)}: {remedy}"
        )


def readable(size: float) -> str:
    """A number of bytes with its unit.

    >>> readable(3 * 2**30)
    '3 GiB'
    """
    units = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")
    power = min(int(math.log(max(size, 1), 1024)), len(units) - 1)
    return f"{size / 1024**power:.4g} {units[power]}"
