"""`report`: a page about a target from Python."""

from __future__ import annotations

from pathlib import Path

from giantstep.language.problem import GivenInputs, Problem
from giantstep.language.targets import Target
from giantstep.reports.page import Report, write_report
from giantstep.reports.scale import FULL, QUICK


def report(
    problem: Problem | Target | str,
    out: str | Path = "report.html",
    *,
    noise: float | None = None,
    inputs: GivenInputs | None = None,
    quick: bool = False,
    seed: int = 0,
) -> Report:
    """Write one page about a target: what it is and how it is learned, theory and simulation.

    ``problem`` is a target or its expression; ``quick`` takes small sizes and few seeds.
    """
    given = Problem.of(problem, noise=noise, inputs=inputs)
    return write_report(given, Path(out), scale=QUICK if quick else FULL, seed=seed)
