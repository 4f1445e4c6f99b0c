"""Giant steps: the direct step beside raw matrix products and PyTorch, and the law beside both."""

from __future__ import annotations

import itertools
import multiprocessing
import resource
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.row import Row, under_limit
from giantstep.language.problem import Problem
from giantstep.learners.giant_step.direct import DirectRun
from giantstep.learners.giant_step.draws import Draws, threads_of_random_draws
from giantstep.learners.giant_step.plan import plan_giant_steps
from giantstep.learners.giant_step.simulation import simulate
from giantstep.numerics.float64 import float64
from giantstep.settings.giant_step import GiantStep

STAIRS = Problem.of("h1 + h1*h2")
DIM, SAMPLES, WIDTH = 1000, 16_000, 1000
ROUNDS = 12
GIB = 2**30
#: Memory, in GiB, of a process that streams a million samples.
LIMIT = 1.5


def rows() -> Iterator[Row]:
    """Every bar of the learner."""
    yield from _direct_step()
    yield _streaming_memory()
    yield _law_in_high_dimension()
    yield from _law_against_direct()
    yield _law_at_any_dimension()


def side_by_side(work: dict[str, Callable[[], Any]], rounds: int = ROUNDS) -> dict[str, float]:
    """Shortest time of each, taken in turns so that a busy machine disturbs all alike."""
    best = dict.fromkeys(work, float("inf"))
    for turn in range(rounds + 1):
        for name, run in work.items():
            begin = time.perf_counter()
            run()
            if turn:
                best[name] = min(best[name], time.perf_counter() - begin)
    return best


def _direct_step() -> Iterator[Row]:
    with ExitStack() as stack:
        stack.enter_context(float64())
        threads = stack.enter_context(threads_of_random_draws())
        work = {"products": _products(SAMPLES // 8), "products at once": _products(SAMPLES)}
        work["data given"] = _steps("reused", threads)
        work["data drawn"] = _steps("fresh", threads)
        torch_step = _torch_step()
        if torch_step is not None:
            work["torch"] = torch_step
        took = side_by_side(work)
    limit = min(took["products"], took["products at once"])
    size = f"d={DIM}, n={SAMPLES}, p={WIDTH}, float32"
    for name, goal in (("data given", 0.8), ("data drawn", 0.85)):
        ratio = limit / took[name]
        yield Row(
            f"direct step, {name}: {size}",
            f"{took[name]:.3f} s",
            f"two products {limit:.3f} s",
            ratio,
            f">= {goal}",
            ratio >= goal,
        )
    if torch_step is None:
        yield Row("the same by autograd", "", "torch not installed", float("nan"), ">= 1", True)
        return
    ratio = took["torch"] / took["data given"]
    yield Row(
        "the same by autograd",
        f"{took['data given']:.3f} s",
        f"torch {took['torch']:.3f} s",
        ratio,
        ">= 1",
        ratio >= 1,
    )


def _products(chunk: int) -> Callable[[], None]:
    """X W^T and D^T X, the two matrix products that a step contains."""
    import jax
    import jax.numpy as jnp

    forward, backward = jax.jit(lambda x, w: x @ w.T), jax.jit(lambda d, x: d.T @ x)
    drawn = np.random.default_rng(0).standard_normal((chunk, DIM), dtype=np.float32)
    x, w = jnp.asarray(drawn), jnp.asarray(drawn[:WIDTH])
    fields = forward(x, w)

    def run() -> None:
        for _ in range(SAMPLES // chunk):
            forward(x, w).block_until_ready()
            backward(fields, x).block_until_ready()

    return run


def _steps(batches: str, threads: Any) -> Callable[[], None]:
    settings = GiantStep(
        dim=DIM, samples=SAMPLES, width=WIDTH, steps=ROUNDS + 1, batches=batches, readout="sign"
    )
    runs = DirectRun(plan_giant_steps(STAIRS, settings), Draws([0], threads))
    numbers = itertools.count(1)

    def run() -> None:
        runs.step(next(numbers))
        runs.weights.block_until_ready()

    return run


def _torch_step() -> Callable[[], None] | None:
    try:
        import torch
    except ImportError:
        return None
    x = torch.randn(SAMPLES, DIM)
    labels = x[:, 0] + x[:, 0] * x[:, 1]
    weights = (torch.randn(WIDTH, DIM) / DIM**0.5).requires_grad_()
    readout = torch.sign(torch.randn(WIDTH))

    def run() -> None:
        output = torch.relu(x @ weights.T) @ readout / WIDTH
        loss = WIDTH * ((labels - output) ** 2).mean() / 2
        (gradient,) = torch.autograd.grad(loss, weights)
        with torch.no_grad():
            weights.sub_(gradient)

    return run


def _streaming_memory() -> Row:
    """In a process of its own, because the peak of this one is already history."""
    context = multiprocessing.get_context("spawn")
    with context.Pool(1) as pool:
        peak, took = pool.apply(_peak_of_a_long_stream)
    return Row(
        "direct, n=1,000,000 streamed, d=1000, p=1000",
        f"{peak / GIB:.2f} GiB in {took:.0f} s",
        f"limit {LIMIT} GiB",
        peak / (LIMIT * GIB),
        "<= 1",
        peak <= LIMIT * GIB,
    )


def _peak_of_a_long_stream() -> tuple[int, float]:
    settings = GiantStep(dim=1000, samples=1_000_000, width=1000, method="direct")
    run = simulate(STAIRS, settings, seeds=1)
    return _peak(), run.seconds


def _peak() -> int:
    """Most memory this process has held, in bytes.

    Linux counts in ``ru_maxrss`` what the parent held when it started this process: hence its own
    account of the process, where there is one.
    """
    status = Path("/proc/self/status")
    if status.exists():
        (line,) = (text for text in status.read_text().splitlines() if text.startswith("VmHWM"))
        return int(line.split()[1]) * 1024
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def _law_in_high_dimension() -> Row:
    settings = GiantStep(dim=10**6, samples="d", width=8, steps=3, step_size=3, method="in-law")
    run = simulate(Problem.of("h1 + h1*h2 + 0.25*h2^2"), settings, seeds=1)
    return under_limit("in law with compilation: d=n=1e6, p=8, T=3", run.seconds, 5.0)


def _law_against_direct() -> Iterator[Row]:
    settings = GiantStep(dim=4096, samples="d^1.5", width=32, steps=2, step_size=2)
    law_took = _law_seconds(settings)
    direct = settings.replace(method="direct")
    simulate(STAIRS, direct.replace(samples=512), seeds=1)
    yield _speed_up(
        "d=4096, n=d^1.5, p=32, T=2", law_took, simulate(STAIRS, direct, seeds=1).seconds, 40
    )

    settings = settings.replace(dim=100_000, steps=1)
    chunk = 4 * 256
    part = settings.replace(method="direct", samples=chunk)
    took = min(_step_seconds(part, seed) for seed in range(4))
    scaled = took * settings.samples.count(100_000) / chunk
    yield _speed_up("d=100,000, n=d^1.5, p=32, T=1", _law_seconds(settings), scaled, 1000)


def _law_seconds(settings: GiantStep) -> float:
    """The shortest of three runs, after one that compiles."""
    law = settings.replace(method="in-law")
    simulate(STAIRS, law.replace(samples="3d"), seeds=1)
    return min(simulate(STAIRS, law, seeds=1, seed=i).seconds for i in range(3))


def _speed_up(work: str, law: float, direct: float, goal: float) -> Row:
    ratio = direct / law
    return Row(
        f"in law, {work}",
        f"{law:.2f} s",
        f"direct {direct:.0f} s",
        ratio,
        f">= {goal:g}",
        ratio >= goal,
    )


def _step_seconds(settings: GiantStep, seed: int) -> float:
    """One direct step without what surrounds it."""
    with float64(), threads_of_random_draws() as threads:
        runs = DirectRun(plan_giant_steps(STAIRS, settings), Draws([seed], threads))
        begin = time.perf_counter()
        runs.step(1)
        runs.weights.block_until_ready()
        return time.perf_counter() - begin


def _law_at_any_dimension() -> Row:
    def run(dim: int) -> Callable[[], None]:
        settings = GiantStep(dim=dim, samples=100_000, width=8, steps=3, method="in-law")
        return lambda: simulate(STAIRS, settings, seeds=1)

    took = side_by_side({f"1e{k}": run(10**k) for k in (3, 6, 9)}, rounds=12)
    ratio = max(took.values()) / min(took.values())
    return Row(
        "in law, n=1e5, p=8, T=3 at d=1e3, 1e6, 1e9",
        ", ".join(f"{seconds:.3f} s" for seconds in took.values()),
        "each other",
        ratio,
        "<= 1.3",
        ratio <= 1.3,
    )
