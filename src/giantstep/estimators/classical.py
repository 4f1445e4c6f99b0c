r"""Sufficient dimension reduction as the statistics literature knows it, on one interface.

With whitened inputs x and labels cut into slices s of probability :math:`p_s`, the directions are
the top eigenvectors of

.. math::
    \text{SIR: } \sum_s p_s\, m_s m_s^T, \qquad
    \text{SAVE: } \sum_s p_s\, (I - \mathrm{Cov}_s)^2, \qquad
    \text{pHd: } E[(y - \bar y)\,xx^T]\ \text{(by absolute value)} .
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from giantstep.bibliography import cited_paper
from giantstep.errors import SettingsError
from giantstep.estimators.contract import PaperLink, check_whole_parameters


@dataclass(kw_only=True, eq=False, repr=False)
class _Directions(PaperLink, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator, ABC):
    """Whitening, slices and a symmetric matrix whose top eigenvectors are the directions."""

    n_directions: int = 2
    n_slices: int = 8
    shrinkage: float | str = "auto"

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> _Directions:
        """Find the directions of the rows of ``X`` that move with the labels ``y``.

        ``sample_weight`` counts a row as often as its weight says.
        """
        check_whole_parameters(self, n_directions=1, n_slices=2)
        X, y = validate_data(self, X, y, dtype=np.float64, y_numeric=True, ensure_min_samples=2)
        weights = _check_sample_weight(sample_weight, X)
        kept = weights > 0
        X, y, weights = X[kept], np.asarray(y, dtype=float)[kept], weights[kept]
        shares = weights / weights.sum()
        self.mean_ = shares @ X
        centred = X - self.mean_
        covariance = (centred * shares[:, None]).T @ centred
        covariance = self._shrunk(covariance, centred, weights)
        values, vectors = np.linalg.eigh(covariance)
        used = values > 1e-10 * max(values[-1], 1e-300)
        root = vectors[:, used] / np.sqrt(values[used])
        matrix = self._matrix(centred @ root, y, shares)
        eigenvalues, eigenvectors = np.linalg.eigh(matrix)
        order = np.argsort(-np.abs(eigenvalues))[: self.n_directions]
        self.eigenvalues_ = eigenvalues[order]
        self.directions_ = root @ eigenvectors[:, order]
        # A sign that does not depend on rounding: the largest entry of a direction is positive.
        largest = np.abs(self.directions_).argmax(axis=0)
        signs = np.sign(self.directions_[largest, np.arange(self.directions_.shape[1])])
        self.directions_ = self.directions_ * np.where(signs == 0, 1.0, signs)
        self._n_features_out = self.directions_.shape[1]
        return self

    def transform(self, X: Any) -> np.ndarray:
        """The rows' coordinates along the directions."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        return (X - self.mean_) @ self.directions_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags

    @abstractmethod
    def _matrix(self, white: np.ndarray, y: np.ndarray, shares: np.ndarray) -> np.ndarray:
        """The symmetric matrix of whitened rows, labels and the rows' shares of the weight."""

    def _shrunk(
        self, covariance: np.ndarray, centred: np.ndarray, weights: np.ndarray
    ) -> np.ndarray:
        """The covariance drawn towards a multiple of the identity, by Ledoit and Wolf's share."""
        target = np.trace(covariance) / len(covariance) * np.eye(len(covariance))
        share: Any = self.shrinkage
        if share == "auto":
            distance = float(np.sum((covariance - target) ** 2))
            total = weights.sum()
            fourth = float(weights @ np.einsum("ij,ij->i", centred, centred) ** 2) / total
            noise = (fourth - float(np.sum(covariance**2))) / total
            share = min(max(noise / distance, 0.0), 1.0) if distance > 0 else 0.0
        elif isinstance(share, str) or not 0 <= share <= 1:
            raise SettingsError(f"shrinkage = {share!r}: give auto, or a number from 0 to 1")
        return (1 - share) * covariance + share * target

    def _slices(self, y: np.ndarray, shares: np.ndarray) -> list[np.ndarray]:
        """Rows of each slice of nearly equal weight; equal labels stay together."""
        values, inverse = np.unique(y, return_inverse=True)
        mass = np.bincount(inverse, weights=shares)
        middle = np.cumsum(mass) - mass / 2
        cells = np.minimum((middle * self.n_slices).astype(int), self.n_slices - 1)
        if len(values) <= self.n_slices:
            cells = np.arange(len(values))
        return [np.flatnonzero(cells[inverse] == cell) for cell in np.unique(cells)]


class SlicedInverseRegression(_Directions):
    """Sliced inverse regression (Li 1991): directions along which the mean of x given y moves.

    Blind to a link that is symmetric, such as \\|h\\|; :class:`SlicedAverageVariance` sees it.

    Parameters
    ----------
    n_directions : int, default=2
        Number of directions.
    n_slices : int, default=8
        Quantile slices of the labels; labels with fewer values are one slice each.
    shrinkage : float or "auto", default="auto"
        Weight of a multiple of the identity in the covariance; by default Ledoit and Wolf's.

    Attributes
    ----------
    directions_ : ndarray of shape (n_features, n_directions)
        Directions with coordinates of unit variance.
    eigenvalues_ : ndarray of shape (n_directions,)
        Their eigenvalues, largest first.
    """

    _paper = cited_paper("li-1991")

    def _matrix(self, white: np.ndarray, y: np.ndarray, shares: np.ndarray) -> np.ndarray:
        matrix = np.zeros((white.shape[1], white.shape[1]))
        for rows in self._slices(y, shares):
            mass = shares[rows].sum()
            mean = shares[rows] @ white[rows] / mass
            matrix += mass * np.outer(mean, mean)
        return matrix


class SlicedAverageVariance(_Directions):
    """Sliced average variance (Cook, Weisberg 1991): directions whose variance given y changes.

    Parameters
    ----------
    n_directions : int, default=2
        Number of directions.
    n_slices : int, default=8
        Quantile slices of the labels; labels with fewer values are one slice each.
    shrinkage : float or "auto", default="auto"
        Weight of a multiple of the identity in the covariance; by default Ledoit and Wolf's.

    Attributes
    ----------
    directions_ : ndarray of shape (n_features, n_directions)
        Directions with coordinates of unit variance.
    eigenvalues_ : ndarray of shape (n_directions,)
        Their eigenvalues, largest first.
    """

    _paper = cited_paper("cook-weisberg-1991")

    def _matrix(self, white: np.ndarray, y: np.ndarray, shares: np.ndarray) -> np.ndarray:
        identity = np.eye(white.shape[1])
        matrix = np.zeros_like(identity)
        for rows in self._slices(y, shares):
            mass = shares[rows].sum()
            centred = white[rows] - shares[rows] @ white[rows] / mass
            missing = identity - (centred * shares[rows, None]).T @ centred / mass
            matrix += mass * missing @ missing
        return matrix


class PrincipalHessianDirections(_Directions):
    """Principal Hessian directions (Li 1992): top eigenvectors of the label-weighted covariance.

    Parameters
    ----------
    n_directions : int, default=2
        Number of directions.
    n_slices : int, default=8
        Not used; here so that the three methods can take each other's place.
    shrinkage : float or "auto", default="auto"
        Weight of a multiple of the identity in the covariance; by default Ledoit and Wolf's.

    Attributes
    ----------
    directions_ : ndarray of shape (n_features, n_directions)
        Directions with coordinates of unit variance.
    eigenvalues_ : ndarray of shape (n_directions,)
        Their eigenvalues, largest absolute value first.
    """

    _paper = cited_paper("li-1992")

    def _matrix(self, white: np.ndarray, y: np.ndarray, shares: np.ndarray) -> np.ndarray:
        residuals = shares * (y - shares @ y)
        return (white * residuals[:, None]).T @ white
