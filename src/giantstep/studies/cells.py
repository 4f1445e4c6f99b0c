"""The cells of a study: what each computes, and the key under which the store keeps it.

A cell is one simulation (a settings point and a seed) or one prediction (a settings point). The
seeds of a point are computed in blocks, so that a learner that maps over seeds can do so: block k
holds seeds k*B .. (k+1)*B - 1, cut to those asked for. A mapped computation may differ from a
single one in its last bits, so a block is always computed whole, resumed or not, and its extent
is part of its cells' keys: how many workers there are, and which of them finish, decides nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from giantstep.numerics.seeds import digest
from giantstep.twins.table import Twin

#: Enters every key; raised when the meaning of a cell changes for all learners.
CELL_FORMAT = 1

SIMULATE, PREDICT = "simulate", "predict"
VERBS = (SIMULATE, PREDICT)


@dataclass(frozen=True, eq=False)
class Block:
    """Cells that one call computes, described in plain texts and numbers.

    ``coordinates`` are the values on the study's axes. Blocks of the same ``shape`` are likely to
    share a compiled program; it only guides which worker takes which block.
    """

    twin: Twin
    verb: str
    problem: Mapping[str, Any]
    settings: Mapping[str, Any]
    seeds: tuple[int, ...]
    code: str
    coordinates: Mapping[str, Any]
    shape: str

    @cached_property
    def keys(self) -> tuple[str, ...]:
        """One key a cell: a digest of everything that determines its result."""
        what = (self.twin.name, self.verb, self.problem, self.settings, self.code)
        point = digest(CELL_FORMAT, *what)
        if self.verb == PREDICT:
            return (point,)
        extent = (self.seeds[0], len(self.seeds))
        return tuple(digest(point, extent, seed) for seed in self.seeds)

    @property
    def seed_labels(self) -> tuple[int | None, ...]:
        """The seed of each cell; a prediction has none."""
        return self.seeds if self.verb == SIMULATE else (None,)


def seed_blocks(first: int, count: int, size: int) -> list[tuple[int, ...]]:
    """Seeds first .. first + count - 1, cut at the multiples of ``size``.

    >>> seed_blocks(2, 7, 4)
    [(2, 3), (4, 5, 6, 7), (8,)]
    """
    seeds = range(first, first + count)
    blocks: dict[int, list[int]] = {}
    for seed in seeds:
        blocks.setdefault(seed // size, []).append(seed)
    return [tuple(block) for block in blocks.values()]
