"""Where rows come from: anything with row slices, or the blocks of a Dask collection.

A pass over the rows is one function of a chunk. What it returns is added up over the chunks, so
that no more than a chunk and the sums are ever in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from jaxtyping import Float

#: Numbers in a chunk of rows: a few of them fit into a processor's cache. Features are counted as
#: this many columns at least.
CHUNK_NUMBERS, LEAST_COLUMNS = 2**18, 256


class Totals(NamedTuple):
    """What a pass over some rows gives: arrays to be added, to be maximised, to be joined."""

    sums: tuple[np.ndarray, ...] = ()
    most: tuple[np.ndarray, ...] = ()
    joined: tuple[np.ndarray, ...] = ()


#: A pass: inputs and labels of a chunk, and the number of its first row.
Work = Callable[[Float[np.ndarray, "n d"], Float[np.ndarray, " n"], int], Totals]


class Rows(Protocol):
    """A table that can be passed over."""

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and columns."""

    def total(self, work: Work) -> Totals:
        """The totals of a pass over all rows."""


def _combined_streamed_totals(one: Totals, other: Totals) -> Totals:
    """The totals of two runs of rows."""
    return Totals(
        tuple(a + b for a, b in zip(one.sums, other.sums, strict=True)),
        tuple(np.maximum(a, b) for a, b in zip(one.most, other.most, strict=True)),
        tuple(np.concatenate([a, b]) for a, b in zip(one.joined, other.joined, strict=True)),
    )


class SlicedRows(NamedTuple):
    """Rows of anything that has a shape and row slices; ``first`` is the number of its first row.

    >>> rows = SlicedRows(np.ones((5, 2)), np.arange(5.0))
    >>> rows.total(lambda X, y, first: Totals((X.T @ y,))).sums[0].tolist()
    [10.0, 10.0]
    """

    inputs: Any
    labels: Any
    first: int = 0

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and columns."""
        rows, columns = self.inputs.shape
        return int(rows), int(columns)

    def total(self, work: Work) -> Totals:
        """Pass over one chunk after the other."""
        rows, columns = self.shape
        size = _streamed_chunk_rows(columns)
        found: Totals | None = None
        for start in range(0, rows, size):
            part = slice(start, min(start + size, rows))
            inputs = np.asarray(self.inputs[part])
            if inputs.dtype not in (np.float32, np.float64):
                inputs = inputs.astype(float)
            labels = np.asarray(self.labels[part], dtype=float)
            new = work(inputs, labels, self.first + start)
            found = new if found is None else _combined_streamed_totals(found, new)
        if found is None:
            raise ValueError("no rows were given")
        return found


class DaskRows(NamedTuple):
    """Blocks of rows that live on a Dask cluster; each is passed over where it lives.

    A block that is lost with its worker is made again by Dask, and passed over again.
    """

    blocks: Sequence[tuple[Any, Any, int]]
    shape: tuple[int, int]

    @classmethod
    def of(cls, inputs: Any, labels: Any) -> DaskRows:
        """Blocks of a Dask array or data frame with labels of the same length."""
        import dask.array

        inputs, labels = (_streamed_with_lengths(one) for one in (inputs, labels))
        if not isinstance(labels, dask.array.Array):
            labels = dask.array.from_array(np.asarray(labels), chunks=(inputs.chunks[0],))
        if labels.ndim == 2 and labels.shape[1] == 1:
            labels = labels[:, 0]
        if labels.shape[0] != inputs.shape[0]:
            raise ValueError(
                f"X has {inputs.shape[0]} rows and y {labels.shape[0]}: they must be equally many"
            )
        # A block holds all columns of its rows.
        inputs = inputs.rechunk({1: -1})
        labels = labels.rechunk({0: inputs.chunks[0]})
        firsts = np.cumsum([0, *inputs.chunks[0][:-1]])
        blocks = zip(inputs.to_delayed()[:, 0], labels.to_delayed(), firsts, strict=True)
        return cls([(x, y, int(first)) for x, y, first in blocks], inputs.shape)

    def total(self, work: Work) -> Totals:
        """Pass over the blocks where they are, and add up neighbours."""
        from dask.delayed import delayed

        shared = delayed(work, pure=False)
        parts = [delayed(_streamed_block_total)(x, y, first, shared) for x, y, first in self.blocks]
        while len(parts) > 1:
            pairs = [parts[i : i + 2] for i in range(0, len(parts), 2)]
            parts = [delayed(_combined_streamed_totals)(*p) if len(p) == 2 else p[0] for p in pairs]
        return parts[0].compute()


def is_dask_table(table: Any) -> bool:
    """Whether this is a Dask collection."""
    return type(table).__module__.startswith("dask")


def over_streamed_chunks(function: Callable[[np.ndarray], np.ndarray], table: Any) -> Any:
    """A function of rows, chunk by chunk; of a Dask collection, a Dask array yet to be computed."""
    if is_dask_table(table):
        table = table.to_dask_array() if hasattr(table, "to_dask_array") else table
        table = table.rechunk({1: -1})
        return table.map_blocks(function, drop_axis=1, dtype=float)
    size = _streamed_chunk_rows(int(table.shape[1]))
    starts = range(0, int(table.shape[0]), size)
    return np.concatenate([function(np.asarray(table[start : start + size])) for start in starts])


def _streamed_chunk_rows(columns: int) -> int:
    return max(64, CHUNK_NUMBERS // max(columns, LEAST_COLUMNS))


def _streamed_with_lengths(table: Any) -> Any:
    """A Dask array with known numbers of rows; anything that is not Dask's as it is."""
    if not is_dask_table(table):
        return table
    if hasattr(table, "to_dask_array"):
        return table.to_dask_array(lengths=True)
    if np.isnan(table.shape[0]):
        table = table.compute_chunk_sizes()
    return table


def _streamed_block_total(inputs: Any, labels: Any, first: int, work: Work) -> Totals:
    return SlicedRows(np.asarray(inputs), np.asarray(labels), first).total(work)
