"""Who computes what: runners that share a store lease blocks in it before they compute them.

A runner renews its leases; when it is gone, so are they: at once where that can be seen (the
process was on this machine), else when they have run out. Leases save work and decide nothing: a
cell computed twice is the same, and is written once. The store keeps them in its table `claims`.
"""

from __future__ import annotations

import os
import platform
import sqlite3
import threading
import time
import uuid
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Self

from giantstep.asking.studies.cells import Block
from giantstep.asking.studies.database import StoreError
from giantstep.asking.studies.store import Store
from giantstep.asking.workers.backlog import DONE, FAILED, NO_THEORY

LEASE_SECONDS = 60.0
_RENEWAL_SECONDS = 15.0


class Leases:
    """The leases of one run on the blocks of a store; a context manager."""

    def __init__(self, store: Store, *, retry: bool = False) -> None:
        self._store = store
        self._ends = (DONE, NO_THEORY) if retry else (DONE, NO_THEORY, FAILED)
        self.runner = f"{_machine()} {os.getpid()} {_runner_start(os.getpid())} {uuid.uuid4().hex}"
        self._over = threading.Event()
        self._renewal = threading.Thread(target=self._renew, daemon=True)

    def __enter__(self) -> Self:
        self._renewal.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Give back what was not computed."""
        self._over.set()
        self._renewal.join()
        # A full disk, or a store that is gone, has been reported already.
        with suppress(StoreError), self._store.writing() as connection:
            connection.execute("DELETE FROM claims WHERE runner = ?", (self.runner,))

    def take(self, blocks: Iterable[Block]) -> list[Block]:
        """Those of the blocks that this runner is to compute: not finished, not another's."""
        granted = []
        with self._store.writing() as connection:
            for block in blocks:
                if self._ended(connection, block) or self._is_held(connection, block):
                    continue
                connection.execute(
                    "INSERT OR REPLACE INTO claims (block, runner, until) VALUES (?, ?, ?)",
                    (block.keys[0], self.runner, time.time() + LEASE_SECONDS),
                )
                granted.append(block)
        return granted

    def news(self, blocks: Sequence[Block]) -> tuple[list[str], list[Block], list[Block]]:
        """Statuses of cells that others have finished, blocks that are free, and blocks held."""
        statuses: list[str] = []
        free: list[Block] = []
        held: list[Block] = []
        with self._store.writing() as connection:
            for block in blocks:
                ended = self._ended(connection, block)
                if ended:
                    statuses += ended
                else:
                    (held if self._is_held(connection, block) else free).append(block)
        return statuses, free, held

    def _ended(self, connection: sqlite3.Connection, block: Block) -> list[str]:
        """The statuses of the block's cells if all of them are finished, else none."""
        query = "SELECT status FROM cells WHERE key = ?"
        found = [connection.execute(query, (key,)).fetchone() for key in block.keys]
        statuses = [row[0] for row in found if row is not None and row[0] in self._ends]
        return statuses if len(statuses) == len(block.keys) else []

    def _is_held(self, connection: sqlite3.Connection, block: Block) -> bool:
        query = "SELECT runner, until FROM claims WHERE block = ?"
        lease = connection.execute(query, (block.keys[0],)).fetchone()
        return lease is not None and lease[0] != self.runner and _is_valid_lease(*lease)

    def _renew(self) -> None:
        while not self._over.wait(_RENEWAL_SECONDS):
            # If it fails this time, the lease still lasts for a while.
            with suppress(StoreError), self._store.writing() as connection:
                connection.execute(
                    "UPDATE claims SET until = ? WHERE runner = ?",
                    (time.time() + LEASE_SECONDS, self.runner),
                )


def _is_valid_lease(runner: object, until: object) -> bool:
    """Whether a lease still holds: it has time left, and its runner is not known to be gone."""
    left = until - time.time() if isinstance(until, float) else -1.0
    # Nobody asks for more than one lease: what lies further ahead is damaged.
    if not 0 < left < 2 * LEASE_SECONDS or not isinstance(runner, str):
        return False
    machine, *process = runner.split(" ")
    if machine != _machine() or len(process) != 3 or not process[0].isdigit():
        return True
    return _runner_start(int(process[0])) == process[1]


def _machine() -> str:
    """This machine since it was started, and the numbering of processes on it."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return f"{boot}-{os.readlink('/proc/self/ns/pid')}"
    except OSError:
        return platform.node().replace(" ", "-")


def _runner_start(process: int) -> str:
    """When a process of this machine was started; `gone` if there is none of that number."""
    try:
        # The name of the program, in parentheses, may hold anything.
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        pass
    if Path("/proc/self/stat").exists():
        return "gone"
    if os.name != "posix":
        return "unknown"
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return "gone"
    except OSError:
        pass
    return "unknown"
