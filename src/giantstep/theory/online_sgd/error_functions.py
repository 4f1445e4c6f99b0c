"""Gaussian means of products of error functions s(u) = erf(u/sqrt 2), as Saad and Solla need."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float


def mean_product(covariance: Float[np.ndarray, "n n"]) -> Float[np.ndarray, "n n"]:
    r"""I2: the means of s(u_a) s(u_b) for all pairs.

    .. math:: I_2 = \frac2\pi \arcsin\frac{C_{12}}{\sqrt{(1+C_{11})(1+C_{22})}}

    Symbols: C ``covariance``.

    Assumes: centred normal fields.
    Status: theorem.
    References: Saad, Solla 1995, Physical Review E 52.

    >>> round(float(mean_product(np.eye(2) + 0.0)[0, 0]), 6)
    0.333333
    """
    wide = 1 + np.diag(covariance)
    return 2 / np.pi * np.arcsin(covariance / np.sqrt(np.outer(wide, wide)))


def mean_slope_field(covariance: Float[np.ndarray, "n n"]) -> Float[np.ndarray, "n n n"]:
    r"""I3: the means of s'(u_a) u_b s(u_c) for all triples.

    .. math:: I_3 = \frac2\pi\,
        \frac{C_{23}(1+C_{11}) - C_{12}C_{13}}{(1+C_{11})\sqrt{(1+C_{11})(1+C_{33}) - C_{13}^2}}

    Symbols: C ``covariance``.

    Assumes: centred normal fields.
    Status: theorem.
    References: Saad, Solla 1995, Physical Review E 52.

    >>> round(float(mean_slope_field(np.eye(2) + 0.0)[0, 1, 1]), 6)
    0.31831
    """
    wide = 1 + np.diag(covariance)
    root = np.sqrt(np.outer(wide, wide) - covariance**2)
    top = (
        covariance[None, :, :] * wide[:, None, None]
        - covariance[:, :, None] * covariance[:, None, :]
    )
    return 2 / np.pi * top / (wide[:, None] * root)[:, None, :]


def mean_two_slopes(
    covariance: Float[np.ndarray, "n n"], slopes: int
) -> Float[np.ndarray, "p p n n"]:
    r"""I4: the means of s'(u_a) s'(u_b) s(u_c) s(u_e), a and b among the first ``slopes`` fields.

    .. math:: I_4 = \frac{4}{\pi^2}\, \frac{1}{\sqrt{L_4}} \arcsin\frac{L_0}{\sqrt{L_1 L_2}}

    with :math:`L_4 = (1+C_{11})(1+C_{22}) - C_{12}^2`,
    :math:`L_0 = L_4 C_{34} - C_{23}C_{24}(1+C_{11}) - C_{13}C_{14}(1+C_{22})
    + C_{12}C_{13}C_{24} + C_{12}C_{14}C_{23}`,
    :math:`L_1 = L_4(1+C_{33}) - C_{23}^2(1+C_{11}) - C_{13}^2(1+C_{22}) + 2C_{12}C_{13}C_{23}`,
    and :math:`L_2` the same with 4 for 3.

    Symbols: C ``covariance``.

    Assumes: centred normal fields.
    Status: theorem.
    References: Saad, Solla 1995, Physical Review E 52.

    >>> round(float(mean_two_slopes(np.eye(3) + 0.0, 1)[0, 0, 2, 2]), 6)
    0.122518
    """
    own = covariance[:slopes]
    wide = 1 + np.diag(covariance)
    determinant = np.outer(wide[:slopes], wide[:slopes]) - own[:, :slopes] ** 2
    # Row vectors C_1. and C_2. of each pair of slopes, and the inverse of their two by two block.
    first, second = own[:, None, :], own[None, :, :]
    wide_first, wide_second = wide[:slopes, None, None], wide[None, :slopes, None]
    cross = own[:, :slopes, None]
    left = second * wide_first - cross * first
    right = first * wide_second - cross * second
    explained = (
        second[..., :, None] * left[..., None, :] + first[..., :, None] * right[..., None, :]
    )
    top = determinant[..., None, None] * covariance - explained
    bottom = determinant[..., None] * wide - np.einsum("abcc->abc", explained)
    ratio = top / np.sqrt(bottom[..., :, None] * bottom[..., None, :])
    scale = 4 / np.pi**2 / np.sqrt(determinant)
    # Rounding may leave a ratio of 1 a little above it.
    return scale[..., None, None] * np.arcsin(np.clip(ratio, -1.0, 1.0))


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
