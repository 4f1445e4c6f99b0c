"""What a page is made of: sections with facts, tables and pictures."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from giantstep.explanation.explain import Explanation
from giantstep.language.problem import Problem
from giantstep.reports.scale import Scale

#: Text, or ``markupsafe.Markup`` where it holds mathematics.
Words = str


@dataclass(frozen=True)
class Picture:
    """A drawing with what is needed to understand it, and to make it again.

    ``svg`` is safe to put into a page; ``alt`` says in words what is to be seen; ``data`` are the
    numbers that are drawn, as CSV.
    """

    key: str
    svg: str
    alt: str
    caption: Words
    commands: tuple[str, ...]
    settings: str = ""
    seed: int | None = None
    data: str = ""

    @property
    def address(self) -> str:
        """The data as an address that a browser saves without any network."""
        return "data:text/csv;base64," + base64.b64encode(self.data.encode()).decode()


@dataclass(frozen=True)
class Table:
    """A few rows under their headings; the last column may be long."""

    caption: Words
    head: tuple[str, ...]
    rows: tuple[tuple[Words, ...], ...]


@dataclass(frozen=True)
class Section:
    """One question about the target, answered; or ``skipped``, the line that says why not.

    A ``folded`` section shows its title alone until it is opened.
    """

    key: str = ""
    title: str = ""
    lead: tuple[Words, ...] = ()
    facts: tuple[tuple[str, Words], ...] = ()
    tables: tuple[Table, ...] = ()
    pictures: tuple[Picture, ...] = ()
    notes: tuple[str, ...] = ()
    references: tuple[str, ...] = ()
    skipped: str | None = None
    seconds: float = 0.0
    folded: bool = False

    @property
    def commands(self) -> list[str]:
        """Every command of the section's pictures."""
        return [command for picture in self.pictures for command in picture.commands]

    def to_json(self) -> dict[str, Any]:
        """What ``report --json`` says about the section."""
        return {
            "key": self.key,
            "title": self.title,
            "pictures": [picture.key for picture in self.pictures],
            "commands": self.commands,
            "seconds": round(self.seconds, 2),
            "skipped": self.skipped,
        }


@dataclass(frozen=True, eq=False)
class Context:
    """What every section may look at. ``advance`` takes the fraction of the section done."""

    problem: Problem
    explanation: Explanation
    scale: Scale
    seed: int
    advance: Callable[[float], None]


Builder = Callable[[Context], Section]


def report_csv(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Rows under their heading as CSV text, numbers to six digits; NaN leaves a cell empty.

    >>> report_csv(["step", "overlap"], [(1, 0.1234567891)])
    'step,overlap\\n1,0.123457\\n'
    """
    import pandas

    table = pandas.DataFrame(rows, columns=head)
    return table.to_csv(index=False, float_format="%.6g", lineterminator="\n")


def listed(names: Sequence[str]) -> str:
    """Names in a sentence.

    >>> listed(["h1", "h2", "h3"])
    'h1, h2 and h3'
    """
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last
