"""Labels that are linear in one field, or of finitely many values: exact for any noise."""

from __future__ import annotations

from dataclasses import dataclass

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from giantstep.channels.cells import Cells
from giantstep.channels.posterior import Matrix, Posterior, Vector, mixture
from giantstep.errors import TargetError


@dataclass(frozen=True)
class Affine:
    """y = offset + slope u + sqrt(noise) xi, for which everything is Gaussian."""

    offset: float
    slope: float

    def labels(self, y: Float[np.ndarray, " n"], noise: float) -> Float[np.ndarray, "n 2"]:
        """Each label with its noise."""
        return np.stack([y, np.full_like(y, noise)], axis=-1)

    def posterior(
        self, label: Float[Array, 2], mean: Float[Array, 1], cov: Float[Array, "1 1"]
    ) -> Posterior:
        """log N(y; offset + slope omega, slope^2 V + noise) and its derivatives."""
        variance = self.slope**2 * cov[0, 0] + label[1]
        residual = label[0] - self.offset - self.slope * mean
        log_density = -(residual[0] ** 2 / variance + jnp.log(2 * np.pi * variance)) / 2
        curvature = jnp.full((1, 1), -(self.slope**2), mean.dtype) / variance
        return Posterior(log_density, self.slope * residual / variance, curvature)

    def label_mean(self, mean: Float[Array, 1], cov: Float[Array, "1 1"]) -> Float[Array, ""]:
        """E[y]."""
        return self.offset + self.slope * mean[0]


@dataclass(frozen=True)
class Discrete:
    """y = values[class of the cell] + sqrt(noise) xi."""

    cells: Cells
    values: tuple[float, ...]

    def labels(self, y: Float[np.ndarray, " n"], noise: float) -> Float[np.ndarray, "n c"]:
        """The log likelihood of every class, one row per label."""
        gaps = y[:, None] - np.array(self.values)
        if noise > 0:
            return -(gaps**2) / (2 * noise) - np.log(2 * np.pi * noise) / 2
        match = np.abs(gaps) <= 1e-9 * (1 + np.abs(y[:, None]))
        if not match.any(axis=1).all():
            stranger = y[~match.any(axis=1)][0]
            known = ", ".join(f"{value:.6g}" for value in self.values)
            raise TargetError(f"label y = {stranger:.6g} is none of this target's values: {known}")
        return np.where(match, 0.0, -np.inf)

    def posterior(self, label: Float[Array, " c"], mean: Vector, cov: Matrix) -> Posterior:
        """The classes' posteriors, mixed by how well each explains the label."""
        return mixture(self.cells.posteriors(mean, cov), label)

    def label_mean(self, mean: Vector, cov: Matrix) -> Float[Array, ""]:
        """E[y]."""
        chances = jnp.exp(self.cells.posteriors(mean, cov).log_partition)
        return chances @ jnp.asarray(self.values, mean.dtype)
