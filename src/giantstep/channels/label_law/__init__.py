"""What a target's labels say about its directions: moments of h given y."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float, Int

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
        return self._joined(np.arange(0, len(self.mass), group))

    def steadied(self, spread: float) -> LabelMoments:
        """Neighbouring cells joined until the replicas agree about each probability.

        Moments are divided by probabilities: where those scatter by more than a fraction
        ``spread``, as in rare cells that few lines reach, the quotient is biased.
        """
        masses = self.moments[:, :, 0]
        starts, total = [0], np.zeros(len(masses))
        for cell in range(masses.shape[1] - 1):
            total = total + masses[:, cell]
            if _steady_labels(total, spread):
                starts.append(cell + 1)
                total = np.zeros(len(masses))
        while len(starts) > 1 and not _steady_labels(masses[:, starts[-1] :].sum(axis=1), spread):
            starts.pop()
        return self._joined(np.array(starts))

    def _joined(self, starts: Int[np.ndarray, " groups"]) -> LabelMoments:
        return replace(
            self,
            mass=np.add.reduceat(self.mass, starts),
            moments=np.add.reduceat(self.moments, starts, axis=1),
        )

    def coordinates(self, rows: Float[np.ndarray, "n r"]) -> Float[np.ndarray, "n m"]:
        """Directions in the coordinates that the multi-indices count."""
        return rows if self.frame is None else rows @ self.frame.T


def _steady_labels(masses: Float[np.ndarray, " replicas"], spread: float) -> bool:
    return bool(masses.std(ddof=1) < spread * masses.mean())
