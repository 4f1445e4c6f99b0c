"""Structured inputs: flows, when one is halfway, Algorithm 1 and Langevin beside products."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from benchmarks.row import Row, seconds, under_limit
from giantstep.language.problem import Problem
from giantstep.learners import gradient_flow, langevin
from giantstep.settings.gradient_flow import GradientFlow
from giantstep.settings.langevin import Langevin
from giantstep.theory.gradient_flow.prediction import predict

#: Pairs of timings beside products, and seconds before each: threads of BLAS wait in a loop for
#: more work, and would take a core from what comes next.
REPEATS, REST = 7, 0.3


def rows() -> Iterator[Row]:
    """Every bar of structured inputs."""
    link = "0.8*He2(h1)/sqrt(2) + 0.6*He3(h1)/sqrt(6)"
    problem = Problem(link, inputs="spiked:8,alignment=0.5")
    start = {"start_spike_overlap": 0.3, "start_target_overlap": 0.4, "times": 0.3}
    for geometry in ("spherical", "normalised", "preconditioned"):
        settings = GradientFlow(geometry=geometry, **start)
        predict(problem, settings)
        took = seconds(lambda settings=settings: predict(problem, settings))
        yield under_limit(f"{geometry} flow to t = 0.3", took, 0.05)
    quartic = Problem("-He4(h1)/sqrt(24)", inputs="spiked:strength=d^0.5,alignment=d^-0.25")
    until = GradientFlow(geometry="normalised", dim=1000, until=0.5)
    took = seconds(lambda: predict(quartic, until))
    yield under_limit("time of the normalised flow to an overlap of 0.5, d = 1000", took, 0.05)
    yield _algorithm_one()
    yield _langevin()


def _algorithm_one() -> Row:
    """400 steps of 16 neurons on n = 16 d samples, d = 128, beside the two products of a step."""
    problem = Problem("He3(h1)/sqrt(6)", inputs="spiked:strength=d^0.5,alignment=d^-0.25")
    settings = GradientFlow(dim=128, samples="16d", activation="relu(z-1)")
    return _beside(
        "Algorithm 1, d=128, n=2048, 16 neurons, 400 steps",
        lambda: gradient_flow.simulate(problem, settings, seeds=1),
        _products(samples=2048, columns=128, neurons=16, steps=400),
        2.0,
    )


def _langevin() -> Row:
    """200 steps of 500 particles on 800 samples, d = 200, beside the two products of a step."""
    problem = Problem("sign(h1*h2)", inputs="hypercube")
    settings = Langevin(dim=200, samples=800, steps=200, test_samples=10)
    return _beside(
        "Langevin, d=200, n=800, N=500, 200 steps",
        lambda: langevin.simulate(problem, settings, seeds=1),
        _products(samples=800, columns=201, neurons=500, steps=200),
        1.5,
    )


def _products(samples: int, columns: int, neurons: int, steps: int) -> Callable[[], None]:
    """Pre-activations of every neuron on every sample, and the way back, in float32."""
    rng = np.random.default_rng(0)
    x, w = (rng.standard_normal((rows, columns)).astype(np.float32) for rows in (samples, neurons))
    fields = x @ w.T

    def products() -> None:
        for _ in range(steps):
            x @ w.T
            fields.T @ x

    return products


def _beside(work: str, ours: Callable[[], Any], peer: Callable[[], Any], most: float) -> Row:
    """Median ratio of neighbouring timings: a machine that is busy is busy for both of them.

    With one thread (OPENBLAS_NUM_THREADS=1, one core) the ratio of CPU seconds, which is told
    beside, says the same on a busy machine; with two, BLAS counts its waiting.
    """
    ours()
    peer()
    pairs = [(_timed(ours), _timed(peer)) for _ in range(REPEATS)]
    wall, processor = np.median([np.divide(*pair) for pair in pairs], axis=0)
    (mine, _), (theirs, _) = np.min(pairs, axis=0)
    told = f"products {theirs:.2f} s (CPU ratio {processor:.2f})"
    return Row(work, f"{mine:.2f} s", told, float(wall), f"<= {most:g}", bool(wall <= most))


def _timed(work: Callable[[], Any]) -> tuple[float, float]:
    """Seconds on the wall, and of the processor."""
    time.sleep(REST)
    begin, processor = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - begin, time.process_time() - processor
