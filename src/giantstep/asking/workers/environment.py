"""What a worker process starts with: its thread counts, its import path, its process group."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

_THREAD_COUNTS = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    # The size of XLA's own pool.
    "NPROC",
)
#: Compiled programs that are kept.
MOST_CACHE_BYTES = 2**30
_ONE_XLA_THREAD = "--xla_cpu_multi_thread_eigen=false"


def worker_environment(threads: int, environment: Mapping[str, str]) -> dict[str, str]:
    """The environment of a worker: this one, with thread counts and this process's import path."""
    path = os.pathsep.join(entry or os.getcwd() for entry in sys.path)
    return {**environment, **_thread_settings(threads, environment), "PYTHONPATH": path}


def worker_threads() -> int:
    """How many threads this process computes with: one if it was told so before it began."""
    is_one = os.environ.get("OMP_NUM_THREADS") == "1"
    is_one &= _ONE_XLA_THREAD in os.environ.get("XLA_FLAGS", "").split()
    return 1 if is_one else usable_cores()


def usable_cores() -> int:
    """Cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def worker_process_group() -> dict[str, Any]:
    """Keyword arguments for Popen: Ctrl-C is for the coordinator, which lets its workers finish."""
    if sys.platform == "win32":
        return {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP}
    return {"process_group": 0}


def use_compilation_cache() -> None:
    """Keep compiled programs in the user's cache folder, so that the next command starts warm."""
    home = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    folder = Path(home) / "giantstep" / "jax"
    os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(folder))
    os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0.1")
    with contextlib.suppress(OSError):
        _forget_old_compilations(folder, MOST_CACHE_BYTES)


def _forget_old_compilations(folder: Path, most_bytes: float) -> None:
    """Once a folder holds more, delete its oldest files until half of that is left."""
    files = [(path.stat(), path) for path in folder.iterdir() if path.is_file()]
    held = sum(found.st_size for found, _ in files)
    if held <= most_bytes:
        return
    for found, path in sorted(files, key=lambda item: item[0].st_mtime):
        if held <= most_bytes / 2:
            break
        path.unlink(missing_ok=True)
        held -= found.st_size


def _thread_settings(threads: int, environment: Mapping[str, str]) -> dict[str, str]:
    flags = environment.get("XLA_FLAGS", "").split()
    if threads == 1 and _ONE_XLA_THREAD not in flags:
        flags.append(_ONE_XLA_THREAD)
    return {**dict.fromkeys(_THREAD_COUNTS, str(threads)), "XLA_FLAGS": " ".join(flags)}
