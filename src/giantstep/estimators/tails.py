"""Columns brought to one scale, with their tails drawn in."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jaxtyping import Float


class TailScaler(NamedTuple):
    """Standardise, compress beyond ``clip`` deviations by a logarithm, standardise again.

    Links are polynomials between their knots; one far point would otherwise decide the fit.
    """

    mean: Float[np.ndarray, " d"]
    deviation: Float[np.ndarray, " d"]
    clip: float
    mean_after: Float[np.ndarray, " d"]
    deviation_after: Float[np.ndarray, " d"]

    @classmethod
    def of(cls, inputs: Float[np.ndarray, "n d"], clip: float) -> TailScaler:
        """Means and deviations of these rows; a constant column keeps the deviation 1."""
        mean, deviation = _moments(inputs)
        compressed = compress((inputs - mean) / deviation, clip)
        return cls(mean, deviation, clip, *_moments(compressed))

    def transform(self, inputs: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "n d"]:
        """The rows on the scale of the rows that were fitted, in the precision they come in."""
        mean, inverse, mean_after, inverse_after = (
            one.astype(inputs.dtype)
            for one in (self.mean, 1 / self.deviation, self.mean_after, 1 / self.deviation_after)
        )
        # In place from the second line on: a streamed fit spends its time here and in products.
        scaled = np.subtract(inputs, mean, order="C")
        scaled *= inverse
        scaled = compress(scaled, self.clip)
        scaled -= mean_after
        scaled *= inverse_after
        return scaled

    @property
    def slope(self) -> Float[np.ndarray, " d"]:
        """Derivative of the transformed column in the middle of its range."""
        return 1 / (self.deviation * self.deviation_after)


def safe_deviation(
    mean: Float[np.ndarray, " d"], deviation: Float[np.ndarray, " d"]
) -> Float[np.ndarray, " d"]:
    """Deviations, with 1 for a constant column."""
    # Rounding leaves a constant column of 1e8 with a deviation of 1e-8.
    constant = deviation <= 1e-12 * np.abs(mean)
    return np.where(constant | (deviation == 0), 1.0, deviation)


def compress(scaled: Float[np.ndarray, "n d"], clip: float) -> Float[np.ndarray, "n d"]:
    """The same numbers up to ``clip``, a logarithm beyond; rows in C order are overwritten."""
    flat = scaled.reshape(-1)
    far = np.flatnonzero(np.abs(flat) > clip)
    beyond = flat[far]
    flat[far] = np.sign(beyond) * (clip + np.log1p(np.abs(beyond) - clip))
    return flat.reshape(scaled.shape)


def _moments(inputs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    mean = inputs.mean(axis=0)
    return mean, safe_deviation(mean, inputs.std(axis=0))
