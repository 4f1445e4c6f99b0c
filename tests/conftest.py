"""What every test runs under: strict JAX promotion, and shapes checked at each public call."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

# One thread for each test process: two processes share two cores.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
if "xla_cpu_multi_thread_eigen" not in os.environ.get("XLA_FLAGS", ""):
    os.environ["XLA_FLAGS"] = (
        f"{os.environ.get('XLA_FLAGS', '')} --xla_cpu_multi_thread_eigen=false".strip()
    )
# A program is compiled once: not by both processes, and not again by the commands that tests start.
os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(Path(__file__).parents[1] / ".jax_cache"))
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0.05")
os.environ.setdefault("JAX_NUMPY_DTYPE_PROMOTION", "strict")
os.environ.setdefault("JAX_NUMPY_RANK_PROMOTION", "raise")

import jaxtyping
from hypothesis import settings
from jaxtyping import install_import_hook
from threadpoolctl import threadpool_limits

sys.path.insert(0, str(Path(__file__).parent))
import shape_checks

# Plugins of pytest may have imported numpy before its threads were set above.
threadpool_limits(1)

# The hook writes `@jaxtyping.jaxtyped` above every function.
jaxtyping.jaxtyped = shape_checks.jaxtyped
CHECKED = ["numerics", "language.targets", "language.activations", "measures", "channels"]
CHECKED += ["learners", "theory"]
install_import_hook([f"giantstep.{room}" for room in CHECKED], "shape_checks.check")

# The same examples on every machine, however slow it is.
settings.register_profile("giantstep", derandomize=True, deadline=None)
settings.load_profile("giantstep")


# What is imported and collected stays: the garbage collector need not look at it again and again.
gc.disable()


def pytest_collection_finish() -> None:
    """From here on only what tests leave behind is looked at, and in larger portions."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)
    gc.enable()


#: Folders whose tests run over and over what the tests of the rooms call with checks.
UNCHECKED = {"agreement", "estimators", "gallery", "reports", "studies"}


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> None:
    """Check shapes in fast tests; a simulation of many seeds would take three times as long."""
    folders = item.path.relative_to(item.config.rootpath).parts
    marked = any(item.get_closest_marker(name) for name in ("slow", "unchecked"))
    shape_checks.begin_test(checked=not marked and UNCHECKED.isdisjoint(folders))


@pytest.fixture(autouse=True, scope="session")
def whole_line() -> Iterator[int]:
    """Draw lines of theory through few points, which takes less time; how many users get."""
    from giantstep.asking import curves

    whole = curves.POINTS
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(curves, "POINTS", 9)
        yield whole
