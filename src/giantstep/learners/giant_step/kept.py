"""A batch in law that is used more than once: its frame, its labels, and their trend."""

from __future__ import annotations

import numpy as np
from jaxtyping import Array, Float

from giantstep.learners.giant_step.draws import Draws, Role
from giantstep.learners.giant_step.explored import ExploredBatch
from giantstep.learners.giant_step.network import Model, Neurons, Randomness, Trend
from giantstep.learners.giant_step.plan import Plan
from giantstep.learners.giant_step.runs import over_runs
from giantstep.learners.giant_step.samples import Batches


class KeptBatch:
    """Samples (runs, n, s) in a frame that grows as pulls explore it; all in float64."""

    def __init__(
        self, plan: Plan, draws: Draws, role: Role, number: int, samples: int, columns: int
    ) -> None:
        self.number = number
        sample = Batches(plan, draws, "float64").whole(role, number, samples, columns)
        labels = _labels(plan.model, sample.latent, sample.random, np.asarray(plan.noise))
        self._explored = ExploredBatch(sample.inputs, plan.dim, draws, role, number)
        self.labels = np.asarray(labels)
        self.trend: Trend | None = None
        if plan.settings.detrend:
            self._remove_trend()

    @property
    def inputs(self) -> Float[np.ndarray, "runs n s"]:
        """The samples in the frame explored so far."""
        return self._explored.coordinates

    def explore(self, pulls: Float[np.ndarray, "runs n k"]) -> None:
        """Let the frame hold the sums of inputs with these weights."""
        self._explored.explore(pulls)

    def pulls(self, model: Model, rows: np.ndarray, neurons: Neurons) -> np.ndarray:
        """P (runs, n, p)."""
        return np.asarray(_pulls(model, self._fields(rows), self.labels, neurons))

    def features(self, model: Model, rows: np.ndarray, neurons: Neurons) -> np.ndarray:
        """phi (runs, n, p)."""
        return np.asarray(_features(model, self._fields(rows), neurons))

    def noise_moments(self, pulls: np.ndarray, rank: int) -> np.ndarray:
        """Sums over samples of P_ij^2 x_ik^2 and of P_ij^2, (runs, p, r + 1)."""
        known = self.inputs[..., :rank] ** 2
        return (pulls**2).mT @ np.concatenate([known, np.ones_like(known[..., :1])], axis=-1)

    def _fields(self, rows: np.ndarray) -> np.ndarray:
        return self.inputs[..., : rows.shape[-1]] @ rows.mT

    def _remove_trend(self) -> None:
        """y <- y - c - x.b with c the mean of y and b = (1/n) sum (y - c) x."""
        constant = self.labels.mean(axis=-1)
        centred = self.labels - constant[:, None]
        self.explore(centred[..., None])
        linear = (centred[:, None, :] @ self.inputs)[:, 0] / self.labels.shape[-1]
        self.trend = Trend(constant, linear)
        self.labels = centred - (self.inputs @ linear[..., None])[..., 0]


def _labels_kernel(
    model: Model, latent: Float[Array, "n r"], random: Randomness, noise: Float[Array, ""]
) -> Float[Array, " n"]:
    return model.labels(latent, random, noise)


def _pulls_kernel(
    model: Model, fields: Float[Array, "n p"], labels: Float[Array, " n"], neurons: Neurons
) -> Float[Array, "n p"]:
    return model.pulls(labels, fields, neurons, True)


def _features_kernel(
    model: Model, fields: Float[Array, "n p"], neurons: Neurons
) -> Float[Array, "n p"]:
    return model.features(fields, neurons)


_labels = over_runs(_labels_kernel, shared=(2,))
_pulls = over_runs(_pulls_kernel)
_features = over_runs(_features_kernel)
