"""What a run draws: the network before its first step, and its samples, batch by batch."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from giantstep.learners.giant_step.draws import Chunks, Draws, Role, draw_bartlett, draw_batch_ahead
from giantstep.learners.giant_step.network import DrawnNeurons, Randomness
from giantstep.learners.giant_step.plan import StepPlan
from giantstep.settings.neuron_readouts import readout_setting_by_neuron

#: Numbers in a chunk of inputs or of fields: 8 MB in float32, about a core's share of the cache.
CHUNK_NUMBERS = 1 << 21
FEWEST_ROWS = 64


class DrawnSample(NamedTuple):
    """A chunk of inputs with what their labels are made of; the first ``filled`` rows count.

    Inputs are of shape (runs, n, columns), latent directions (runs, n, r); of numpy where they are
    drawn, and of JAX, without the runs, where they are used.
    """

    inputs: Any
    latent: Any
    random: Randomness
    filled: Any


class Batches:
    """An endless supply of samples: the same (role, number) always gives the same batch.

    ``columns`` is the dimension d of real inputs, or the size of the frame of inputs in law.
    """

    def __init__(self, plan: StepPlan, draws: Draws, dtype: str) -> None:
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
    ) -> Iterator[DrawnSample]:
        """A batch in chunks; the next one is drawn in the background while one is in use."""
        chunks = Chunks.of(samples, rows_of_drawn_chunk(columns, self._plan.width))

        def begin(index: int) -> Callable[[], DrawnSample]:
            shape = (chunks.rows, columns)
            return self._begin(shape, chunks.filled(index), role, number, index)

        return draw_batch_ahead(begin, chunks.count, progress)

    def whole(self, role: Role, number: int, samples: int, columns: int) -> DrawnSample:
        """A batch in one piece."""
        return self._begin((samples, columns), samples, role, number, 0)()

    def _begin(
        self, shape: tuple[int, int], filled: int, role: Role, *path: int
    ) -> Callable[[], DrawnSample]:
        pending = self._draws.begin_normal(shape, role, *path, dtype=self._dtype)
        random = self._randomness(shape[0], Role(role + 1), *path)

        def finished() -> DrawnSample:
            plan, inputs = self._plan, pending()
            latent = plan.inputs.place(inputs, plan.rank, plan.dim)
            return DrawnSample(inputs, latent, random, filled)

        return finished

    def _randomness(self, rows: int, *path: int) -> Randomness:
        """The normals behind the labels; zeros where the labels have none."""
        noises, runs = self._plan.model.target.noises, len(self._draws.seeds)
        if not noises and not self._plan.noise:
            inner, label = np.zeros((runs, rows, 0)), np.zeros((runs, rows))
            return Randomness(inner.astype(self._dtype), label.astype(self._dtype))
        drawn = self._draws.normal((rows, noises + 1), *path, dtype=self._dtype)
        return Randomness(drawn[..., :noises], drawn[..., noises])


def rows_of_drawn_chunk(columns: int, width: int) -> int:
    """Rows of a chunk whose inputs and fields stay within the cache."""
    return max(CHUNK_NUMBERS // max(columns, width), FEWEST_ROWS)


def start_neurons(plan: StepPlan, draws: Draws) -> DrawnNeurons:
    """Readouts a_j and biases b_j of each run, (runs, p).

    Biases are N(0, 1), or uniform on [-1, 1]. Twin rows of a symmetric start share their bias.
    """
    pairs = [_neurons_of_run(plan, rng) for rng in draws.streams(Role.NEURONS)]
    return DrawnNeurons(*(np.stack(column) for column in zip(*pairs, strict=True)))


def _neurons_of_run(plan: StepPlan, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    settings = plan.settings
    distinct = plan.width // 2 if plan.symmetric else plan.width
    law: dict[str, Callable[[], np.ndarray]] = {
        "none": lambda: np.zeros(distinct),
        "normal": lambda: rng.standard_normal(distinct),
        "uniform": lambda: rng.uniform(-1, 1, distinct),
    }
    biases = law[settings.biases]()
    readouts = readout_setting_by_neuron(settings.readout, plan.width)
    if readouts is not None:
        return np.array(readouts), np.tile(biases, 2 if plan.symmetric else 1)
    support = settings.readout_support()
    if support is None:
        return rng.standard_normal(distinct), biases
    values, weights = np.asarray(support[0]), np.asarray(support[1])
    return rng.choice(values, distinct, p=weights / weights.sum()), biases


def start_rows(plan: StepPlan, draws: Draws, dtype: str) -> Float[np.ndarray, "runs p d"]:
    """First rows in d dimensions: on the unit sphere, or N(0, I/d)."""
    distinct = plan.width // 2 if plan.symmetric else plan.width
    drawn = draws.normal((distinct, plan.dim), Role.ROWS, dtype=dtype)
    return _started_draws(drawn, plan)


def draw_start_coordinates(plan: StepPlan, draws: Draws) -> Float[np.ndarray, "runs p s"]:
    """First rows in law: their coordinates on the special directions, then the rest.

    The rest is the triangular factor of p - possibly fewer - Gaussian rows in the d - s other
    dimensions, filled up with zeros to min(p, d - s) columns.
    """
    distinct = plan.width // 2 if plan.symmetric else plan.width
    known = draws.normal((distinct, plan.special), Role.ROWS)
    others = draw_bartlett(draws, distinct, plan.dim - plan.special, Role.BARTLETT, 0)
    columns = min(plan.width, plan.dim - plan.special)
    padded = np.zeros((len(draws.seeds), distinct, columns))
    padded[..., : others.shape[-1]] = others
    return _started_draws(np.concatenate([known, padded], axis=-1), plan)


def _started_draws(drawn: np.ndarray, plan: StepPlan) -> np.ndarray:
    if plan.settings.start == "sphere":
        drawn = drawn / np.linalg.norm(drawn, axis=-1, keepdims=True)
    else:
        drawn = drawn / np.asarray(plan.dim**0.5, dtype=drawn.dtype)
    return np.concatenate([drawn, drawn], axis=-2) if plan.symmetric else drawn
