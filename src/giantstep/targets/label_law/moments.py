"""What labels say about directions: the moments E[1{y in cell} He_j(h)] over a partition of y."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from giantstep.numerics.hermite import MultiIndex


@dataclass(frozen=True, eq=False)
class LabelMoments:
    """Moments of h on cells of labels.

    ``moments[s, b, i]`` estimates E[1{y in cell b} He_{j_i}(h)] where j_i is ``indices[i]``, and
    ``mass[b]`` is the probability of the cell. Exact moments have one replica s; sampled ones
    have several, independent of each other, so that products of two of them are unbiased.
    ``frame`` has the coordinates of h that the multi-indices count as rows (all of them by
    default). ``coarse`` are the same moments at a lower resolution: what changes is the error.
    ``error`` bounds the errors of exact moments, divided by sqrt(j!), as far as they are known.
    """

    indices: tuple[MultiIndex, ...]
    mass: Float[np.ndarray, " cells"]
    moments: Float[np.ndarray, "replicas cells indices"]
    method: str
    frame: Float[np.ndarray, "m r"] | None = None
    coarse: LabelMoments | None = None
    error: float = 0.0

    @property
    def exact(self) -> bool:
        """Whether the moments carry no sampling noise."""
        return len(self.moments) == 1

    @property
    def degree(self) -> int:
        """Highest total degree."""
        return max(map(sum, self.indices))

    def normalised(self) -> dict[MultiIndex, Float[np.ndarray, "replicas cells"]]:
        """E[1{y in b} He_j] / sqrt(P(b)) by multi-index: coefficients of orthonormal features."""
        root = np.sqrt(np.maximum(self.mass, np.finfo(float).tiny))
        return {j: self.moments[:, :, i] / root for i, j in enumerate(self.indices)}

    def merged(self, group: int) -> LabelMoments:
        """Neighbouring cells joined, ``group`` at a time."""
        starts = np.arange(0, len(self.mass), group)
        return LabelMoments(
            self.indices,
            np.add.reduceat(self.mass, starts),
            np.add.reduceat(self.moments, starts, axis=1),
            self.method,
            self.frame,
        )

    def coordinates(self, rows: Float[np.ndarray, "n r"]) -> Float[np.ndarray, "n m"]:
        """Directions in the coordinates that the multi-indices count."""
        return rows if self.frame is None else rows @ self.frame.T
