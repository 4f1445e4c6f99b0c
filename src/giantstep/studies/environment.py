"""What a worker process starts with: its thread counts, its import path, its process group."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from functools import cache
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
_ONE_XLA_THREAD = "--xla_cpu_multi_thread_eigen=false"


def worker_environment(threads: int, environment: Mapping[str, str]) -> dict[str, str]:
    """The environment of a worker: this one, with thread counts and this process's import path."""
    path = os.pathsep.join(entry or os.getcwd() for entry in sys.path)
    return {**environment, **_thread_settings(threads, environment), "PYTHONPATH": path}


@cache
def limit_threads_here(threads: int) -> None:
    """Set the thread counts of a process that was started by somebody else."""
    import threadpoolctl

    if "jax" not in sys.modules:
        os.environ.update(_thread_settings(threads, os.environ))
    threadpoolctl.threadpool_limits(threads)


def own_process_group() -> dict[str, Any]:
    """Keyword arguments for Popen: Ctrl-C is for the coordinator, which lets its workers finish."""
    if sys.platform == "win32":
        return {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP}
    return {"process_group": 0}


def use_compilation_cache() -> None:
    """Keep compiled programs in the user's cache folder, so that the next command starts warm."""
    home = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(Path(home) / "giantstep" / "jax"))
    os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0.1")


def _thread_settings(threads: int, environment: Mapping[str, str]) -> dict[str, str]:
    flags = environment.get("XLA_FLAGS", "").split()
    if threads == 1 and _ONE_XLA_THREAD not in flags:
        flags.append(_ONE_XLA_THREAD)
    return {**dict.fromkeys(_THREAD_COUNTS, str(threads)), "XLA_FLAGS": " ".join(flags)}
