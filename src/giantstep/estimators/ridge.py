r"""Ridge regression with an intercept, its ridge chosen by generalised cross-validation.

Features are centred and brought to unit mean square row norm; the smaller of their two Gram
matrices is all that a fit needs.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

#: Ridges tried, for features of unit mean square row norm, in units of n.
GRID = 10.0 ** np.arange(-7, 0.6, 0.5)
#: A fit that uses up more of its rows than this share interpolates; its GCV score means nothing.
MOST_FREEDOM = 0.97


class Fit(NamedTuple):
    """A ridge regression: ``predict(F) = intercept + F @ coefficients``.

    ``freedom`` is the trace of the hat matrix, intercept included; ``score`` the GCV estimate of
    the mean squared error of prediction; both are NaN where the ridge was given.
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


class Scaled(NamedTuple):
    """Features centred and divided by one number, so that their mean square row norm is 1."""

    features: Float[np.ndarray, "n p"]
    centre: Float[np.ndarray, " p"]
    scale: float

    @classmethod
    def of(cls, features: Float[np.ndarray, "n p"]) -> Scaled:
        """Centre and scale these features; rows that are all equal keep the scale 1."""
        centre = features.mean(axis=0)
        centred = features - centre
        scale = float(np.sqrt(np.mean(np.einsum("ij,ij->i", centred, centred)))) or 1.0
        centred /= scale
        return cls(centred, centre, scale)

    @property
    def primal(self) -> bool:
        """Whether F^T F is the smaller Gram matrix."""
        rows, columns = self.features.shape
        return columns <= rows

    def gram(self) -> Float[np.ndarray, "k k"]:
        """The smaller of F^T F and F F^T."""
        return self.features.T @ self.features if self.primal else self.features @ self.features.T

    def fit(
        self,
        solution: Float[np.ndarray, " k"],
        labels: Float[np.ndarray, " n"],
        ridge: float,
        *,
        freedom: float = np.nan,
        score: float = np.nan,
    ) -> Fit:
        """What predicts, from the solution c of (F^T F + ridge) c = F^T y, or of the dual."""
        mean = float(labels.mean())
        scaled = solution if self.primal else self.features.T @ solution
        intercept = mean - float(self.centre @ scaled) / self.scale
        residuals = labels - mean - self.features @ scaled
        return Fit(scaled / self.scale, intercept, ridge, freedom, residuals, score)


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
