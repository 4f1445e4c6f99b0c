"""A population of rows of one batch, and the neurons that step on it again and again.

Samples run along the last axis of every array.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from giantstep.numerics.linear_algebra import matrix_square_root, mean_product, whitened
from giantstep.numerics.quadrature import normal_points
from giantstep.theory.giant_step.explored_mode import ExploredMode
from giantstep.theory.giant_step.fresh_fields import FreshFields, FreshLayer, Sample


class RidgeFit(NamedTuple):
    """A ridge fit of the readout: the penalty for each sample, and whether on the batch itself."""

    penalty: float
    same_batch: bool


class PopulationErrors(NamedTuple):
    """Mean squared residuals: on the labels of the fit, and on fresh labels without noise.

    ``own``: on fresh labels of the network with the readout that it started with. Each is a number,
    or an array over steps.
    """

    train: Any
    test: Any
    own: Any

    def metrics(self, noise: float = 0.0) -> dict[str, Any]:
        """The errors by the names of metrics."""
        return {
            "test_error": self.test,
            "test_error_noisy": self.test + noise,
            "train_error": self.train,
            "network_error": self.own,
        }


class BatchPopulation:
    """Rows of a batch as the limit of large d has them: independent, all of one law."""

    def __init__(
        self,
        fields: FreshFields,
        rows: int,
        steps: int,
        samples_ratio: float,
        rng: np.random.Generator,
    ) -> None:
        target, modes = fields.problem.target, fields.modes
        drawn = normal_points(rows, self.axes(fields, steps), rng).T
        sizes = [fields.rank, target.noises, 1, *[mode.normals for mode in modes] * (1 + steps)]
        latent, inner, noise, *normals = np.split(drawn, np.cumsum(sizes)[:-1])
        latent, self.weights = fields.widened(latent)
        self._fields = fields
        first, *later = (normals[k : k + len(modes)] for k in range(0, len(normals), len(modes)))
        self._fresh = [
            [mode.drawn(part) for mode, part in zip(modes, parts, strict=True)] for parts in later
        ]
        self._modes: list[ExploredMode] = []
        for mode, part in zip(modes, first, strict=True):
            weights, known = mode.each_row(self.weights), mode.drawn(part)
            coordinates = matrix_square_root(mode.start)
            if not self._modes:
                # The mean over copies, which comes first, is what sees the target's directions.
                known = np.concatenate([latent, known, noise])
                known = whitened(known - known @ weights[:, None] / rows, weights)
                latent, noise, known = known[: fields.rank], known[-1], known[:-1]
                coordinates = np.pad(coordinates, ((0, 0), (fields.rank, 0)))
            else:
                known = whitened(known, weights)
            self._modes.append(ExploredMode(coordinates, known, weights, samples_ratio))
        self.labels = fields.labels(latent, inner) + np.sqrt(fields.problem.noise) * noise
        self._test_points = normal_points(rows, fields.axes, rng).T

    @staticmethod
    def axes(fields: FreshFields, steps: int) -> int:
        """Standard normals that one row takes: the law of a fresh row, label noise, each step."""
        return fields.axes + 1 + steps * sum(mode.normals for mode in fields.modes)

    @property
    def layer(self) -> FreshLayer:
        """Overlaps and Gram matrices of the neurons."""
        rank = self._fields.rank
        mean, *others = [mode.coordinates for mode in self._modes]
        rests = [mean[:, rank:], *others]
        return FreshLayer(mean[:, :rank], tuple(rest @ rest.T for rest in rests))

    def fields(self) -> Float[np.ndarray, "neurons rows"]:
        """What every neuron sees of each row, biases included."""
        found = np.repeat(self._fields.biases[:, None], len(self.labels), axis=1)
        for mode, state in zip(self._fields.modes, self._modes, strict=True):
            mode.add_to(found, state.fields())
        return found

    def step(self) -> None:
        """One step of all neurons on the batch."""
        seen = self.fields()
        moves = self._fields.residual(self.labels, seen) * self._fields.slopes(seen)
        normals = self._fresh.pop(0)
        for mode, state, fresh in zip(self._fields.modes, self._modes, normals, strict=True):
            state.step(mode.of(moves), fresh)

    def scale(self, lengths: Float[np.ndarray, " kinds"]) -> None:
        """Divide every neuron by the length of its kind."""
        for mode, state in zip(self._fields.modes, self._modes, strict=True):
            state.coordinates = state.coordinates / lengths[mode.kinds, None]

    def covariances(self) -> Float[np.ndarray, "kinds r r"]:
        """How overlaps fluctuate, which is not known."""
        return np.zeros((len(self._fields.kinds.family), self._fields.rank, self._fields.rank))

    def errors(self, fit: RidgeFit | None) -> PopulationErrors:
        """Of the network with its own readout, or with one that is fitted."""
        fields, batch = self._fields, self.fields()
        fresh = fields.sample(self.layer, self._test_points)
        labels, own = fields.labels(fresh.latent, fresh.inner), _own_error(fields, fresh)
        if fit is None:
            train = _mean_square(self.labels - fields.output(batch), self.weights)
            return PopulationErrors(train, own, own)
        if not fit.same_batch:
            return population_errors(fields, fresh, fit)
        batch, unseen = (_mean_features(fields, each) for each in (batch, fresh.fields))
        readout = _limit_ridge(batch, self.labels, self.weights, _population_penalty(fields, fit))
        train = _mean_square(self.labels - readout @ batch, self.weights)
        return PopulationErrors(train, _mean_square(labels - readout @ unseen, fresh.weights), own)


def population_errors(fields: FreshFields, fresh: Sample, fit: RidgeFit) -> PopulationErrors:
    """Errors of the readout that infinitely many fresh samples give."""
    labels = fields.labels(fresh.latent, fresh.inner)
    features = _mean_features(fields, fresh.fields)
    readout = _limit_ridge(features, labels, fresh.weights, _population_penalty(fields, fit))
    test = _mean_square(labels - readout @ features, fresh.weights)
    return PopulationErrors(test + fields.problem.noise, test, _own_error(fields, fresh))


def _own_error(fields: FreshFields, fresh: Sample) -> float:
    labels = fields.labels(fresh.latent, fresh.inner)
    return _mean_square(labels - fields.output(fresh.fields), fresh.weights)


def _mean_features(fields: FreshFields, seen: np.ndarray) -> np.ndarray:
    """Copies of a kind get equal weights: their mean stands for them, with a share of penalty."""
    return fields.modes[0].of(fields.activation.numpy(seen))


def _population_penalty(fields: FreshFields, fit: RidgeFit) -> np.ndarray:
    return np.diag(fit.penalty / fields.kinds.copies)


def _mean_square(residuals: Float[np.ndarray, " n"], weights: Float[np.ndarray, " n"]) -> float:
    return float(residuals**2 @ weights / len(residuals))


def _limit_ridge(
    features: Float[np.ndarray, "kinds n"],
    labels: Float[np.ndarray, " n"],
    weights: Float[np.ndarray, " n"],
    penalty: Float[np.ndarray, "kinds kinds"],
) -> Float[np.ndarray, " kinds"]:
    """argmin E(y - b phi)^2 + b penalty b; the shortest where twins make it ambiguous."""
    gram = mean_product(features, features, weights) + penalty
    together = features @ (weights * labels) / len(labels)
    return np.linalg.pinv(gram, rcond=1e-12, hermitian=True) @ together
