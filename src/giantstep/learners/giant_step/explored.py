r"""A batch that is used more than once, in law: only what has been asked of it is drawn.

The n x d matrix X of inputs is known on s right directions (the frame: the target's directions,
the rows, and what earlier pulls added) and on m left directions U. Everything else is iid
Gaussian and independent of the past (Bolthausen's conditioning). A pull along new left directions
V needs :math:`V^T X`: orthonormalise V against U to get new left directions Q; the block of
:math:`Q^T X` outside the frame is Gaussian, :math:`T O` with T a Bartlett factor and O new right
directions; on these X reads :math:`Q T + (I - U U^T) G` with G a fresh Gaussian matrix and U
including Q.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from giantstep.learners.giant_step.bartlett import bartlett
from giantstep.learners.giant_step.draws import Draws, Role


class ExploredBatch:
    """The inputs of a batch in a growing frame, (runs, n, s)."""

    def __init__(
        self,
        coordinates: Float[np.ndarray, "runs n s"],
        dim: int,
        draws: Draws,
        role: Role,
        number: int,
    ) -> None:
        self.coordinates = coordinates
        self._directions = np.zeros((*coordinates.shape[:2], 0))
        self._dim = dim
        self._draws = draws
        self._path = (role, number)
        self._explorations = 0

    def explore(self, pulls: Float[np.ndarray, "runs n k"]) -> None:
        """Extend the frame until it holds sum_i P_ij x_i for every column P of ``pulls``."""
        fresh = _orthonormal_complement(self._directions, pulls)
        self._directions = np.concatenate([self._directions, fresh], axis=-1)
        freedom = self._dim - self.coordinates.shape[-1]
        self._explorations += 1
        if freedom == 0 or fresh.shape[-1] == 0:
            return
        path = (*self._path, self._explorations)
        factor = bartlett(self._draws, fresh.shape[-1], freedom, Role.BARTLETT, *path)
        noise = self._draws.normal((pulls.shape[1], factor.shape[-1]), Role.EXPLORED, *path)
        noise -= self._directions @ (self._directions.mT @ noise)
        self.coordinates = np.concatenate([self.coordinates, fresh @ factor + noise], axis=-1)


def _orthonormal_complement(
    known: Float[np.ndarray, "runs n m"], vectors: Float[np.ndarray, "runs n k"]
) -> Float[np.ndarray, "runs n q"]:
    """q = min(k, n - m) orthonormal columns, orthogonal to the known ones, that with them span.

    Householder's QR is orthonormal however dependent the vectors are: twin neurons, say, add one
    direction that matters and one that does no harm.
    """
    seen = known.shape[-1]
    return np.linalg.qr(np.concatenate([known, vectors], axis=-1))[0][..., seen:]
