"""What all results can do: say what they are in a few lines, become a table, be drawn."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from giantstep.results.numbers import Number

if TYPE_CHECKING:
    import pandas
    import xarray
    from matplotlib.axes import Axes

    from giantstep.results.selection import GivenMetric
    from giantstep.results.status import Status
    from giantstep.sweep import Sweep

#: Rows of a table in a repr, which has at most fifteen lines.
_ROWS = 6
MOST_LINES = 15


class Result:
    """A run, a prediction or a comparison; a sweep of them can do the same."""

    KIND: ClassVar[str]

    def numbers(self) -> Iterator[Number]:
        """Every number with its place; see :class:`Number`."""
        raise NotImplementedError

    @property
    def papers(self) -> Sequence[str]:
        """The papers behind it."""
        return ()

    def cite(self) -> str:
        """The papers behind it as BibTeX."""
        from giantstep.bibliography import bibtex

        return bibtex(self.papers)

    @property
    def remarks(self) -> Sequence[str]:
        """What a reader should know beside the numbers."""
        raise NotImplementedError

    @classmethod
    def weakest_statuses(cls, result: Any) -> Mapping[str, Status]:
        """The status of each metric, over a sweep the weakest."""
        return {}

    def to_frame(self) -> pandas.DataFrame:
        """A tidy table, one line a number: sizes, metric, step, direction, values, errors."""
        from giantstep.results.frame import frame

        return frame(self)

    def to_xarray(self) -> xarray.Dataset:
        """Arrays with named dimensions; needs xarray."""
        from giantstep.results.frame import dataset

        return dataset(self)

    def table(self, metric: GivenMetric = None, *, everything: bool = False) -> str:
        """The text that the command line prints."""
        from giantstep.results.table import text

        return text(self, metric, everything=everything)

    def plot(
        self, x: str | None = None, metric: GivenMetric = None, ax: Axes | None = None
    ) -> Axes:
        """Draw it: theory as lines, simulation as dots with error bars.

        ``x`` is the axis to draw along: what was swept, ``step`` or ``direction``. ``metric`` is
        the metric to draw, the first one unless told; ``ax`` where to draw it.
        """
        return _draw(self, x, metric, ax)

    def __repr__(self) -> str:
        return short(self)

    def _repr_html_(self) -> str:
        from giantstep.results.page import page

        return page(self)

    # A sweep of results does the same by way of these.
    @classmethod
    def sweep_do(cls, name: str, sweep: Sweep[Any], *args: Any, **kwargs: Any) -> Any:
        """Call the method of that name on a sweep of results as if it were one result."""
        return getattr(cls, name)(sweep, *args, **kwargs)


def short(result: Any) -> str:
    """A result in at most fifteen lines."""
    from giantstep.results.table import text

    lines = text(result, width=100, most_rows=_ROWS, with_notes=False).splitlines()
    lines = [line for line in lines if line]
    if len(lines) > MOST_LINES:
        lines = [*lines[: MOST_LINES - 1], "... the rest is in .to_frame() and .table()"]
    return "\n".join(lines)


def _draw(result: Any, x: str | None, metric: GivenMetric, ax: Axes | None) -> Axes:
    # Pictures are a room below this one: the front door knows the way.
    import giantstep

    return giantstep.draw(result, x=x, metric=metric, ax=ax)
