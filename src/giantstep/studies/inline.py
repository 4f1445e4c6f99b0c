"""The inline engine: blocks are computed in this process, one after the other."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import ClassVar

from giantstep.studies.backlog import Backlog
from giantstep.studies.cells import Block
from giantstep.studies.outcomes import Outcome
from giantstep.studies.work import compute


@dataclass(frozen=True)
class InlineEngine:
    """No process to start and programs stay compiled: best for a few seconds of work."""

    workers: ClassVar[int] = 1

    def run(self, backlog: Backlog) -> Generator[list[tuple[Block, Outcome]], None, None]:
        """One result at a time."""
        previous = None
        while batch := backlog.take(previous):
            previous = batch[0].shape
            for block in batch:
                outcome = compute(block)
                backlog.time(block, outcome.seconds * len(block.keys))
                yield [(block, outcome)]
            backlog.release(batch)
