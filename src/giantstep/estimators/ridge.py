r"""Ridge regression with an intercept, its ridge chosen by generalised cross-validation.

One symmetric eigendecomposition, of the smaller of the two Gram matrices, serves every ridge of
the grid. For features that do not depend on the labels the predictions for held-out rows follow
from the same decomposition, exactly: refitting without a block S of rows leaves the residuals

.. math:: e_S = (I - H_{SS})^{-1} r_S, \qquad
    H = \tfrac1n 11^T + F_c (F_c^T F_c + \lambda)^{-1} F_c^T .
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.linalg import eigh

#: Ridges tried, for features of unit mean square row norm, in units of n.
GRID = 10.0 ** np.arange(-7, 0.6, 0.5)
#: A fit that uses up more of its rows than this share interpolates; its GCV score means nothing.
MOST_FREEDOM = 0.97


class Fit(NamedTuple):
    """A ridge regression: ``predict(F) = intercept + F @ coefficients``.

    ``freedom`` is the trace of the hat matrix, intercept included; ``score`` the GCV estimate of
    the mean squared error of prediction.
    """

    coefficients: Float[np.ndarray, " p"]
    intercept: float
    ridge: float
    freedom: float
    residuals: Float[np.ndarray, " n"]
    score: float

    def predict(self, features: Float[np.ndarray, "m p"]) -> Float[np.ndarray, " m"]:
        """Fitted values at new features."""
        return features @ self.coefficients + self.intercept


class Decomposition(NamedTuple):
    """Centred and scaled features with their singular vectors: what every ridge shares."""

    vectors: Float[np.ndarray, "n k"]
    squares: Float[np.ndarray, " k"]
    centre: Float[np.ndarray, " p"]
    scale: float
    features: Float[np.ndarray, "n p"]

    @classmethod
    def of(cls, features: Float[np.ndarray, "n p"]) -> Decomposition:
        """Decompose the smaller Gram matrix of the centred features."""
        centre = features.mean(axis=0)
        centred = features - centre
        scale = float(np.sqrt(np.mean(np.einsum("ij,ij->i", centred, centred)))) or 1.0
        centred /= scale
        rows, columns = centred.shape
        if columns <= rows:
            squares, right = eigh(centred.T @ centred, driver="evd", check_finite=False)
            kept = squares > 1e-12 * max(squares[-1], 1e-300)
            squares, right = squares[kept], right[:, kept]
            vectors = centred @ (right / np.sqrt(squares))
        else:
            squares, vectors = eigh(centred @ centred.T, driver="evd", check_finite=False)
            kept = squares > 1e-12 * max(squares[-1], 1e-300)
            squares, vectors = squares[kept], vectors[:, kept]
        return cls(vectors, squares, centre, scale, centred)

    def fit(
        self,
        labels: Float[np.ndarray, " n"],
        *,
        spent: float = 0.0,
        grid: Float[np.ndarray, " ridges"] | None = None,
    ) -> Fit:
        """The ridge of least GCV score; ``spent`` counts degrees of freedom used before."""
        rows = len(labels)
        ridges = rows * GRID if grid is None else grid
        mean = float(labels.mean())
        centred = labels - mean
        parts = self.vectors.T @ centred
        outside = max(float(centred @ centred - parts @ parts), 0.0)
        kept = self.squares / (self.squares + ridges[:, None])
        freedom = 1.0 + spent + kept.sum(axis=1)
        errors = outside + ((1 - kept) ** 2) @ parts**2
        best, score = best_ridge(errors, freedom, rows)
        ridge = float(ridges[best])
        dual = self.vectors @ (parts / (self.squares + ridge))
        coefficients = self.features.T @ dual / self.scale
        fitted = self.vectors @ (kept[best] * parts)
        return Fit(
            coefficients,
            mean - float(self.centre @ coefficients),
            ridge,
            float(freedom[best] - spent),
            centred - fitted,
            score,
        )

    def held_out(
        self,
        fit: Fit,
        labels: Float[np.ndarray, " n"],
        blocks: Iterable[Sequence[int] | np.ndarray],
    ) -> Float[np.ndarray, " n"]:
        """Predictions for every row by the fit without its block, at the same ridge and scale."""
        rows = len(labels)
        shrunk = self.vectors * np.sqrt(self.squares / (self.squares + fit.ridge))
        predictions = np.full(rows, np.nan)
        for block in blocks:
            part = shrunk[block]
            hat = part @ part.T + 1.0 / rows
            errors = np.linalg.solve(np.eye(len(part)) - hat, fit.residuals[block])
            predictions[block] = labels[block] - errors
        return predictions


def best_ridge(
    errors: Float[np.ndarray, " ridges"], freedom: Float[np.ndarray, " ridges"], rows: int
) -> tuple[int, float]:
    """Position of the least GCV score, n RSS/(n - df)^2, along rising ridges, and that score."""
    with np.errstate(divide="ignore", invalid="ignore"):
        scores = rows * errors / (rows - freedom) ** 2
    scores = np.where(freedom <= MOST_FREEDOM * rows, scores, np.inf)
    # Where every ridge interpolates, the largest one is the safest.
    best = int(np.argmin(scores)) if np.isfinite(scores).any() else len(scores) - 1
    return best, float(scores[best])
