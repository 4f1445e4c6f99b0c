"""What a figure of the gallery is: a small study, a plot, a caption, and what it claims."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from giantstep.errors import GiantstepError
from giantstep.studies.outcomes import FAILED
from giantstep.studies.results import summary
from giantstep.studies.study import Study

if TYPE_CHECKING:
    import pandas
    from matplotlib.figure import Figure as Picture

#: Reduced for tests; quick for a look, under 40 s on two cores; full for a paper.
Scale = Literal["reduced", "quick", "full"]


@dataclass(frozen=True)
class Workbench:
    """Where a figure computes: a store that remembers every cell, and an engine."""

    store: Path
    engine: str = "inline"
    progress: Callable[[float], None] | None = None

    def summary(self, study: Study, *, root_mean_square: str = "") -> pandas.DataFrame:
        """Run what the store lacks of a study; one line a point, as ``Results.summary``.

        The metric ``root_mean_square``, if given, is averaged over seeds as theory averages an
        overlap: its square, of which the root is taken. The mean of the overlaps themselves lies
        below that wherever they scatter. A cell that failed stops the figure: a picture with holes
        would say something else.
        """
        results = study.run(store=self.store, engine=self.engine, watch=self._watch)
        failed = [row.error for row in results.rows() if row.status == FAILED]
        if failed:
            reason = (failed[0] or "").strip().splitlines()[-1]
            raise GiantstepError(f"{len(failed)} cells of {study.name!r} failed: {reason}")
        if not root_mean_square:
            return results.summary()
        frame, axes = results.frame(), list(results.definition()["axes"])
        return _by_squares(frame, axes, f"{root_mean_square}[")

    def report(self, fraction: float) -> None:
        """Say how far a computation is that is no study."""
        if self.progress is not None:
            self.progress(fraction)

    def _watch(self, counts: Any, stopping: bool) -> None:
        self.report((counts.cells - counts.left) / max(counts.cells, 1))


@dataclass(frozen=True)
class Figure:
    """One figure. ``sizes`` are its parameters at each scale; the caption names them in braces.

    ``rows`` computes the table behind the picture, ``draw`` draws it and nothing else, and
    ``claims`` says, sentence by sentence, whether the table shows what the caption says.
    """

    name: str
    title: str
    caption: str
    references: tuple[str, ...]
    sizes: Mapping[Scale, Any]
    rows: Callable[[Any, Workbench], pandas.DataFrame]
    draw: Callable[[pandas.DataFrame], Picture]
    claims: Callable[[pandas.DataFrame], Mapping[str, bool]]

    def caption_at(self, scale: Scale) -> str:
        """The caption with the sizes of that scale."""
        return " ".join(self.caption.format(**self.sizes[scale]._asdict()).split())


def _by_squares(frame: pandas.DataFrame, axes: list[str], metric: str) -> pandas.DataFrame:
    """Columns that begin with ``metric`` as roots of mean squares, errors to first order."""
    columns = [name for name in frame if str(name).startswith(metric)]
    squares = frame.assign(**{name: frame[name] ** 2 for name in columns})
    table = summary(squares, axes)
    for name in columns:
        if f"{name}.theory" in table:
            table[f"{name}.theory"] **= 0.5
        if name in table:
            table[name] **= 0.5
            table[f"{name}.sem"] /= 2 * table[name]
    return table
