r"""Giant steps exactly in law, at a cost that does not depend on the dimension.

The rows of the first layer enter only through their coordinates A in an orthonormal frame whose
first directions are the target's, and that of a spike beside them. Given a fresh Gaussian batch,
let Z be its coordinates in the frame and P the pulls, which are functions of Z. Outside the frame
the columns of :math:`P^T X` are iid :math:`N(0, P^T P)`, so with :math:`F F^T = P^T P` and a
Bartlett factor T

.. math:: A \leftarrow [\,A + \eta\, a\, P^T Z / n \;,\; \eta\, a\, F T / n\,]

in a frame with p more directions. Only the Gram matrix of the rows beyond these first directions
matters, hence p of those suffice: a QR factorisation compresses them. Cost O(n p (p + r) + p^3).

A batch that is used again (reused, detrended, or fitted by the readout) is kept and explored.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from giantstep.learners.giant_step.draws import Draws, Role, draw_bartlett
from giantstep.learners.giant_step.network import (
    DrawnNeurons,
    Model,
    Trend,
    over_runs,
    simulated_noise_moments,
)
from giantstep.learners.giant_step.plan import StepPlan
from giantstep.learners.giant_step.readout import LabelledFeatures, feature_chunks
from giantstep.learners.giant_step.samples import (
    Batches,
    DrawnSample,
    draw_start_coordinates,
    start_neurons,
)
from giantstep.numerics.linear_algebra import matrix_square_root


class Pulled(NamedTuple):
    """sum_i P_ij x_i inside the frame and outside of it, and the moments of its noise."""

    inside: Float[np.ndarray, "runs p s"]
    outside: Float[np.ndarray, "runs p k"]
    moments: Float[np.ndarray, "runs p moments"]


class RunInLaw:
    """A group of runs known by the coordinates of their rows, (runs, p, s)."""

    def __init__(self, plan: StepPlan, draws: Draws) -> None:
        self.plan = plan
        self._draws = draws
        self._batches = Batches(plan, draws, plan.settings.dtype)
        self._neurons = start_neurons(plan, draws)
        self._rows = draw_start_coordinates(plan, draws)
        self._kept: KeptBatch | None = None

    def projections(self) -> tuple[np.ndarray, np.ndarray]:
        """Coordinates of the rows on the target's directions (runs, p, r), and their norms."""
        return self._rows[..., : self.plan.rank], np.linalg.norm(self._rows, axis=-1)

    def dropped(self) -> np.ndarray:
        """No neuron is ever dropped here."""
        return np.zeros(len(self._rows))

    def step(
        self, number: int, progress: Callable[[float], None] | None = None
    ) -> Float[np.ndarray, "runs p moments"]:
        """Take a gradient step; returns the moments of its noise."""
        plan = self.plan
        pulled = self._explored(number) if plan.keeps_batch else self._streamed(number, progress)
        samples = plan.samples_of(plan.batch_of(number))
        gain = plan.step_sizes[number - 1] / samples * self._neurons.readout[..., None]
        inside = _wider_in_law(self._rows, pulled.inside.shape[-1]) + gain * pulled.inside
        rows = np.concatenate([inside, gain * pulled.outside], axis=-1)
        if plan.settings.normalise:
            rows = rows / np.linalg.norm(rows, axis=-1, keepdims=True)
        self._rows = rows if plan.keeps_batch else _compressed_rows_in_law(rows, plan.special)
        return pulled.moments

    def readout_chunks(self, number: int) -> tuple[LabelledFeatures, LabelledFeatures]:
        """Samples to fit the readout to after a step, and fresh noiseless ones to test it on."""
        plan, kept = self.plan, None
        role, batch, samples = plan.fit_batch(number)
        if plan.same_batch:
            kept, rows = self._keep(batch), self._rows
        else:
            rows = _compressed_rows_in_law(self._rows, plan.special)
            if plan.changes_labels:
                kept = KeptBatch(plan, self._draws, role, batch, samples, rows.shape[-1])
        if kept is None:
            fitted = self._features(rows, role, batch, samples, None, plan.noise)
        else:
            fitted = iter([(kept.features(plan.model, rows, self._neurons), kept.labels)])
        trend = None if kept is None else kept.trend
        return fitted, self._features(rows, Role.TEST, number, plan.test_samples, trend, 0.0)

    def _streamed(self, number: int, progress: Callable[[float], None] | None) -> Pulled:
        """The pull of a fresh batch that is used only once."""
        plan, runs, columns = self.plan, len(self._rows), self._rows.shape[-1]
        inside = np.zeros((runs, plan.width, columns))
        gram = np.zeros((runs, plan.width, plan.width))
        moments = np.zeros((runs, plan.width, plan.rank + 1))
        rows, neurons = self._in_chunk_precision(self._rows)
        samples = plan.samples_of(number)
        for sample in self._batches.stream(Role.BATCH, number, samples, columns, progress):
            parts = _pull(plan.model, rows, neurons, sample, np.asarray(plan.noise, rows.dtype))
            for total, part in zip((inside, gram, moments), parts, strict=True):
                total += np.asarray(part)
        freedom = plan.dim - columns
        factor = draw_bartlett(self._draws, plan.width, freedom, Role.BARTLETT, Role.BATCH, number)
        return Pulled(inside, matrix_square_root(gram) @ factor, moments)

    def _explored(self, number: int) -> Pulled:
        """The pull of a batch that is kept: its frame grows by the directions it needs."""
        plan = self.plan
        batch = self._keep(plan.batch_of(number))
        pulls = batch.pulls(plan.model, self._rows, self._neurons)
        batch.explore(pulls)
        inside = pulls.mT @ batch.inputs
        return Pulled(inside, inside[..., :0], batch.noise_moments(pulls, plan.rank))

    def _keep(self, number: int) -> KeptBatch:
        """The batch of that number; a new one is drawn in the frame of the rows."""
        plan = self.plan
        if self._kept is None or self._kept.number != number:
            self._rows = _compressed_rows_in_law(self._rows, plan.special)
            columns = self._rows.shape[-1]
            samples = plan.samples_of(number)
            self._kept = KeptBatch(plan, self._draws, Role.BATCH, number, samples, columns)
        return self._kept

    def _features(
        self,
        rows: Float[np.ndarray, "runs p s"],
        role: Role,
        number: int,
        samples: int,
        trend: Trend | None,
        noise: float,
    ) -> LabelledFeatures:
        rows, neurons = self._in_chunk_precision(rows)
        if trend is not None:
            linear = np.asarray(trend.linear, rows.dtype)
            rows = _wider_in_law(rows, linear.shape[-1])
            trend = Trend(trend.constant.astype(rows.dtype), _wider_in_law(linear, rows.shape[-1]))
        drawn = self._batches.stream(role, number, samples, rows.shape[-1])
        return feature_chunks(self.plan.model, drawn, rows, neurons, trend, noise)

    def _in_chunk_precision(self, rows: np.ndarray) -> tuple[np.ndarray, DrawnNeurons]:
        dtype = self.plan.settings.dtype
        return rows.astype(dtype), DrawnNeurons(*(x.astype(dtype) for x in self._neurons))


def _wider_in_law(array: Float[np.ndarray, "... s"], columns: int) -> np.ndarray:
    """The same vectors in a frame with at least ``columns`` directions."""
    missing = max(columns - array.shape[-1], 0)
    return np.pad(array, [(0, 0)] * (array.ndim - 1) + [(0, missing)])


def _compressed_rows_in_law(rows: Float[np.ndarray, "runs p s"], special: int) -> np.ndarray:
    """The same Gram matrices, with p directions beyond the special ones at most."""
    width = rows.shape[-2]
    if rows.shape[-1] <= special + width:
        return rows
    others = np.linalg.qr(rows[..., special:].mT, mode="r")
    return np.concatenate([rows[..., :special], np.swapaxes(others, -1, -2)], axis=-1)


def _simulated_pull_in_law(
    model: Model,
    rows: Float[Array, "p s"],
    neurons: DrawnNeurons,
    sample: DrawnSample,
    noise: Float[Array, ""],
) -> tuple[Array, Array, Array]:
    """P^T Z, P^T P and the moments of the noise, summed over a chunk."""
    inputs, latent, random, filled = sample
    counted = jnp.arange(inputs.shape[0]) < filled
    pulls = model.pulls(model.labels(latent, random, noise), inputs @ rows.T, neurons, counted)
    known = inputs[:, : latent.shape[1]]
    return pulls.T @ inputs, pulls.T @ pulls, simulated_noise_moments(pulls, known)


_pull = over_runs(_simulated_pull_in_law)


class KeptBatch:
    """Samples (runs, n, s) in a frame that grows as pulls explore it; all in float64."""

    def __init__(
        self, plan: StepPlan, draws: Draws, role: Role, number: int, samples: int, columns: int
    ) -> None:
        self.number = number
        sample = Batches(plan, draws, "float64").whole(role, number, samples, columns)
        labels = _labels(plan.model, sample.latent, sample.random, np.asarray(plan.noise))
        self.inputs: Float[np.ndarray, "runs n s"] = sample.inputs
        self._directions = np.zeros((*sample.inputs.shape[:2], 0))
        self._dim, self._draws, self._path = plan.dim, draws, (role, number)
        self._explorations = 0
        self.labels = np.asarray(labels)
        self.trend: Trend | None = None
        if plan.changes_labels:
            self._remove_trend(plan.settings.detrend)

    def explore(self, pulls: Float[np.ndarray, "runs n k"]) -> None:
        """Extend the frame until it holds sum_i P_ij x_i for every column P of ``pulls``."""
        fresh = _unseen_directions_in_law(self._directions, pulls)
        self._directions = np.concatenate([self._directions, fresh], axis=-1)
        freedom = self._dim - self.inputs.shape[-1]
        self._explorations += 1
        if freedom == 0 or fresh.shape[-1] == 0:
            return
        path = (*self._path, self._explorations)
        factor = draw_bartlett(self._draws, fresh.shape[-1], freedom, Role.BARTLETT, *path)
        noise = self._draws.normal((pulls.shape[1], factor.shape[-1]), Role.EXPLORED, *path)
        noise -= self._directions @ (self._directions.mT @ noise)
        self.inputs = np.concatenate([self.inputs, fresh @ factor + noise], axis=-1)

    def pulls(self, model: Model, rows: np.ndarray, neurons: DrawnNeurons) -> np.ndarray:
        """P (runs, n, p)."""
        return np.asarray(_pulls(model, self.labels, self._fields(rows), neurons, True))

    def features(self, model: Model, rows: np.ndarray, neurons: DrawnNeurons) -> np.ndarray:
        """phi (runs, n, p)."""
        return np.asarray(_features(model, self._fields(rows), neurons))

    def noise_moments(self, pulls: np.ndarray, rank: int) -> np.ndarray:
        """Sums over samples of P_ij^2 x_ik^2 and of P_ij^2, (runs, p, r + 1)."""
        known = self.inputs[..., :rank] ** 2
        return (pulls**2).mT @ np.concatenate([known, np.ones_like(known[..., :1])], axis=-1)

    def _fields(self, rows: np.ndarray) -> np.ndarray:
        return self.inputs[..., : rows.shape[-1]] @ rows.mT

    def _remove_trend(self, detrend: bool) -> None:
        """y <- y - c - x.b with c the mean of y and b = (1/n) sum (y - c) x, if that is asked."""
        constant = self.labels.mean(axis=-1)
        centred = self.labels - constant[:, None]
        if detrend:
            self.explore(centred[..., None])
        linear = (centred[:, None, :] @ self.inputs)[:, 0] * (detrend / self.labels.shape[-1])
        self.trend = Trend(constant, linear)
        self.labels = centred - (self.inputs @ linear[..., None])[..., 0]


_labels = over_runs(Model.labels)
_pulls = over_runs(Model.pulls)
_features = over_runs(Model.features)


def _unseen_directions_in_law(
    known: Float[np.ndarray, "runs n m"], vectors: Float[np.ndarray, "runs n k"]
) -> Float[np.ndarray, "runs n q"]:
    """q = min(k, n - m) orthonormal columns, orthogonal to the known ones, that with them span.

    Of dependent vectors (twin neurons, say) what is left at first is rounding, which need not be
    orthogonal to the known ones: hence twice. Householder's QR is orthonormal however dependent its
    columns are.
    """
    fresh = vectors
    for _ in range(2):
        fresh = np.linalg.qr(fresh - known @ (known.mT @ fresh))[0]
    return fresh[..., : vectors.shape[-2] - known.shape[-1]]
