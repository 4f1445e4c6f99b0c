"""The cells of a study: what each computes, and the key under which the store keeps it.

A cell is one simulation (a settings point and a seed) or one prediction (a settings point). The
seeds of a point are computed in blocks, so that a learner that maps over seeds can do so: block k
holds seeds k*B .. (k+1)*B - 1, cut to those asked for. A mapped computation may differ from a
single one in its last bits, so a block is always computed whole, resumed or not, and its extent
is part of its cells' keys: how many workers there are, and which of them finish, decides nothing.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from giantstep.asking.questions import Grid
from giantstep.asking.studies.code_version import code_version
from giantstep.asking.table import Learner
from giantstep.asking.verbs import PREDICT, SIMULATE
from giantstep.errors import SettingsError, shown
from giantstep.numerics.seeds import stable_digest

#: Enters every key; raised when the meaning of a cell changes for all learners.
CELL_FORMAT = 2


@dataclass(frozen=True, eq=False)
class Block:
    """Cells that one call computes, described in plain texts and numbers.

    ``coordinates`` are the values on the study's axes. Blocks of the same ``shape`` are likely to
    share a compiled program; it only guides which worker takes which block.
    """

    learner: Learner
    verb: str
    problem: Mapping[str, Any]
    settings: Mapping[str, Any]
    seeds: tuple[int, ...]
    code: str
    coordinates: Mapping[str, Any]
    shape: str
    #: Sums are cut up by threads, so that their last bits depend on how many there are.
    threads: int = 1

    @cached_property
    def keys(self) -> tuple[str, ...]:
        """One key per cell: a digest of everything that determines its result."""
        what = (self.learner.name, self.verb, self.problem, self.settings, self.code)
        point = stable_digest(CELL_FORMAT, *what, *([self.threads] if self.threads > 1 else []))
        if self.verb == PREDICT:
            return (point,)
        extent = (self.seeds[0], len(self.seeds))
        return tuple(stable_digest(point, extent, seed) for seed in self.seeds)

    @property
    def seed_labels(self) -> tuple[int | None, ...]:
        """The seed of each cell; a prediction has none."""
        return self.seeds if self.verb == SIMULATE else (None,)


def study_blocks(
    grid: Grid, verbs: Sequence[str], seeds: Sequence[tuple[int, ...]]
) -> Iterator[Block]:
    """Every cell of a grid in its order, in blocks of those seeds."""
    together: dict[str, Sequence[tuple[int, ...]]] = {SIMULATE: seeds, PREDICT: [()]}
    versions = {verb: code_version(grid.learner, verb) for verb in verbs}
    for question, place in zip(grid.questions, grid.answer().places(), strict=True):
        problem, settings = question.problem.to_json(), _plain_study_settings(question.settings)
        both = {**settings, **problem}
        kinds = {f.name: f.metadata.get("kind") for f in dataclasses.fields(question.settings)}
        fixed = {n: v for n, v in both.items() if n != "noise" and kinds.get(n) is not float}
        for verb in verbs:
            for block in together[verb]:
                shape = json.dumps([verb, len(block), fixed])
                what = (grid.learner, verb, problem, settings, block, versions[verb])
                yield Block(*what, coordinates=dict(place), shape=shape)


def study_seed_blocks(first: int, count: int, size: int) -> list[tuple[int, ...]]:
    """Seeds first .. first + count - 1, cut at the multiples of ``size``.

    >>> study_seed_blocks(2, 7, 4)
    [(2, 3), (4, 5, 6, 7), (8,)]
    """
    blocks: dict[int, list[int]] = {}
    for seed in range(first, first + count):
        blocks.setdefault(seed // size, []).append(seed)
    return [tuple(block) for block in blocks.values()]


def _plain_study_settings(settings: Any) -> dict[str, Any]:
    """The settings of one point as plain values, from which a worker builds them again."""
    point = settings.to_json()
    for name, value in point.items():
        try:
            json.dumps(value)
        except TypeError:
            raise SettingsError(
                f"{name} = {shown(value)} cannot be kept in a store: give a number or a text, "
                f"such as activation = 'relu(z-1)'"
            ) from None
    return json.loads(json.dumps(point))
