"""How long a person waits: `giantstep --help`, a cold `explain`, and a quick report."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks.row import Row, seconds, under_limit

#: Seconds that help may take.
HELP = 0.2
#: Seconds that `report --quick` may take, on two quiet cores.
REPORT = 40.0
GIANTSTEP = str(Path(sys.executable).parent / "giantstep")


def rows() -> Iterator[Row]:
    """Help against a bare interpreter; explain and a report against their limits."""

    def run(*command: str) -> float:
        return seconds(lambda: subprocess.run(command, check=True, capture_output=True), 5)

    bare, helped = run(sys.executable, "-c", "pass"), run(GIANTSTEP, "--help")
    yield Row(
        "giantstep --help",
        f"{helped:.3f} s",
        f"python -c pass {bare:.3f} s",
        helped / bare,
        f"<= {HELP / bare:.1f} ({HELP} s)",
        helped <= HELP,
    )
    for target, limit in [
        ("h1 + He3(h1)*h2", 3.0),
        ("sign(h1*h2)", 3.0),
        ("He4(h1) + sign(h1*h2*h3)", 12.0),
    ]:
        took = seconds(
            lambda t=target: subprocess.run(
                [GIANTSTEP, "explain", t, "--json"], check=True, capture_output=True
            ),
            1,
        )
        yield under_limit(f"cold explain {target}", took, limit)
    with tempfile.TemporaryDirectory() as folder:
        page = str(Path(folder) / "report.html")
        words = [GIANTSTEP, "report", "h1 + h1*h2", "--quick", "--out", page]
        took = seconds(lambda: subprocess.run(words, check=True, capture_output=True), 1)
    yield under_limit("report h1 + h1*h2 --quick", took, REPORT)
