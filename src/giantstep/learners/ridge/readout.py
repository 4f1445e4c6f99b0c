"""Ridge regression of the second layer: one eigendecomposition for a whole path of ridges."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from giantstep.errors import SettingsError

#: Eigenvalues below this fraction of the largest are rounding errors of the Gram matrix.
NEGLIGIBLE = 1e-13


class NormalEquations:
    """Sums over samples that determine every ridge fit, in float64, fed chunk by chunk.

    With features phi_i (p numbers) and labels y_i: sum phi phi^T, sum phi y, sum y^2, sum phi,
    sum y. Memory is O(p^2) however many samples are added.
    """

    def __init__(self, width: int) -> None:
        self.samples = 0
        self.gram = np.zeros((width, width))
        self.moment = np.zeros(width)
        self.total = np.zeros(width)
        self.label_energy = 0.0
        self.label_total = 0.0
        self.precision = 0.0

    def add(self, features: Float[np.ndarray, "n p"], labels: Float[np.ndarray, " n"]) -> None:
        """Count in a chunk of samples."""
        phi = np.asarray(features, dtype=np.float64)
        y = np.asarray(labels, dtype=np.float64)
        self.samples += len(y)
        self.precision = max(self.precision, _precision(features))
        self.gram += phi.T @ phi
        self.moment += phi.T @ y
        self.total += phi.sum(axis=0)
        self.label_energy += float(y @ y)
        self.label_total += float(y.sum())


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
    labels: Float[np.ndarray, " n"] | None = None
    precision: float = float(np.finfo(np.float64).eps)

    @classmethod
    def fit(
        cls,
        features: Float[np.ndarray, "n p"],
        labels: Float[np.ndarray, " n"],
        *,
        intercept: bool = False,
    ) -> RidgePath:
        """The path for features held in memory; the only way to leave-one-out errors."""
        phi = np.asarray(features, dtype=np.float64)
        y = np.asarray(labels, dtype=np.float64)
        feature_mean, label_mean = None, 0.0
        if intercept:
            feature_mean, label_mean = phi.mean(axis=0), float(y.mean())
            phi, y = phi - feature_mean, y - label_mean
        n, p = phi.shape
        if n < p:
            eigenvalues, scores = _positive_eigenpairs(phi @ phi.T)
            loadings = phi.T @ scores / np.sqrt(eigenvalues)
        else:
            eigenvalues, loadings = _positive_eigenpairs(phi.T @ phi)
            scores = phi @ loadings / np.sqrt(eigenvalues)
        moments = np.sqrt(eigenvalues) * (scores.T @ y)
        return cls(
            *(eigenvalues, loadings, moments, float(y @ y), n, feature_mean, label_mean, scores, y),
            precision=_precision(features),
        )

    @classmethod
    def solve(cls, sums: NormalEquations, *, intercept: bool = False) -> RidgePath:
        """The path from streamed normal equations."""
        gram, moment, energy = sums.gram, sums.moment, sums.label_energy
        feature_mean, label_mean = None, 0.0
        if intercept:
            feature_mean, label_mean = sums.total / sums.samples, sums.label_total / sums.samples
            gram = gram - sums.samples * np.outer(feature_mean, feature_mean)
            moment = moment - sums.samples * label_mean * feature_mean
            energy = energy - sums.samples * label_mean**2
        eigenvalues, loadings = _positive_eigenpairs(gram)
        moments = loadings.T @ moment
        return cls(
            *(eigenvalues, loadings, moments, energy, sums.samples, feature_mean, label_mean),
            precision=sums.precision,
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

    def test_error(
        self,
        chunks: Iterable[tuple[Any, Any]],
        ridges: float | Sequence[float],
    ) -> Float[np.ndarray, " ridges"]:
        """Mean squared error over chunks of (features, labels)."""
        total, samples = np.zeros(len(np.atleast_1d(ridges))), 0
        for features, labels in chunks:
            total += ((self.predict(features, ridges) - np.asarray(labels)) ** 2).sum(axis=1)
            samples += len(labels)
        return total / samples

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


def _precision(features: Any) -> float:
    """The relative rounding of features as they are given."""
    kind = np.result_type(features, np.float32)
    return float(np.finfo(kind).eps)


def _positive_eigenpairs(gram: Float[np.ndarray, "m m"]) -> tuple[np.ndarray, np.ndarray]:
    """Eigenvalues and eigenvectors of a Gram matrix, without its numerical null space."""
    eigenvalues, vectors = np.linalg.eigh(gram)
    kept = eigenvalues > NEGLIGIBLE * len(gram) * max(eigenvalues[-1], 0.0)
    return eigenvalues[kept], vectors[:, kept]
