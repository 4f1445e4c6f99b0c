"""What an engine costs: overhead of trivial cells, efficiency of two workers.

Importing and starting the workers is left out: time runs from the start of the first cell.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from benchmarks.row import Row, seconds
from giantstep.answer import Prediction, Run
from giantstep.asking.studies.kept import KeptStudy
from giantstep.asking.studies.records import Counts
from giantstep.asking.studies.study import Study
from giantstep.asking.table import Learner
from giantstep.language.problem import Problem
from giantstep.settings.options import Settings, option

MOST_OVERHEAD = 0.005
LEAST_EFFICIENCY = 0.9
#: Enough for a mean; and cells of so many seconds of work, for each of two workers.
CELLS = 300
WORKING, WORK = 8, 0.5


@dataclass(frozen=True, kw_only=True)
class Trivial(Settings):
    """A number, and how much processor time to spend on it."""

    learner: ClassVar[str] = "trivial"

    number: float = option(0.0, "a number", kind=float)
    size: int = option(1, "another, of a kind that may change a program's shape", kind=int)
    work: float = option(0.0, "processor seconds", kind=float, low=0)


def simulate(
    problem: Problem, settings: Trivial, *, seeds: int = 8, seed: int = 0, progress: Any = None
) -> Run:
    """The number back, after the work."""
    end = time.process_time() + settings.work * seeds
    while time.process_time() < end:
        pass
    return Run("trivial", settings.to_json(), {"number": np.full(seeds, settings.number)})


def predict(problem: Problem, settings: Trivial) -> Prediction:
    """The number back."""
    return Prediction("trivial", settings.to_json(), {"number": settings.number}, "theorem", ())


TRIVIAL = Learner(
    name="trivial",
    summary="nothing",
    settings="studies:Trivial",
    simulate="studies:simulate",
    predict="studies:predict",
    metrics=("number",),
    theory="itself",
    references=(),
    example="",
    package="benchmarks",
)


class Stopwatch:
    """From the start of the first cell to the last row written."""

    def __init__(self) -> None:
        self.first = self.last = 0.0

    def __call__(self, counts: Counts, stopping: bool) -> None:
        """Note the time whenever rows were written."""
        if counts.done:
            self.last = time.perf_counter()
            self.first = self.first or self.last


def measured(axis: str, cells: int, workers: int, **how: Any) -> tuple[float, float]:
    """Seconds for that many cells, and the mean seconds within one."""
    study = Study(
        name="benchmark",
        learner=TRIVIAL,
        problem="h1",
        settings={"work": how.pop("work", 0.0)},
        axes={axis: f"1:{cells}:{cells}"},
        seeds=1,
        verbs=("simulate",),
    )
    watch = Stopwatch()
    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder, "s.sqlite")
        study.run(store=store, workers=workers, watch=watch, **how)
        kept = KeptStudy(store, "benchmark")
        assert kept.counts().done == cells
        each = [row.seconds or 0.0 for row in kept.rows()]
    return watch.last - watch.first + max(each[:workers]), float(np.mean(each))


def rows() -> Iterator[Row]:
    """Overhead for cells of one shape and of many shapes; efficiency on cells that work."""
    problem, settings = Problem.of("h1"), Trivial()
    bare = seconds(lambda: [simulate(problem, settings, seeds=1) for _ in range(CELLS)]) / CELLS
    for engine, axis, what in (
        ("local", "number", "one shape"),
        ("local", "size", "each of its own shape"),
        ("dask", "number", "one shape"),
    ):
        total, _ = measured(axis, CELLS, 1, engine=engine)
        overhead = total / CELLS - bare
        yield Row(
            f"{engine} engine, {CELLS} trivial cells, {what}, 1 worker",
            f"{1e3 * overhead:.2f} ms a cell",
            f"limit {1e3 * MOST_OVERHEAD:g} ms beside {1e3 * bare:.2f} ms of the bare function",
            overhead / MOST_OVERHEAD,
            "<= 1",
            overhead <= MOST_OVERHEAD,
        )
    _, alone = measured("number", 2, 1, work=WORK)
    total, together = measured("number", 2 * WORKING, 2, work=WORK)
    # The first compares with one worker alone and suffers from whatever else the machine does;
    # the second is the share of the workers' time that the engine leaves to the cells.
    for peer, each in (("one worker", alone), ("time within cells", together)):
        efficiency = WORKING * each / total
        yield Row(
            f"local engine, {2 * WORKING} cells of {WORK:g} processor seconds, 2 workers",
            f"{total:.2f} s",
            f"{peer} {2 * WORKING * each:.2f} s / 2",
            efficiency,
            f">= {LEAST_EFFICIENCY}",
            efficiency >= LEAST_EFFICIENCY,
        )
