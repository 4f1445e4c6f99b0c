"""Gauss-Newton steps of the first layer's directions."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from giantstep.learners.depth.chunked_ridge import fit_ridge
from giantstep.learners.depth.hidden_layer import orthonormal
from giantstep.learners.depth.krylov_ridge import krylov_ridge

#: With more columns than this the normal equations are not formed: products with the design alone.
MOST_COLUMNS = 2500


def turning_step(
    directions: Float[np.ndarray, "k d"],
    inputs: Float[np.ndarray, "n d"],
    slopes: Float[np.ndarray, "n k"],
    residuals: Float[np.ndarray, " n"],
    rng: np.random.Generator,
) -> Float[np.ndarray, "k d"]:
    """B + V made orthonormal, V the ridge fit of the residuals on J_i = slopes_i (x) x_i.

    ``slopes`` are derivatives of the network along z = B x. The design J has k*d columns; of it a
    chunk of rows is made at a time, or from ``MOST_COLUMNS`` columns on none at all.
    """
    kinds, dim = directions.shape

    def design(part: slice) -> np.ndarray:
        products = slopes[part, :, None] * inputs[part, None, :]
        return products.reshape(len(products), kinds * dim)

    if kinds * dim <= MOST_COLUMNS:
        fit = fit_ridge(design, residuals, kinds * dim, intercept=False)
        move = fit.coefficients.reshape(kinds, dim)
    else:

        def forward(v: np.ndarray) -> np.ndarray:
            return np.sum(slopes * (inputs @ v.reshape(kinds, dim).T), axis=1)

        def backward(r: np.ndarray) -> np.ndarray:
            return ((slopes * r[:, None]).T @ inputs).ravel()

        move = krylov_ridge(forward, backward, residuals, kinds * dim, rng).reshape(kinds, dim)
    return orthonormal(directions + move)
