"""Ridge regression from one eigendecomposition: every ridge, its errors, and which to choose."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from giantstep.errors import SettingsError

Features = Float[np.ndarray, "n p"]
Labels = Float[np.ndarray, " n"]
#: Eigenvalues below this fraction of the largest are rounding errors of the Gram matrix.
NEGLIGIBLE = 1e-13
EPSILON = float(np.finfo(np.float64).eps)
#: The word that asks for generalised cross-validation.
GCV = "gcv"
#: Ridges that are tried, as multiples of the largest eigenvalue.
TRIED = np.logspace(-12, 1, 66)
#: Ridges tried, for features of unit mean square row norm, in units of n.
GRID = 10.0 ** np.arange(-7, 0.6, 0.5)
#: A fit that uses up more of its rows than this share interpolates; its GCV score means nothing.
MOST_FREEDOM = 0.97


class PathFit(NamedTuple):
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


class NormalEquations(NamedTuple):
    """Sums over rows: their number, features, products of features, and those with labels."""

    number: Float[np.ndarray, ""]
    features: Float[np.ndarray, " p"]
    products: Float[np.ndarray, "p p"]
    moments: Float[np.ndarray, " p"]
    labels: Float[np.ndarray, ""]
    squares: Float[np.ndarray, ""]

    @classmethod
    def of(cls, features: Features, labels: Labels) -> NormalEquations:
        """The sums over these rows."""
        return cls(
            np.array(float(len(labels))),
            features.sum(axis=0, dtype=float),
            np.asarray(features.T @ features, dtype=float),
            np.asarray(features.T @ labels, dtype=float),
            np.array(labels.sum()),
            np.array(labels @ labels),
        )

    def part(self, columns: slice) -> NormalEquations:
        """The equations of these columns alone."""
        return self._replace(
            features=self.features[columns],
            products=self.products[columns, columns],
            moments=self.moments[columns],
        )

    def and_also(self, others: NormalEquations) -> NormalEquations:
        """The sums over the rows of both."""
        return NormalEquations(*(a + b for a, b in zip(self, others, strict=True)))

    def error(self, fit: PathFit) -> float:
        """The mean squared error of a fit over these rows.

        >>> x = np.linspace(-1, 1, 50)[:, None]
        >>> sums = NormalEquations.of(x, x[:, 0] ** 2)
        >>> fit = sums.fit()
        >>> bool(np.isclose(sums.error(fit), np.mean((x[:, 0] ** 2 - fit.predict(x)) ** 2)))
        True
        """
        slopes, constant = fit.coefficients, fit.intercept
        square = slopes @ self.products @ slopes + constant * (
            2 * float(self.features @ slopes) + constant * float(self.number)
        )
        mixed = float(self.moments @ slopes) + constant * float(self.labels)
        return float(self.squares - 2 * mixed + square) / max(float(self.number), 1.0)

    def fit(self, *, spent: float = 0.0) -> PathFit:
        """The ridge of least GCV score, as :func:`giantstep.numerics.ridge.scaled.ridge` has it.

        Residuals are not kept.

        >>> x = np.linspace(-1, 1, 50)[:, None]
        >>> fit = NormalEquations.of(x, 3 * x[:, 0] + 1).fit()
        >>> bool(abs(fit.predict(np.array([[0.5]]))[0] - 2.5) < 1e-4)
        True
        """
        rows = max(float(self.number), 1.0)
        path = RidgePath.solve(self, intercept=True)
        # The grid is for features of unit mean square row norm.
        scale = float(path.eigenvalues.sum()) / rows or 1.0
        ridges = (rows * scale * GRID).tolist()
        freedom = path.degrees_of_freedom(ridges) + spent
        best, score = ridge_of_least_gcv(rows * path.train_error(ridges), freedom, int(rows))
        coefficients = path.coefficients(ridges[best])[0]
        return PathFit(
            coefficients,
            path.label_mean - float(path.feature_mean @ coefficients),
            float(rows * GRID[best]),
            float(freedom[best] - spent),
            np.zeros(0),
            score,
        )


@dataclass(frozen=True, eq=False)
class RidgePath:
    r"""The fits :math:`\hat a(\lambda) = \arg\min \sum_i (y_i - a\cdot\phi_i)^2 + \lambda |a|^2`.

    The Gram matrix is diagonalised once, on its smaller side (p x p, or n x n where n < p); each
    ridge :math:`\lambda` then costs O(n p). With ``intercept`` the features and the labels are
    centred first and the mean label is added to every prediction. ``precision`` is that of the
    features as they came: eigenvalues below this fraction of the largest are their rounding.
    """

    eigenvalues: Float[np.ndarray, " k"]
    loadings: Float[np.ndarray, "p k"]  # right singular vectors of the features
    moments: Float[np.ndarray, " k"]  # loadings^T (sum of phi_i y_i)
    label_energy: float
    samples: int
    feature_mean: Float[np.ndarray, " p"] | None = None
    label_mean: float = 0.0
    scores: Float[np.ndarray, "n k"] | None = None  # left singular vectors of the features
    labels: Labels | None = None
    precision: float = EPSILON

    @classmethod
    def fit(cls, features: Features, labels: Labels, *, intercept: bool = False) -> RidgePath:
        """The path for features held in memory; the only way to leave-one-out errors."""
        phi = np.asarray(features, dtype=np.float64)
        y = np.asarray(labels, dtype=np.float64)
        feature_mean, label_mean = None, 0.0
        if intercept:
            feature_mean, label_mean = phi.mean(axis=0), float(y.mean())
            phi, y = phi - feature_mean, y - label_mean
        n, p = phi.shape
        if n < p:
            eigenvalues, scores = positive_eigenpairs(phi @ phi.T)
            loadings = phi.T @ scores / np.sqrt(eigenvalues)
        else:
            eigenvalues, loadings = positive_eigenpairs(phi.T @ phi)
            scores = phi @ loadings / np.sqrt(eigenvalues)
        moments = np.sqrt(eigenvalues) * (scores.T @ y)
        return cls(
            eigenvalues,
            loadings,
            moments,
            float(y @ y),
            n,
            feature_mean,
            label_mean,
            scores,
            y,
            relative_rounding(features),
        )

    @classmethod
    def solve(
        cls, sums: NormalEquations, *, intercept: bool = False, precision: float = EPSILON
    ) -> RidgePath:
        """The path from sums over the samples."""
        samples, gram, moment, energy = sums.number, sums.products, sums.moments, sums.squares
        feature_mean, label_mean = None, 0.0
        if intercept:
            feature_mean, label_mean = sums.features / samples, float(sums.labels / samples)
            gram = gram - samples * np.outer(feature_mean, feature_mean)
            moment = moment - samples * label_mean * feature_mean
            energy = energy - samples * label_mean**2
        eigenvalues, loadings = positive_eigenpairs(gram)
        return cls(
            eigenvalues,
            loadings,
            loadings.T @ moment,
            float(energy),
            int(samples),
            feature_mean,
            label_mean,
            precision=precision,
        )

    def coefficients(self, ridges: float | Sequence[float]) -> Float[np.ndarray, "ridges p"]:
        """The fitted readout for each ridge; ridge 0 gives the solution of least norm."""
        return (self.moments / self._shifted(ridges)) @ self.loadings.T

    def predict(
        self, features: Float[np.ndarray, "m p"], ridges: float | Sequence[float]
    ) -> Float[np.ndarray, "ridges m"]:
        """Predictions at new samples for each ridge."""
        phi = np.asarray(features, dtype=np.float64)
        if self.feature_mean is not None:
            phi = phi - self.feature_mean
        return self.coefficients(ridges) @ phi.T + self.label_mean

    def train_error(self, ridges: float | Sequence[float]) -> Float[np.ndarray, " ridges"]:
        r"""Mean squared residual, :math:`\frac1n(\sum y^2 - a\cdot(2m - Ga))` in the eigenbasis.

        That is what lies outside the span of the features, and of what lies inside the share
        :math:`(\lambda/(e + \lambda))^2` along each eigenvector: no difference of large numbers
        where a small ridge nearly interpolates, which would look like a perfect fit to GCV.
        """
        shifted = self._shifted(ridges)
        ridge = np.atleast_1d(np.asarray(ridges, dtype=np.float64))[:, None]
        spanned = self.moments**2 / self.eigenvalues
        outside = 0.0 if self._interpolates else max(self.label_energy - float(spanned.sum()), 0.0)
        return (outside + (spanned * (ridge / shifted) ** 2).sum(axis=1)) / self.samples

    def degrees_of_freedom(self, ridges: float | Sequence[float]) -> Float[np.ndarray, " ridges"]:
        """Trace of the matrix that maps labels to fits; a fitted intercept counts as one."""
        shrunk = (self.eigenvalues / self._shifted(ridges)).sum(axis=1)
        return shrunk + (self.feature_mean is not None)

    def gcv(self, ridges: float | Sequence[float]) -> Float[np.ndarray, " ridges"]:
        """Generalised cross-validation: train error / (1 - degrees of freedom / n)^2."""
        slack = 1 - self.degrees_of_freedom(ridges) / self.samples
        with np.errstate(divide="ignore", invalid="ignore"):
            return self.train_error(ridges) / slack**2

    def leave_one_out(self, ridges: float | Sequence[float]) -> Float[np.ndarray, " ridges"]:
        r"""Exact mean squared leave-one-out error, :math:`r_i = (y-\hat y)_i / (1 - H_{ii})`.

        H maps labels to fits. Where it has an intercept :math:`H_{ii}` includes its 1/n: without
        that share the formula tends to 0 with the ridge, whatever the fit is worth. Numerator and
        denominator are both divided by the ridge where the fit interpolates, so that the limit of
        ridge 0 is exact too.
        """
        if self.scores is None or self.labels is None:
            raise SettingsError("leave-one-out needs RidgePath.fit: streamed sums lost the samples")
        shifted = self._shifted(ridges)
        ridge = np.atleast_1d(np.asarray(ridges, dtype=np.float64))[:, None]
        spanned = self.scores.T @ self.labels
        # Components outside the span of the scores are not fitted at all; the constant vector is
        # not one of them when an intercept is.
        outside = self.labels - self.scores @ spanned
        outside_share = np.maximum(1 - (self.scores**2).sum(axis=1), 0.0)
        if self.feature_mean is not None:
            outside_share = np.maximum(outside_share - 1 / self.samples, 0.0)
        if self._interpolates:
            residual = (spanned / shifted) @ self.scores.T
            share = (1 / shifted) @ (self.scores**2).T
        else:
            residual = outside + (spanned * ridge / shifted) @ self.scores.T
            share = outside_share + (ridge / shifted) @ (self.scores**2).T
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.mean((residual / share) ** 2, axis=1)

    @property
    def _interpolates(self) -> bool:
        """Whether ridge 0 fits every label: the scores span all directions of the labels."""
        return len(self.eigenvalues) >= self.samples - (self.feature_mean is not None)

    def _shifted(self, ridges: float | Sequence[float]) -> Float[np.ndarray, "ridges k"]:
        ridge = np.atleast_1d(np.asarray(ridges, dtype=np.float64))
        if not (np.all(np.isfinite(ridge)) and np.all(ridge >= 0)):
            raise SettingsError(f"ridge = {ridges!r}: give finite numbers of at least 0")
        return self.eigenvalues[None, :] + ridge[:, None]


def ridge_or_gcv(path: RidgePath, given: float | str) -> float:
    """The ridge itself, or for ``gcv`` the one of least generalised cross-validation error.

    Below the rounding of the features a ridge fits that rounding. The errors are nearly level
    there, so that a fit which goes far astray on new samples may have the least.

    >>> rng = np.random.default_rng(0)
    >>> x = rng.standard_normal((50, 20))
    >>> path = RidgePath.fit(x, x[:, 0] + rng.standard_normal(50))
    >>> ridge_or_gcv(path, 0.5), 1 < ridge_or_gcv(path, "gcv") < 1000
    (0.5, True)
    """
    if given != GCV:
        return float(given)
    largest = float(path.eigenvalues[-1]) if len(path.eigenvalues) else 1.0
    ridges = (TRIED[path.precision <= TRIED] * largest).tolist()
    errors = path.gcv(ridges)
    return ridges[int(np.argmin(np.where(np.isfinite(errors), errors, np.inf)))]


def ridge_of_least_gcv(
    errors: Float[np.ndarray, " ridges"], freedom: Float[np.ndarray, " ridges"], rows: int
) -> tuple[int, float]:
    """Position of the least GCV score, n RSS/(n - df)^2, along rising ridges, and that score."""
    scores = np.full(len(errors), np.inf)
    kept = freedom <= MOST_FREEDOM * rows
    scores[kept] = rows * errors[kept] / (rows - freedom[kept]) ** 2
    # Where every ridge interpolates, the largest one is the safest.
    best = int(np.argmin(scores)) if np.isfinite(scores).any() else len(scores) - 1
    return best, float(scores[best])


def relative_rounding(features: Any) -> float:
    """The relative rounding of features as they are given."""
    kind = np.result_type(features, np.float32)
    return float(np.finfo(kind).eps)


def positive_eigenpairs(gram: Float[np.ndarray, "m m"]) -> tuple[np.ndarray, np.ndarray]:
    """Eigenvalues and eigenvectors of a Gram matrix, without its numerical null space."""
    eigenvalues, vectors = np.linalg.eigh(gram)
    kept = eigenvalues > NEGLIGIBLE * len(gram) * max(eigenvalues[-1], 0.0)
    return eigenvalues[kept], vectors[:, kept]
