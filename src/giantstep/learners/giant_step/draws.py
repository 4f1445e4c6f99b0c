"""Random numbers of a simulation: one stream for each (run, role, step, chunk, block)."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from enum import IntEnum
from typing import TypeVar

import numpy as np
from jaxtyping import Float

from giantstep.numerics.noise import BLOCK, normals_of_bits

ALIGNMENT = 64


class Role(IntEnum):
    """What a stream is for. Adding a role leaves the numbers of all others as they are."""

    ROWS = 0
    NEURONS = 1
    BATCH = 2
    BATCH_LABELS = 3
    FIT = 4
    FIT_LABELS = 5
    TEST = 6
    TEST_LABELS = 7
    BARTLETT = 8
    EXPLORED = 9
    FRESH_BIASES = 10


class Draws:
    """The random numbers of a group of runs, stacked along a first axis of runs.

    numpy's generators are several times as fast as XLA's on a CPU, and release the interpreter
    lock, so that threads share a large array. Every block has its own stream: the numbers depend
    on the run's seed and on the shape asked for, never on how many threads there are or on which
    was first.
    """

    def __init__(self, seeds: Sequence[int], executor: Executor) -> None:
        self.seeds = tuple(seeds)
        self._executor = executor

    def streams(self, *path: int) -> list[np.random.Generator]:
        """One generator for each run, determined by the run's seed and the path."""
        return [_stream_of_draws(seed, path) for seed in self.seeds]

    def normal(
        self, shape: tuple[int, ...], *path: int, dtype: str = "float64"
    ) -> Float[np.ndarray, "runs ..."]:
        """Standard normals of shape (runs, *shape)."""
        return self.begin_normal(shape, *path, dtype=dtype)()

    def begin_normal(
        self, shape: tuple[int, ...], *path: int, dtype: str = "float64"
    ) -> Callable[[], Float[np.ndarray, "runs ..."]]:
        """Start to draw in the background; calling what is returned waits for the numbers."""
        out = _aligned_draws((len(self.seeds), *shape), np.dtype(dtype))
        jobs = []
        for run, seed in zip(out, self.seeds, strict=True):
            flat = run.reshape(-1)
            if flat.size <= BLOCK:
                _stream_of_draws(seed, path).standard_normal(dtype=flat.dtype, out=flat)
                continue
            for i, block in enumerate(np.array_split(flat, -(-flat.size // BLOCK))):
                jobs.append(self._executor.submit(_fill_with_draws, block, seed, (*path, i)))

        def finished() -> np.ndarray:
            for job in jobs:
                job.result()
            return out

        return finished


@contextmanager
def threads_of_random_draws() -> Iterator[Executor]:
    """As many threads as the process may use cores."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    with ThreadPoolExecutor(cores, thread_name_prefix="draws") as executor:
        yield executor


def _aligned_draws(shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """An empty array that XLA can read where it is; from any other address it makes a copy."""
    size = math.prod(shape) * dtype.itemsize
    memory = np.empty(size + ALIGNMENT, dtype=np.uint8)
    first = -memory.ctypes.data % ALIGNMENT
    return memory[first : first + size].view(dtype).reshape(shape)


def _stream_of_draws(seed: int, path: Sequence[int]) -> np.random.Generator:
    sequence = np.random.SeedSequence(seed, spawn_key=tuple(int(i) for i in path))
    return np.random.Generator(np.random.SFC64(sequence))


def _fill_with_draws(block: np.ndarray, seed: int, path: Sequence[int]) -> None:
    stream = _stream_of_draws(seed, path)
    if block.dtype != np.float32:
        stream.standard_normal(dtype=block.dtype, out=block)
        return
    words = stream.integers(2**64 - 1, size=BLOCK // 2, dtype=np.uint64, endpoint=True)
    # The bytes in one order on every machine.
    block[:] = normals_of_bits(words.astype("<u8", copy=False).view("<u4"))[: block.size]


def draw_bartlett(
    draws: Draws, rows: int, freedom: int, *path: int
) -> Float[np.ndarray, "runs rows columns"]:
    r"""Lower trapezoidal T with :math:`G = T O`: G Gaussian, O with orthonormal rows.

    G is ``rows`` x ``freedom`` with iid N(0,1) entries. T has min(rows, freedom) columns,
    :math:`T_{ii} = \chi_{freedom - i}`, :math:`T_{ij} \sim N(0,1)` below the diagonal. Its cost
    does not depend on ``freedom``; chi is drawn in float64, exact at any number of degrees.
    """
    columns = min(rows, freedom)
    diagonal = np.arange(columns)
    factors = []
    for rng in draws.streams(*path):
        factor = np.tril(rng.standard_normal((rows, columns)), -1)
        factor[diagonal, diagonal] = np.sqrt(rng.chisquare(float(freedom) - diagonal))
        factors.append(factor)
    return np.stack(factors)


Item = TypeVar("Item")


@dataclass(frozen=True)
class Chunks:
    """``count`` chunks of ``rows`` rows; the last one may be filled only in part."""

    samples: int
    rows: int
    count: int

    @classmethod
    def of(cls, samples: int, most_rows: int) -> Chunks:
        """The fewest equal chunks of at most ``most_rows`` rows.

        >>> Chunks.of(1000, 300)
        Chunks(samples=1000, rows=250, count=4)
        """
        count = -(-samples // max(most_rows, 1))
        return cls(samples, -(-samples // count), count)

    def filled(self, index: int) -> int:
        """How many rows of that chunk are samples."""
        return min(self.rows, self.samples - index * self.rows)


def draw_batch_ahead(
    begin: Callable[[int], Callable[[], Item]],
    count: int,
    progress: Callable[[float], None] | None = None,
) -> Iterator[Item]:
    """Items 0..count-1, the next one being made in the background while one is in use."""
    pending = begin(0)
    for index in range(count):
        item = pending()
        if index + 1 < count:
            pending = begin(index + 1)
        yield item
        if progress is not None:
            progress((index + 1) / count)
