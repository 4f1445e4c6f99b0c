"""Giant steps with real vectors in d dimensions, in memory O(chunk * d + p * d)."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from giantstep.learners.giant_step.draws import Draws, Role
from giantstep.learners.giant_step.network import (
    DrawnNeurons,
    Model,
    Trend,
    detrended_batch_labels,
    over_runs,
    simulated_noise_moments,
)
from giantstep.learners.giant_step.plan import StepPlan
from giantstep.learners.giant_step.readout import LabelledFeatures, feature_chunks
from giantstep.learners.giant_step.samples import Batches, DrawnSample, start_neurons, start_rows

#: Pulls of each chunk that measure the noise of the gradient; all of them would cost some percent.
NOISE_NUMBERS = 1 << 18


class DirectRun:
    """A group of runs whose first layers are real p x d matrices."""

    def __init__(self, plan: StepPlan, draws: Draws) -> None:
        self.plan = plan
        self._dtype = plan.settings.dtype
        self._batches = Batches(plan, draws, self._dtype)
        self._kept: list[DrawnSample] = []
        self._trend_of: tuple[Role, int] | None = None
        self._trend: Trend | None = None
        self._neurons = DrawnNeurons(*(x.astype(self._dtype) for x in start_neurons(plan, draws)))
        self.weights = jax.device_put(start_rows(plan, draws, self._dtype))
        self._alive = np.ones(self.weights.shape[:2], bool)
        self._fitted = self._neurons
        if plan.settings.redraw_biases:
            fresh = draws.normal((plan.width,), Role.FRESH_BIASES, dtype=self._dtype)
            self._fitted = self._neurons._replace(biases=fresh)

    def dropped(self) -> np.ndarray:
        """How many neurons of each run had no gradient and are gone."""
        return np.sum(~self._alive, axis=-1).astype(float)

    def projections(self) -> tuple[np.ndarray, np.ndarray]:
        """Coordinates of the rows on the target's directions (runs, p, r), and their norms."""
        weights = np.asarray(self.weights, dtype=np.float64)
        norms = np.linalg.norm(weights, axis=-1)
        # What was dropped has no direction, and is measured as one that sees nothing.
        return weights[..., : self.plan.rank], np.where(self._alive, norms, 1.0)

    def step(
        self, number: int, progress: Callable[[float], None] | None = None
    ) -> Float[np.ndarray, "runs p moments"]:
        """Take a gradient step; returns the moments of its noise."""
        plan, batch = self.plan, self.plan.batch_of(number)
        samples = plan.samples_of(batch)
        trend = self._trend_on(Role.BATCH, batch, samples)
        # jnp.zeros and jnp.asarray would compile a program for each shape.
        pulled = jax.device_put(np.zeros(self.weights.shape, self._dtype))
        moments = jax.device_put(np.zeros((*pulled.shape[:2], plan.rank + 1), self._dtype))
        for sample in self._batch(Role.BATCH, batch, samples, progress):
            before = moments
            pulled, moments = _pull(
                plan.model,
                pulled,
                moments,
                self.weights,
                self._neurons,
                trend,
                sample,
                self._scalar(plan.noise),
            )
            # Otherwise chunks would pile up before the matrix products that read them.
            before.block_until_ready()
        rate = self._scalar(plan.step_sizes[number - 1] / samples)
        if plan.settings.forget:
            self._forget(np.asarray(self._neurons.readout)[..., None] * np.asarray(pulled), batch)
            return np.asarray(moments, dtype=np.float64)
        self.weights = _moved(
            self.weights, self._neurons.readout, pulled, rate, plan.settings.normalise
        )
        return np.asarray(moments, dtype=np.float64)

    def readout_chunks(self, number: int) -> tuple[LabelledFeatures, LabelledFeatures]:
        """Samples to fit the readout to after a step, and fresh noiseless ones to test it on."""
        plan = self.plan
        role, batch, samples = plan.fit_batch(number)
        trend = self._trend_on(role, batch, samples)
        fitted = self._batch(role, batch, samples)
        tested = self._batch(Role.TEST, number, plan.test_samples)
        network = (self.weights, self._fitted, trend)
        chunks = (
            feature_chunks(plan.model, fitted, *network, plan.noise),
            feature_chunks(plan.model, tested, *network, 0.0),
        )
        if self._alive.all():
            return chunks
        alive = self._alive[:, None, :]
        return tuple(((phi * alive, y) for phi, y in part) for part in chunks)  # type: ignore[return-value]

    def _forget(self, gradient: Float[np.ndarray, "runs p d"], batch: int) -> None:
        """Replace the rows by their gradients, scaled to unit variance of <w, x> over the batch."""
        samples = self.plan.samples_of(batch)
        sums = np.zeros((2, *gradient.shape[:2]))
        for sample in self._batch(Role.BATCH, batch, samples):
            fields = sample.inputs[:, : sample.filled] @ gradient.mT
            sums += np.array([fields.sum(axis=1), (fields.astype(np.float64) ** 2).sum(axis=1)])
        mean, square = sums / samples
        spread = np.sqrt(np.maximum(square - mean**2, 0.0))
        self._alive = spread > 0
        scale = np.where(self._alive, spread, 1.0)
        self.weights = jax.device_put((gradient / scale[..., None]).astype(self._dtype))

    def _batch(
        self,
        role: Role,
        number: int,
        samples: int,
        progress: Callable[[float], None] | None = None,
    ) -> Iterator[DrawnSample]:
        stream = self._batches.stream(role, number, samples, self.plan.dim, progress)
        if role is not Role.BATCH or self.plan.settings.batches == "fresh":
            return stream
        if not self._kept:
            self._kept = list(stream)
        return iter(self._kept)

    def _trend_on(self, role: Role, number: int, samples: int) -> Trend | None:
        """c = mean of y, b = (1/n) sum (y - c) x over a batch; b = 0 where y is only centred."""
        settings = self.plan.settings
        if self.plan.changes_labels and self._trend_of != (role, number):
            parts = [
                _label_sums(self.plan.model, sample, self._scalar(self.plan.noise))
                for sample in self._batch(role, number, samples)
            ]
            sums = [np.sum([np.asarray(x) for x in part], 0) for part in zip(*parts, strict=True)]
            label, inputs, product = (total / samples for total in sums)
            linear = product - label[:, None] * inputs
            self._trend = Trend(label, linear if settings.detrend else np.zeros_like(linear))
            self._trend_of = (role, number)
        return self._trend

    def _scalar(self, value: float) -> np.ndarray:
        return np.asarray(value, dtype=self._dtype)


def _simulated_pull(
    model: Model,
    pulled: Float[Array, "p d"],
    moments: Float[Array, "p moments"],
    weights: Float[Array, "p d"],
    neurons: DrawnNeurons,
    trend: Trend | None,
    sample: DrawnSample,
    noise: Float[Array, ""],
) -> tuple[Array, Array]:
    """Add a chunk's sum_i P_ij x_i to the pulls so far."""
    inputs, latent, random, filled = sample
    labels = detrended_batch_labels(model.labels(latent, random, noise), inputs, trend)
    counted = jnp.arange(inputs.shape[0]) < filled
    pulls = model.pulls(labels, inputs @ weights.T, neurons, counted)
    some = slice(max(NOISE_NUMBERS // weights.shape[0], 1))
    sampled = simulated_noise_moments(pulls[some], inputs[some, : latent.shape[1]])
    return pulled + pulls.T @ inputs, moments + sampled


def _simulated_label_sums(
    model: Model, sample: DrawnSample, noise: Float[Array, ""]
) -> tuple[Array, Array, Array]:
    """sum y, sum x and sum y x over a chunk."""
    inputs, latent, random, filled = sample
    counted = (jnp.arange(inputs.shape[0]) < filled).astype(inputs.dtype)
    labels = model.labels(latent, random, noise) * counted
    return labels.sum(), counted @ inputs, labels @ inputs


def _move_neurons(
    weights: Float[Array, "runs p d"],
    readout: Float[Array, "runs p"],
    pulled: Float[Array, "runs p d"],
    rate: Float[Array, ""],
    normalise: bool,
) -> Float[Array, "runs p d"]:
    """w_j + rate a_j sum_i P_ij x_i, back on the sphere if asked."""
    moved = weights + rate * readout[:, :, None] * pulled
    if normalise:
        moved = moved / jnp.linalg.norm(moved, axis=-1, keepdims=True)
    return moved


_pull = over_runs(_simulated_pull, donated=(0,))
_label_sums = over_runs(_simulated_label_sums)
_moved = jax.jit(_move_neurons, static_argnums=4, donate_argnums=2)
