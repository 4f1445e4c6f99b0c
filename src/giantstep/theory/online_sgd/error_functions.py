"""Gaussian means of products of error functions s(u) = erf(u/sqrt 2), as Saad and Solla need."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float


def mean_product(covariance: Float[np.ndarray, "*many n n"]) -> Float[np.ndarray, "*many n n"]:
    r"""I2: the means of s(u_a) s(u_b) for all pairs.

    .. math:: I_2 = \frac2\pi \arcsin\frac{C_{12}}{\sqrt{(1+C_{11})(1+C_{22})}}

    Symbols: C ``covariance``.

    Assumes: centred normal fields.
    Status: theorem.
    References: Saad, Solla 1995, Physical Review E 52.

    >>> round(float(mean_product(np.eye(2) + 0.0)[0, 0]), 6)
    0.333333
    """
    root = np.sqrt(1 + np.diagonal(covariance, axis1=-2, axis2=-1))
    return 2 / np.pi * np.arcsin(covariance / (root[..., :, None] * root[..., None, :]))


def mean_slope_field(
    covariance: Float[np.ndarray, "n n"], slopes: int
) -> Float[np.ndarray, "p n n"]:
    r"""I3: the means of s'(u_a) u_b s(u_c), a among the first ``slopes`` fields.

    .. math:: I_3 = \frac2\pi\,
        \frac{C_{23}(1+C_{11}) - C_{12}C_{13}}{(1+C_{11})\sqrt{(1+C_{11})(1+C_{33}) - C_{13}^2}}
        = \frac2\pi\, \frac{C'_{23}}{\sqrt{(1+C_{11})(1+C'_{33})}}

    with the covariance C' of the fields under the weight s'(u_1).

    Symbols: C ``covariance``.

    Assumes: centred normal fields.
    Status: theorem.
    References: Saad, Solla 1995, Physical Review E 52.

    >>> round(float(mean_slope_field(np.eye(2) + 0.0, 1)[0, 1, 1]), 6)
    0.31831
    """
    mass, weighted = _weighted_by_slopes(covariance, slopes)
    root = np.sqrt(1 + np.diagonal(weighted, axis1=-2, axis2=-1))
    return np.sqrt(2 / np.pi) * mass[:, None, None] * weighted / root[:, None, :]


def mean_two_slopes(
    covariance: Float[np.ndarray, "n n"], slopes: int
) -> Float[np.ndarray, "p p n n"]:
    r"""I4: the means of s'(u_a) s'(u_b) s(u_c) s(u_e), a and b among the first ``slopes`` fields.

    .. math:: I_4 = \frac{4}{\pi^2}\, \frac{1}{\sqrt{(1+C_{11})(1+C_{22}) - C_{12}^2}}
        \arcsin\frac{C''_{34}}{\sqrt{(1+C''_{33})(1+C''_{44})}}

    with the covariance C'' of the fields under the weight s'(u_1) s'(u_2): what is written out in
    the reference as :math:`L_0/\sqrt{L_1 L_2}`.

    Symbols: C ``covariance``.

    Assumes: centred normal fields.
    Status: theorem.
    References: Saad, Solla 1995, Physical Review E 52.

    >>> round(float(mean_two_slopes(np.eye(3) + 0.0, 1)[0, 0, 2, 2]), 6)
    0.122518
    """
    once, weighted = _weighted_by_slopes(covariance, slopes)
    twice, weighted = _weighted_by_slopes(weighted, slopes)
    return (once[:, None] * twice)[..., None, None] * mean_product(weighted)


def mean_slopes(covariance: Float[np.ndarray, "p p"]) -> Float[np.ndarray, "p p"]:
    r"""The means of s'(u_a) s'(u_b).

    .. math:: \frac2\pi \frac1{\sqrt{(1+C_{11})(1+C_{22}) - C_{12}^2}}

    Symbols: C ``covariance``.

    Assumes: centred normal fields.
    Status: theorem.
    References: Saad, Solla 1995, Physical Review E 52.

    >>> round(float(mean_slopes(np.eye(1))[0, 0]), 6)
    0.367553
    """
    wide = 1 + np.diag(covariance)
    return 2 / np.pi / np.sqrt(np.outer(wide, wide) - covariance**2)


def _weighted_by_slopes(
    covariance: Float[np.ndarray, "*many n n"], slopes: int
) -> tuple[Float[np.ndarray, "*many p"], Float[np.ndarray, "*many p n n"]]:
    """E[s'(u_a)] for the first fields; the covariance C - C_a C_a^T/(1 + C_aa) under s'(u_a)."""
    own = covariance[..., :slopes, :]
    wide = 1 + np.diagonal(own, axis1=-2, axis2=-1)
    explained = own[..., :, None] * own[..., None, :] / wide[..., None, None]
    return np.sqrt(2 / np.pi / wide), covariance[..., None, :, :] - explained
