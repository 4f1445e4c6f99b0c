r"""How much of the target's directions is in the neurons.

With rows scaled to unit length, :math:`c_{jk} = \langle w_j, w^*_k \rangle / |w_j|` is the cosine
of neuron j with direction k, and :math:`K = \frac1p \sum_j c_j c_j^T` (r x r) says how much of any
direction u was learned, :math:`\sqrt{u^T K u}`. A direction is learned if that does not fall when
d grows at fixed n / d^leap; a single d never decides it.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float


def cosines(
    projections: Float[np.ndarray, "... p r"], norms: Float[np.ndarray, "... p"]
) -> Float[np.ndarray, "... p r"]:
    """Cosine of each neuron with each direction of the target."""
    return projections / norms[..., None]


def overlap(cosine: Float[np.ndarray, "... p r"]) -> Float[np.ndarray, "... r"]:
    """Root mean square over the neurons of their cosine with each direction.

    >>> overlap(np.array([[0.6, 0.0], [-0.8, 0.0]])).round(4).tolist()
    [0.7071, 0.0]
    """
    return np.sqrt(np.mean(cosine**2, axis=-2))


def overlap_matrix(cosine: Float[np.ndarray, "... p r"]) -> Float[np.ndarray, "... r r"]:
    """K, whose diagonal is the square of :func:`overlap`."""
    return cosine.mT @ cosine / cosine.shape[-2]


def overlap_spectrum(
    matrix: Float[np.ndarray, "... r r"],
) -> tuple[Float[np.ndarray, "... r"], Float[np.ndarray, "... r r"]]:
    """Square roots of the eigenvalues of K, largest first, and its eigenvectors as columns."""
    values, vectors = np.linalg.eigh(matrix)
    return np.sqrt(np.maximum(values[..., ::-1], 0.0)), vectors[..., ::-1]


def overlap_of_noise(
    moments: Float[np.ndarray, "... p moments"], dim: int
) -> Float[np.ndarray, "... r"]:
    r"""The overlap that a gradient of pure noise shows with each direction.

    .. math:: \sqrt{E[y^2 \sigma'^2 h_k^2] / (d\, E[y^2 \sigma'^2])}

    for each neuron, root mean square over the neurons; y stands for the residual that drives the
    step. It is not :math:`d^{-1/2}`: samples with a large label pull more, and h is large where
    the label is. ``moments`` holds the sums of :math:`P^2 h_k^2` over the samples, then that of
    :math:`P^2`, with :math:`P = y \sigma'`.
    """
    tilted, total = moments[..., :-1], moments[..., -1:]
    with np.errstate(invalid="ignore"):
        squared = np.where(total > 0, tilted / (dim * total), 1 / dim)
    return np.sqrt(np.mean(squared, axis=-2))
