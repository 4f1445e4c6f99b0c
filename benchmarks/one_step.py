"""One giant step: the exact risk, its curves, the best step and ridge."""

from __future__ import annotations

import itertools
import tracemalloc
from collections.abc import Iterator

import numpy as np

from benchmarks.row import Row, under_limit
from benchmarks.row import cpu_seconds as seconds
from giantstep.language.activations.activation import activation
from giantstep.language.problem import Problem
from giantstep.settings.giant_step import GiantStep
from giantstep.theory.giant_step.risk.best_schedule import best_schedule
from giantstep.theory.giant_step.risk.over_sizes import RiskOverSizes
from giantstep.theory.one_step.stepped_network import one_step

SINE = Problem.of("sin(h1)", noise=0.05)
STEP = GiantStep(
    activation="tanh",
    readout="ones",
    samples="20d",
    step_size=3,
    width="1d",
    readout_samples="1.6d",
    ridge=0.1,
)
BLOCKS = STEP.replace(readout="-1:0.3,0.5:0.3,2:0.4")
RELU = STEP.replace(activation="relu", samples="4d", step_size=1.5)
PAIRS = RELU.replace(readout="symmetric-sign")
GAUSSIAN = RELU.replace(readout="normal")


def rows() -> Iterator[Row]:
    """Every number after compilation; then whether new numbers compiled again."""
    yield under_limit("one risk, one block", _evaluation(STEP), 0.05)
    yield under_limit("one risk, three blocks", _evaluation(BLOCKS), 0.05)
    yield under_limit("one risk at d = 200", _evaluation(STEP.replace(dim=200)), 0.05)
    yield under_limit("any activation, one block", fresh_point(RELU), 0.012)
    yield under_limit("any activation at d = 200", fresh_point(RELU.replace(dim=200)), 0.15)
    yield under_limit("any activation, pairs", fresh_point(PAIRS), 1.5)
    yield under_limit("any activation, Gaussian readout", fresh_point(GAUSSIAN), 1.5)
    yield from _curve()
    yield _curve_of_any_activation()
    yield _memory()
    best_schedule(SINE, STEP)
    yield under_limit("best step and ridge", seconds(lambda: best_schedule(SINE, STEP)), 3.0)


def _evaluation(settings: GiantStep) -> float:
    step, sizes = one_step(SINE, settings)
    sigma = activation(settings.activation)

    def evaluate() -> float:
        return float(step.risk(sigma, SINE, sizes).test)

    evaluate()
    return seconds(evaluate, 10)


def fresh_point(settings: GiantStep, ridges: tuple[float, ...] = ()) -> float:
    """A point, or a curve of ridges, rows and labels included: each has steps of its own."""
    return _fresh(settings, [{"ridge": ridge} for ridge in ridges] or [{}], ridges)


def _fresh(
    settings: GiantStep, points: list[dict[str, float]], along: tuple[float, ...] = ()
) -> float:
    """The best time of points of one curve; what is kept of a solution serves no repetition."""
    size = float(settings.step_size.at(1))
    sizes = itertools.count(size, size * 1e-9)

    def evaluate() -> None:
        over = RiskOverSizes(SINE, settings.replace(step_size=next(sizes)), along=along)
        for point in points:
            over.at(over.sizes._replace(**point))

    evaluate()
    return seconds(evaluate, 5)


#: A curve over the samples of the fit.
CURVE = [{"readout_samples_ratio": float(value)} for value in np.linspace(0.2, 3.0, 100)]


def _curve_of_any_activation() -> Row:
    return under_limit("any activation, a curve of 100 points", _fresh(RELU, CURVE), 5.0)


def _memory() -> Row:
    """The most that a Gaussian readout, the largest of these, allocates at once."""
    tracemalloc.start()
    fresh_point(GAUSSIAN)
    peak = tracemalloc.get_traced_memory()[1] / 2**30
    tracemalloc.stop()
    return Row("Gaussian readout", f"{peak:.2f} GiB", "limit 1 GiB", peak, "<= 1", peak <= 1)


def _curve() -> Iterator[Row]:
    yield under_limit("a curve of 100 points", _fresh(STEP, CURVE), 1.0)
