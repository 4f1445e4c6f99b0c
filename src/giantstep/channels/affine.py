"""Labels that are linear in one field: y = offset + slope u + noise."""

from __future__ import annotations

from dataclasses import dataclass

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from giantstep.channels.posterior import Posterior


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
