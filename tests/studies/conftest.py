"""Learners that cost nothing, importable here and in every worker process."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from cheap_learners import SUMS
from processes import end, start_command

from giantstep.asking.studies.kept import KeptStudy
from giantstep.asking.studies.study import Study


@pytest.fixture(scope="session")
def sums() -> Callable[..., Study]:
    """A maker of studies of the cheap learner."""

    def make(**fields: Any) -> Study:
        given = {"name": "sums", "learner": SUMS, "problem": "h1", "seeds": 3, "together": 2}
        return Study(**{**given, **fields})

    return make


@pytest.fixture(scope="session")
def content() -> Callable[[KeptStudy], list[Any]]:
    """Everything in the rows of a study that must not depend on how it was run."""

    def read(results: KeptStudy) -> list[Any]:
        rows = []
        for row in results.rows():
            about = {name: row.about.get(name) for name in ("notes", "statuses", "references")}
            rows.append((*row[:5], row.error, about, row.numbers))
        return rows

    return read


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """`giantstep ARGUMENTS` as a program in the test's folder; none outlives the test."""
    started: list[subprocess.Popen[str]] = []

    def begin(*arguments: str) -> subprocess.Popen[str]:
        started.append(start_command(*arguments, cwd=tmp_path))
        return started[-1]

    yield begin
    for process in started:
        if process.stderr and not process.stderr.closed:
            end(process)
