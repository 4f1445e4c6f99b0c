"""Dask schedulers: one that runs elsewhere, or one started here with workers of its own."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import re
import socket
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from giantstep.errors import GiantstepError, SettingsError, one_line, shown

if TYPE_CHECKING:
    from distributed import Client

#: A scheduler that runs answers well within this.
_CONNECT_SECONDS = 10.0
_ADDRESS = re.compile(
    r"(?:(?P<protocol>[a-z+]+)://)?(?P<host>\[[0-9a-fA-F:.]+\]|[^\s:/\[\]]+):(?P<port>[0-9]{1,5})/?"
)
#: Dask gives each of these a level of its own; the rest of its loggers follow the first.
_LOGGERS = ("distributed", "distributed.client", "tornado.application", "asyncio")
_REMEDY = "give the address that `dask scheduler` printed, such as tcp://host:8786"


@contextlib.contextmanager
def dask_client(address: str) -> Iterator[Client]:
    """A client of the scheduler at that address."""
    from distributed import Client

    _knock_at_scheduler(address)
    with _quiet_dask_logs():
        try:
            client = Client(address, timeout=_CONNECT_SECONDS, set_as_default=False)
        except Exception as error:
            raise _no_answer(address, error) from None
        with client:
            yield client


def check_dask_address(address: str) -> tuple[str | None, str, int]:
    """Protocol, host and port; an address without a port is refused."""
    match = _ADDRESS.fullmatch(address)
    if not match or not 0 < int(match["port"]) < 2**16:
        raise SettingsError(f"scheduler = {shown(address)} is no address with a port: {_REMEDY}")
    return match["protocol"], match["host"].strip("[]"), int(match["port"])


def _knock_at_scheduler(address: str) -> None:
    """Find out soon that no scheduler is there; Dask's own client may wait for ever."""
    protocol, host, port = check_dask_address(address)
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
def _quiet_dask_logs() -> Iterator[None]:
    """What Dask would log of a lost scheduler, tracebacks among it, is in the errors we raise."""
    loggers = [logging.getLogger(name) for name in _LOGGERS]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)


@contextlib.contextmanager
def own_dask_cluster(workers: int) -> Iterator[Client]:
    """A scheduler and workers that are threads of this process, and hand blocks to others.

    As processes, Dask's own workers would run the caller's ``__main__`` again, share Ctrl-C with
    it and change its environment.
    """
    from distributed import Client, LocalCluster

    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="giantstep-dask-"))
        try:
            cluster = LocalCluster(
                n_workers=workers,
                threads_per_worker=1,
                processes=False,
                memory_limit=0,
                local_directory=folder,
                silence_logs=logging.CRITICAL,
                # No dashboard, and any free port for what it leaves.
                scheduler_kwargs={"dashboard": False, "dashboard_address": ":0"},
            )
        except Exception as error:
            cause = one_line(str(error)) or type(error).__name__
            raise GiantstepError(
                f"a Dask cluster cannot be started here ({cause}): use engine = 'local'"
            ) from None
        stack.enter_context(cluster)
        yield stack.enter_context(Client(cluster, set_as_default=False))
