"""A live bar on standard error: cells done and failed, rate, time left."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from giantstep.asking.studies.records import Counts
    from giantstep.asking.studies.run import Watcher


@contextmanager
def study_progress_bar(name: str) -> Iterator[Watcher | None]:
    """A watcher that draws the bar; None where nobody would see it."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
    from rich.progress import TimeRemainingColumn as TimeLeftColumn

    bar = Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[failed]} failed"),
        TextColumn("{task.fields[rate]}"),
        TimeLeftColumn(),
        console=Console(stderr=True),
        transient=True,
    )
    task = bar.add_task(name, total=None, failed=0, rate="")

    def show(counts: Counts, stopping: bool) -> None:
        ended = counts.cells - counts.left
        speed = bar.tasks[0].finished_speed or bar.tasks[0].speed
        fields: dict[str, Any] = {"failed": counts.failed}
        fields["rate"] = f"{speed:.3g} cells/s" if speed else ""
        fields["description"] = f"{name}: finishing what is running" if stopping else name
        bar.update(task, total=counts.cells, completed=ended, **fields)

    with bar:
        yield show
