"""A number of samples cut into equal chunks, so that one compiled function serves all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeVar

Item = TypeVar("Item")


@dataclass(frozen=True)
class Chunks:
    """``count`` chunks of ``rows`` rows; the last one may be filled only in part."""

    samples: int
    rows: int
    count: int

    @classmethod
    def of(cls, samples: int, most_rows: int) -> Chunks:
        """The fewest equal chunks of at most ``most_rows`` rows.

        >>> Chunks.of(1000, 300)
        Chunks(samples=1000, rows=250, count=4)
        """
        count = -(-samples // max(most_rows, 1))
        return cls(samples, -(-samples // count), count)

    def filled(self, index: int) -> int:
        """How many rows of that chunk are samples."""
        return min(self.rows, self.samples - index * self.rows)


def one_ahead(
    begin: Callable[[int], Callable[[], Item]],
    count: int,
    progress: Callable[[float], None] | None = None,
) -> Iterator[Item]:
    """Items 0..count-1, the next one being made in the background while one is in use."""
    pending = begin(0)
    for index in range(count):
        item = pending()
        if index + 1 < count:
            pending = begin(index + 1)
        yield item
        if progress is not None:
            progress((index + 1) / count)
