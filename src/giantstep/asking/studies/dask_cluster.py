"""Dask schedulers: one that runs elsewhere, or one started here with workers of its own."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import re
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import IO, TYPE_CHECKING, Any

from giantstep.asking.workers.environment import own_process_group, worker_environment
from giantstep.errors import GiantstepError, SettingsError, one_line, shown

if TYPE_CHECKING:
    from distributed import Client

#: A worker that has lost its scheduler for this long ends.
_DEATH_SECONDS = 15
#: A scheduler that runs answers well within this.
_CONNECT_SECONDS = 10.0
#: A worker imports much before it reports, on a busy machine for a long time.
_START_SECONDS = 120.0
_ADDRESS = re.compile(
    r"(?:(?P<protocol>[a-z+]+)://)?(?P<host>\[[0-9a-fA-F:.]+\]|[^\s:/\[\]]+):(?P<port>[0-9]{1,5})/?"
)
_REMEDY = "give the address that `dask scheduler` printed, such as tcp://host:8786"


@contextlib.contextmanager
def connected(address: str) -> Iterator[Client]:
    """A client of the scheduler at that address."""
    from distributed import Client

    _knock(address)
    with _quiet("distributed.client"):
        try:
            client = Client(address, timeout=_CONNECT_SECONDS, set_as_default=False)
        except Exception as error:
            raise _no_answer(address, error) from None
        with client:
            yield client


def check_address(address: str) -> tuple[str | None, str, int]:
    """Protocol, host and port; an address without a port is refused."""
    match = _ADDRESS.fullmatch(address)
    if not match or not 0 < int(match["port"]) < 2**16:
        raise SettingsError(f"scheduler = {shown(address)} is no address with a port: {_REMEDY}")
    return match["protocol"], match["host"].strip("[]"), int(match["port"])


def _knock(address: str) -> None:
    """Find out soon that no scheduler is there; Dask's own client may wait for ever."""
    protocol, host, port = check_address(address)
    if protocol not in (None, "tcp", "tls"):
        return
    try:
        socket.create_connection((host, port), timeout=_CONNECT_SECONDS).close()
        if protocol != "tls":
            # In a thread of its own: a notebook has an event loop already.
            with ThreadPoolExecutor(1) as thread:
                thread.submit(asyncio.run, _greet(address)).result()
    except Exception as error:
        raise _no_answer(address, error) from None


async def _greet(address: str) -> None:
    """Exchange the first words of Dask's protocol with a scheduler."""
    from distributed.comm.core import connect

    comm = await asyncio.wait_for(connect(address, timeout=_CONNECT_SECONDS), _CONNECT_SECONDS)
    comm.abort()


def _no_answer(address: str, error: Exception) -> GiantstepError:
    cause = one_line(str(error)) or type(error).__name__
    return GiantstepError(f"scheduler = {shown(address)} does not answer ({cause}): {_REMEDY}")


@contextlib.contextmanager
def _quiet(logger: str) -> Iterator[None]:
    """What it would log is in the errors we raise."""
    level = logging.getLogger(logger).level
    logging.getLogger(logger).setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        logging.getLogger(logger).setLevel(level)


@contextlib.contextmanager
def own_cluster(workers: int) -> Iterator[Client]:
    """A scheduler in this process and workers in others.

    Dask's own local cluster would run the caller's ``__main__`` again in each worker, share
    Ctrl-C with them and change this process's environment; starting them as programs does not.
    """
    from distributed import LocalCluster

    with contextlib.ExitStack() as stack:
        try:
            cluster = LocalCluster(
                n_workers=0,
                silence_logs=logging.CRITICAL,
                # No dashboard, and any free port for what it leaves.
                scheduler_kwargs={"dashboard": False, "dashboard_address": ":0"},
            )
        except Exception as error:
            raise _no_cluster(one_line(str(error)) or type(error).__name__) from None
        stack.enter_context(cluster)
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="giantstep-dask-"))
        client = stack.enter_context(connected(cluster.scheduler_address))
        said = stack.enter_context(tempfile.TemporaryFile())
        program = stack.enter_context(
            _worker_program(cluster.scheduler_address, workers, folder, said)
        )
        _wait_for_a_worker(client, program, said)
        yield client


def _no_cluster(cause: str) -> GiantstepError:
    return GiantstepError(f"a Dask cluster cannot be started here ({cause}): use engine = 'local'")


def _wait_for_a_worker(client: Client, program: subprocess.Popen[bytes], said: IO[bytes]) -> None:
    end = time.monotonic() + _START_SECONDS
    while not client.nthreads():
        if program.poll() is not None:
            said.seek(0)
            lines = said.read().decode(errors="replace").strip().splitlines()
            words = one_line(lines[-1]) if lines else "it said nothing"
            raise _no_cluster(f"its worker ended with exit code {program.returncode}: {words}")
        if time.monotonic() > end:
            raise _no_cluster(f"no worker came up within {_START_SECONDS:g} seconds")
        time.sleep(0.05)


@contextlib.contextmanager
def _worker_program(
    address: str, workers: int, folder: str, said: IO[bytes]
) -> Iterator[subprocess.Popen[bytes]]:
    options: dict[str, Any] = {
        "nworkers": workers,
        "nthreads": 1,
        "memory-limit": 0,
        "death-timeout": _DEATH_SECONDS,
        "local-directory": folder,
    }
    command = [sys.executable, "-P", "-m", "distributed.cli.dask_worker", address, "--no-dashboard"]
    command += [f"--{name}={value}" for name, value in options.items()]
    process = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=said,
        env=worker_environment(1, os.environ),
        **own_process_group(),
    )
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(timeout=_DEATH_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
