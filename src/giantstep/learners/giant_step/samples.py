"""Samples drawn chunk by chunk; their first coordinates are those on the target's directions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from giantstep.inputs.placing import place
from giantstep.learners.giant_step.chunks import Chunks, one_ahead
from giantstep.learners.giant_step.draws import Draws, Role
from giantstep.learners.giant_step.network import Randomness
from giantstep.learners.giant_step.plan import Plan

#: Numbers in a chunk of inputs or of fields: 8 MB in float32, about a core's share of the cache.
CHUNK_NUMBERS = 1 << 21
FEWEST_ROWS = 64


class Sample(NamedTuple):
    """A chunk of inputs with what their labels are made of; the first ``filled`` rows count."""

    inputs: Float[np.ndarray, "runs n columns"]
    latent: Float[np.ndarray, "runs n r"]
    random: Randomness
    filled: int


class Batches:
    """An endless supply of samples: the same (role, number) always gives the same batch.

    ``columns`` is the dimension d of real inputs, or the size of the frame of inputs in law.
    """

    def __init__(self, plan: Plan, draws: Draws, dtype: str) -> None:
        self._plan = plan
        self._draws = draws
        self._dtype = dtype

    def stream(
        self,
        role: Role,
        number: int,
        samples: int,
        columns: int,
        progress: Callable[[float], None] | None = None,
    ) -> Iterator[Sample]:
        """A batch in chunks; the next one is drawn in the background while one is in use."""
        chunks = Chunks.of(samples, most_rows(columns, self._plan.width))

        def begin(index: int) -> Callable[[], Sample]:
            shape = (chunks.rows, columns)
            return self._begin(shape, chunks.filled(index), role, number, index)

        return one_ahead(begin, chunks.count, progress)

    def whole(self, role: Role, number: int, samples: int, columns: int) -> Sample:
        """A batch in one piece."""
        return self._begin((samples, columns), samples, role, number, 0)()

    def _begin(
        self, shape: tuple[int, int], filled: int, role: Role, *path: int
    ) -> Callable[[], Sample]:
        pending = self._draws.begin_normal(shape, role, *path, dtype=self._dtype)
        random = self._randomness(shape[0], Role(role + 1), *path)

        def finished() -> Sample:
            plan, inputs = self._plan, pending()
            latent = place(plan.inputs, inputs, plan.rank, plan.dim)
            return Sample(inputs, latent, random, filled)

        return finished

    def _randomness(self, rows: int, *path: int) -> Randomness:
        """The normals behind the labels; zeros where the labels have none."""
        noises, runs = self._plan.model.target.noises, len(self._draws.seeds)
        if not noises and not self._plan.noise:
            inner, label = np.zeros((runs, rows, 0)), np.zeros((runs, rows))
            return Randomness(inner.astype(self._dtype), label.astype(self._dtype))
        drawn = self._draws.normal((rows, noises + 1), *path, dtype=self._dtype)
        return Randomness(drawn[..., :noises], drawn[..., noises])


def most_rows(columns: int, width: int) -> int:
    """Rows of a chunk whose inputs and fields stay within the cache."""
    return max(CHUNK_NUMBERS // max(columns, width), FEWEST_ROWS)
