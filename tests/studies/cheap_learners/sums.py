"""A learner that adds random numbers, and can sleep, fail or die on demand."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from giantstep.answer import Prediction, Run
from giantstep.errors import NoTheory
from giantstep.language.problem import Problem
from giantstep.language.sizes import Size
from giantstep.numerics.seeds import generator
from giantstep.settings.options import Settings, option


@dataclass(frozen=True, kw_only=True)
class Sums(Settings):
    """Sums of ``samples`` normal numbers around ``centre``."""

    learner: ClassVar[str] = "sums"

    dim: int = option(10, "dimension", kind=int, low=1)
    samples: Any = option("d", "numbers to add", kind=Size)  # noqa: RUF009
    centre: float = option(1.0, "their mean", kind=float)
    pause: float = option(0.0, "seconds to sleep for each seed", kind=float, low=0)
    trouble: str = option(
        "none", "none, error, eat, unless:FILE, kill, kill-once:FILE or count:FILE"
    )


def simulate(
    problem: Problem,
    settings: Sums,
    *,
    seeds: int = 8,
    seed: int = 0,
    progress: Callable[[float], None] | None = None,
) -> Run:
    """Add the numbers, once for each seed."""
    time.sleep(settings.pause * seeds)
    _cause_trouble(settings.trouble)
    count = settings.samples.count(settings.dim)
    draws = [
        settings.centre
        + generator("sums", problem.to_json(), settings.to_json(), seed + i).normal(size=count)
        for i in range(seeds)
    ]
    return Run(
        learner="sums",
        settings=settings.to_json(),
        metrics={
            "total": np.array([draw.sum() for draw in draws]),
            "profile": np.array([draw[:3] for draw in draws]),
        },
        arrays={"draws": np.array(draws, dtype=np.float32)},
    )


def predict(problem: Problem, settings: Sums) -> Prediction:
    """The mean of the sum."""
    if settings.centre < 0:
        raise NoTheory(f"centre = {settings.centre} is negative: there is theory from 0 upwards")
    count = settings.samples.count(settings.dim)
    return Prediction(
        learner="sums",
        settings=settings.to_json(),
        metrics={"total": count * settings.centre, "profile": [settings.centre] * 3},
        statuses={"total": "theorem", "profile": "theorem"},
        references=("none",),
    )


def _cause_trouble(trouble: str) -> None:
    if trouble == "error":
        raise RuntimeError("asked to fail")
    if trouble == "eat":
        eaten = np.ones(600 * 2**17)
        time.sleep(600 * eaten[0])
    if trouble.startswith("count:"):
        with Path(trouble.removeprefix("count:")).open("a") as file:
            file.write(f"{os.getpid()}\n")
    if trouble.startswith("unless:") and not Path(trouble.removeprefix("unless:")).exists():
        raise RuntimeError("asked to fail until the file is there")
    if trouble.startswith("kill-once:"):
        mark = Path(trouble.removeprefix("kill-once:"))
        if not mark.exists():
            mark.touch()
            trouble = "kill"
    if trouble == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
