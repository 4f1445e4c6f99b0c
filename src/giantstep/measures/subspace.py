"""How many directions were learned, and their angles to the right ones."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float


def angle(
    matrix: Float[np.ndarray, "... r r"], basis: Float[np.ndarray, "k r"]
) -> Float[np.ndarray, " ..."]:
    """Largest principal angle, in radians, between a subspace and the top eigenspace of K.

    The rows of ``basis`` are an orthonormal basis of the k-dimensional subspace; the eigenspace
    is that of the k largest eigenvalues of the overlap matrix K. The angle is 0 where they agree
    (also for k = 0), pi/2 where some direction of one is orthogonal to the other.

    >>> bool(np.isclose(angle(np.diag([0.5, 0.1]), np.array([[0.0, 1.0]])), np.pi / 2))
    True
    """
    size = len(basis)
    if size == 0:
        return np.zeros(matrix.shape[:-2])
    learned = np.linalg.eigh(matrix)[1][..., -size:]
    inside = basis @ learned
    # The sine is accurate for small angles, where the cosine is not.
    outside = learned - basis.T @ inside
    sine = np.linalg.svd(outside, compute_uv=False)[..., 0]
    cosine = np.linalg.svd(inside, compute_uv=False)[..., -1]
    return np.asarray(np.arctan2(sine, cosine))


def measured_rank(
    matrix: Float[np.ndarray, "... r r"], noise: Float[np.ndarray, "... r"], neurons: int
) -> np.ndarray:
    r"""How many eigenvalues of K exceed those that pure noise would show.

    In units of the noise of each direction, K of p neurons of pure noise is a Wishart matrix, whose
    eigenvalues end at :math:`(1 + \sqrt{r/p})^2`. ``noise`` is the overlap of pure noise with each
    direction, :func:`giantstep.measures.overlap.overlap_of_noise`.

    >>> int(measured_rank(np.diag([0.25, 0.01, 1e-4]), np.array([0.02, 0.02, 0.02]), 48))
    2
    """
    edge = (1 + np.sqrt(matrix.shape[-1] / neurons)) ** 2
    in_noise = matrix / (noise[..., :, None] * noise[..., None, :])
    return np.asarray(np.sum(np.linalg.eigvalsh(in_noise) > edge, axis=-1))
