"""Any target of at most three fields under label noise, by quadrature with an error estimate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from giantstep.channels.cells import Cells
from giantstep.channels.nodes import gaussian_nodes
from giantstep.channels.posterior import Posterior, mixture, with_rest
from giantstep.channels.structure import Structure


class LabelMixture(NamedTuple):
    """The law of y as a mixture of Gaussians; under each, g_out = pulls + rates (y - centres)."""

    logs: Float[Array, " k"]
    centres: Float[Array, " k"]
    variances: Float[Array, " k"]
    pulls: Float[Array, "k m"]
    rates: Float[Array, "k m"]


@dataclass(frozen=True)
class Quadrature:
    """y = g(u) + sqrt(noise) xi, the first ``len(counts)`` fields integrated on nodes.

    What remains is done in closed form: fields along which the target is piecewise constant (the
    groups), or one field in which it is affine.
    """

    structure: Structure
    counts: tuple[int, ...]
    groups: Cells
    affine: bool = False

    def labels(self, y: Float[np.ndarray, " n"], noise: float) -> Float[np.ndarray, "n 2"]:
        """Each label with its noise."""
        return np.stack([y, np.full_like(y, noise)], axis=-1)

    @property
    def size(self) -> int:
        """Number of nodes, over all fields."""
        return int(np.prod(self.counts)) * self.groups.count

    def _nodes(self, mean: Float[Array, " m"], cov: Float[Array, "m m"]) -> tuple[Array, ...]:
        """Nodes of the integrated fields, their log weights, pulls, and the others' means."""
        q = len(self.counts)
        x, logs = gaussian_nodes(mean[:q], cov[:q, :q], self.structure.kinks[:q], self.counts)
        chol = jnp.linalg.cholesky(cov[:q, :q])
        inverse = jax.scipy.linalg.solve_triangular(chol, jnp.eye(q, dtype=mean.dtype), lower=True)
        pulls = x @ inverse
        points = mean[None, :q] + x @ chol.T
        return points, logs, pulls, inverse.T @ inverse

    def posterior(
        self, label: Float[Array, 2], mean: Float[Array, " m"], cov: Float[Array, "m m"]
    ) -> Posterior:
        """The mixture over the nodes."""
        q = len(self.counts)
        points, logs, pulls, precision = self._nodes(mean, cov)
        slope = cov[q:, :q] @ precision
        rest_cov = cov[q:, q:] - slope @ cov[:q, q:]
        rest_means = mean[None, q:] + pulls @ cov[:q, q:]
        if cov.shape[0] == q:
            fit = jax.vmap(lambda z: _log_normal(label[0] - self.structure.jax(z), label[1]))
            hessian = -precision[None]
            return mixture(Posterior(fit(points), pulls, hessian), logs)

        def part(point: Array, pull: Array, rest_mean: Array) -> Posterior:
            rest = self._rest(label, point, rest_mean, rest_cov)
            return jax.vmap(lambda event: with_rest(pull, precision, slope, event))(rest)

        parts = jax.vmap(part)(points, pulls, rest_means)
        weights = jnp.repeat(logs, parts.log_partition.shape[1])
        return mixture(Posterior(*(p.reshape(-1, *p.shape[2:]) for p in parts)), weights)

    def _rest(self, label: Array, point: Array, rest_mean: Array, rest_cov: Array) -> Posterior:
        """What the fields that are not integrated say about the label, one row an alternative."""
        if self.affine:
            offset, slope = self._line(point)
            variance = label[1] + slope**2 * rest_cov[0, 0]
            residual = label[0] - offset - slope * rest_mean[0]
            return Posterior(
                _log_normal(residual, variance)[None],
                (slope * residual / variance)[None, None],
                (-(slope**2) / variance)[None, None, None],
            )
        values = self._group_values(point)
        events = self.groups.posteriors(rest_mean, rest_cov)
        fit = _log_normal(label[0] - values, jnp.broadcast_to(label[1], values.shape))
        return events._replace(log_partition=events.log_partition + fit)

    def _line(self, point: Array) -> tuple[Array, Array]:
        """Offset and slope of the target in the field it is affine in."""
        ends = [jnp.concatenate([point, jnp.full(1, t, point.dtype)]) for t in (0.0, 1.0)]
        at_zero, at_one = (self.structure.jax(end) for end in ends)
        return at_zero, at_one - at_zero

    def _group_values(self, point: Array) -> Float[Array, " groups"]:
        centres = jnp.asarray(self.groups.representatives(), point.dtype)
        return jnp.stack([self.structure.jax(jnp.concatenate([point, c])) for c in centres])

    def label_mixture(
        self, mean: Float[Array, " m"], cov: Float[Array, "m m"], noise: Float[Array, ""]
    ) -> LabelMixture:
        """What :meth:`posterior` sums up, for all labels at once: one Gaussian an alternative."""
        q = len(self.counts)
        points, logs, pulls, precision = self._nodes(mean, cov)
        if cov.shape[0] == q:
            centres = jax.vmap(self.structure.jax)(points)
            return LabelMixture(
                logs, centres, jnp.full_like(centres, noise), pulls, jnp.zeros_like(pulls)
            )
        slope = cov[q:, :q] @ precision
        rest_cov = cov[q:, q:] - slope @ cov[:q, q:]
        rest_means = mean[None, q:] + pulls @ cov[:q, q:]
        # What the other fields say pulls the integrated ones through the conditional mean.
        chained = jnp.concatenate([-slope, jnp.eye(len(slope), dtype=mean.dtype)], axis=1)
        pulls = jnp.pad(pulls, ((0, 0), (0, len(slope))))
        if self.affine:
            offset, steepness = jax.vmap(self._line)(points)
            variances = noise + steepness**2 * rest_cov[0, 0]
            rates = (steepness / variances)[:, None] @ chained
            return LabelMixture(
                logs, offset + steepness * rest_means[:, 0], variances, pulls, rates
            )
        centres = jax.vmap(self._group_values)(points).ravel()
        events = jax.vmap(lambda w: self.groups.posteriors(w, rest_cov))(rest_means)
        pulls = (pulls[:, None, :] + events.gradient @ chained).reshape(len(centres), -1)
        logs = (logs[:, None] + events.log_partition).ravel()
        return LabelMixture(
            logs, centres, jnp.full_like(centres, noise), pulls, jnp.zeros_like(pulls)
        )

    def label_mean(self, mean: Float[Array, " m"], cov: Float[Array, "m m"]) -> Float[Array, ""]:
        """E[y]."""
        law = self.label_mixture(mean, cov, jnp.zeros((), mean.dtype))
        return jnp.exp(law.logs) @ law.centres


def _log_normal(residual: Array, variance: Array) -> Array:
    return -(residual**2 / variance + jnp.log(2 * np.pi * variance)) / 2
