"""``GiantStepClassifier``: the regressor's experts for each class, and a logistic readout."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from pandas import DataFrame
from scipy.stats import norm
from sklearn.base import ClassifierMixin
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from giantstep.bibliography import cited_paper
from giantstep.errors import SettingsError
from giantstep.estimators.contract import (
    StackSettings,
    check_positive_parameter,
    check_share_parameter,
    rows_to_fit,
    weighted_rows,
)
from giantstep.estimators.regressor import GiantStepRegressor

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Inverse ridges tried for the logistic readout.
STRENGTHS = (0.01, 0.1, 1.0, 10.0)
#: Folds by default: five predict no better, and take a quarter more time.
FOLDS = 4


class GiantStepClassifier(ClassifierMixin, StackSettings):
    """A classifier for few relevant directions: experts for each class, a logistic readout.

    Every class (the second one alone where there are two) is regressed on by the experts of
    :class:`GiantStepRegressor`. A logistic regression on their predictions for rows that they had
    not seen turns them into probabilities, which are calibrated for that reason.

    Parameters
    ----------
    max_directions : int, default=8
        Most directions of the index model of a class.
    n_neurons : int, default=200
        Rectified units in the link of the index model.
    width : int or "auto", default="auto"
        Neurons of the random networks; by default twice the rows, at most 700.
    agop_steps : int, default=2
        Updates of the random networks' metric.
    folds : int or "auto", default="auto"
        Folds of the cross-validation; by default four.
    clip : float, default=3.0
        Columns are compressed beyond this many standard deviations.
    kernel : bool or "auto", default="auto"
        Whether an exact Laplace kernel is among the experts; by default up to 2000 rows.
    random_state : int, RandomState instance or None, default=0
        Seed of the folds and of all random features; the fit is deterministic in it.

    verbose : int, default=0
        Whether to show on standard error how far a fit is.

    Missing numbers, far ones, constant columns and sparse rows are treated as by the regressor.

    Attributes
    ----------
    classes_ : ndarray
        The labels.
    regressors_ : list of GiantStepRegressor
        The experts of each class, or of the second one where there are two; ``directions_`` of
        ``regressor_of(label)`` is what a class depends on.
    readout_ : LogisticRegression
        What turns their predictions into probabilities.
    oof_score_, oof_score_sem_ : float
        Accuracy on rows that neither the experts nor the readout were fitted to, and its standard
        error.
    oof_log_loss_ : float
        The mean of -log p(label) on the same rows.
    weights_ : dict
        The share of each expert in the readout: mean size of its terms, summing to 1.
    feature_importances_ : ndarray of shape (n_features,)
        Mean over classes of the regressors' importances.
    """

    _paper = cited_paper("2305.18270")

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> GiantStepClassifier:
        """Fit the experts of every class and the readout to rows ``X`` with labels ``y``.

        ``sample_weight`` is treated as by the regressor.
        """
        X, y = rows_to_fit(self, X, y, ensure_min_samples=2)
        check_classification_targets(y)
        X, y, roots = weighted_rows(X, y, sample_weight)
        weights = None if isinstance(roots, float) else roots**2
        self.classes_, codes = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise SettingsError(
                f"y holds one class only ({self.classes_[0]!r}): a classifier needs at least two"
            )
        folds = FOLDS if self.folds == "auto" else self.folds
        settings = self.get_params(deep=False) | {"folds": folds, "streaming": False}
        seen = range(1, 2) if len(self.classes_) == 2 else range(len(self.classes_))
        rows = self._named(X)
        self.regressors_ = [
            GiantStepRegressor(**settings).fit(rows, (codes == code).astype(float), weights)
            for code in seen
        ]
        held_out = np.concatenate([np.asarray(m.held_out_) for m in self.regressors_], axis=1)
        self.readout_, probabilities = _fitted_class_readout(held_out, codes, folds, weights)
        chosen = probabilities[np.arange(len(codes)), codes]
        self._held_out_probability = chosen
        right = (probabilities.argmax(axis=1) == codes).astype(float)
        self.oof_score_ = float(right.mean())
        self.oof_score_sem_ = float(right.std() / np.sqrt(len(right)))
        self.oof_log_loss_ = -float(np.mean(np.log(chosen + 1e-12)))
        terms = np.abs(self.readout_.coef_).mean(axis=0) * held_out.std(axis=0)
        shares = terms.reshape(len(self.regressors_), -1).sum(axis=0)
        names = list(self.regressors_[0].weights_)
        total = float(shares.sum()) or 1.0
        self.weights_ = dict(zip(names, map(float, shares / total), strict=True))
        self.notes_ = self.regressors_[0].notes_
        return self

    @property
    def feature_importances_(self) -> np.ndarray:
        """Mean over classes of the regressors' importances."""
        check_is_fitted(self)
        return np.mean([model.feature_importances_ for model in self.regressors_], axis=0)

    def predict_set(self, X: Any, coverage: float = 0.9) -> np.ndarray:
        """Which classes belong to a set that holds the true one with this probability.

        An array of booleans of shape (n, classes): the classes that are not less probable than
        all but a share ``1 - coverage`` of the held-out labels were (split conformal sets).
        """
        check_share_parameter("coverage", coverage)
        probabilities = self.predict_proba(X)
        count = len(self._held_out_probability)
        rank = int(np.floor((count + 1) * (1 - coverage)))
        least = np.sort(self._held_out_probability)[rank - 1] if rank else 0.0
        return probabilities >= least

    def score_interval(self, samples: float = np.inf, coverage: float = 0.9) -> tuple[float, float]:
        """The interval that holds the accuracy on so many other rows with this probability.

        It counts the scatter of these rows and of those that were held out.
        """
        check_share_parameter("coverage", coverage)
        check_positive_parameter("samples", samples)
        # Two rows more of each kind (Agresti, Coull): none wrong of twenty is not never wrong.
        count = len(self._held_out_probability)
        middle = (self.oof_score_ * count + 2) / (count + 4)
        spread = middle * (1 - middle) * (1 / (count + 4) + 1 / samples)
        half = float(norm.ppf((1 + coverage) / 2) * np.sqrt(spread))
        return max(middle - half, 0.0), min(middle + half, 1.0)

    def decision_function(self, X: Any) -> np.ndarray:
        """Log odds, of the second class or of each."""
        scores = self._scores(X)
        return self.readout_.decision_function(scores)

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probabilities of the classes."""
        scores = self._scores(X)
        return self.readout_.predict_proba(scores)

    def predict(self, X: Any) -> np.ndarray:
        """The most probable class."""
        scores = self._scores(X)
        return self.classes_[self.readout_.predict(scores)]

    def _scores(self, X: Any) -> np.ndarray:
        rows = self._named(self._checked(X))
        said = [model.expert_predictions(rows) for model in self.regressors_]
        return np.concatenate(said, axis=1)

    def _named(self, X: np.ndarray) -> np.ndarray | DataFrame:
        """Rows with the names of their columns, which the pictures show."""
        names = getattr(self, "feature_names_in_", None)
        return X if names is None else DataFrame(X, columns=names)

    def regressor_of(self, label: Any = None) -> GiantStepRegressor:
        """The regressor of a class, by default of the last one; two classes share one."""
        check_is_fitted(self)
        known = list(self.classes_)
        if label is not None and label not in known:
            raise SettingsError(f"label = {label!r}: use one of {known}")
        place = -1 if label is None else known.index(label)
        return self.regressors_[0 if len(known) == 2 else place]

    def plot_links(self, label: Any = None) -> Figure:
        """Rows of a class (of two: of the second) over each learned index, with the fitted link."""
        shown = self.classes_[-1] if label is None or len(self.classes_) == 2 else label
        return self.regressor_of(label).plot_links(f"is {shown}")

    def plot_directions(self, label: Any = None) -> Figure:
        """The directions that a class depends on, over the columns, largest first."""
        return self.regressor_of(label).plot_directions()


def _fitted_class_readout(
    scores: np.ndarray, codes: np.ndarray, folds: int, weights: np.ndarray | None
) -> tuple[LogisticRegression, np.ndarray]:
    """The logistic regression whose ridge has the least held-out log loss, and what it held out."""
    smallest = int(np.bincount(codes).min())
    if smallest < 2:
        readout = LogisticRegression(C=STRENGTHS[1], max_iter=1000).fit(scores, codes, weights)
        return readout, readout.predict_proba(scores)

    def held_out(strength: float) -> np.ndarray:
        return cross_val_predict(
            LogisticRegression(C=strength, max_iter=1000),
            scores,
            codes,
            cv=StratifiedKFold(min(folds, smallest), shuffle=True, random_state=0),
            method="predict_proba",
            params=None if weights is None else {"sample_weight": weights},
        )

    def loss(strength: float) -> float:
        right = tried[strength][np.arange(len(codes)), codes]
        return -float(np.average(np.log(right + 1e-12), weights=weights))

    tried = {strength: held_out(strength) for strength in STRENGTHS}
    best = min(STRENGTHS, key=loss)
    return LogisticRegression(C=best, max_iter=1000).fit(scores, codes, weights), tried[best]
