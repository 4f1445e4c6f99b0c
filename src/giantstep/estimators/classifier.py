"""``GiantStepClassifier``: the regressor's experts for each class, and a logistic readout."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from giantstep.bibliography import paper
from giantstep.errors import SettingsError
from giantstep.estimators.paper_link import PaperLink
from giantstep.estimators.regressor import GiantStepRegressor

#: Inverse ridges tried for the logistic readout.
STRENGTHS = (0.01, 0.1, 1.0, 10.0)


class GiantStepClassifier(PaperLink, ClassifierMixin, BaseEstimator):
    """A classifier for few relevant directions: experts for each class, a logistic readout.

    Every class (the second one alone where there are two) is regressed on by the experts of
    :class:`GiantStepRegressor`. A logistic regression on their predictions for rows that they had
    not seen turns them into probabilities, which are calibrated for that reason.

    Parameters
    ----------
    max_directions : int, default=4
        Most directions of the index model of a class.
    n_neurons : int, default=200
        Rectified units in the link of the index model.
    width : int or "auto", default="auto"
        Neurons of the random networks; by default twice the rows, at most 1500.
    agop_steps : int, default=2
        Updates of the random networks' metric.
    folds : int, default=5
        Folds of the cross-validation.
    clip : float, default=3.0
        Columns are compressed beyond this many standard deviations.
    kernel : bool or "auto", default="auto"
        Whether an exact Laplace kernel is among the experts; by default up to 2000 rows.
    random_state : int, RandomState instance or None, default=0
        Seed of the folds and of all random features; the fit is deterministic in it.

    Attributes
    ----------
    classes_ : ndarray
        The labels.
    regressors_ : list of GiantStepRegressor
        The experts of each class, or of the second one where there are two.
    readout_ : LogisticRegression
        What turns their predictions into probabilities.
    """

    _paper = paper("2305.18270")

    def __init__(
        self,
        *,
        max_directions: int = 4,
        n_neurons: int = 200,
        width: int | Literal["auto"] = "auto",
        agop_steps: int = 2,
        folds: int = 5,
        clip: float = 3.0,
        kernel: bool | Literal["auto"] = "auto",
        random_state: Any = 0,
    ) -> None:
        self.max_directions = max_directions
        self.n_neurons = n_neurons
        self.width = width
        self.agop_steps = agop_steps
        self.folds = folds
        self.clip = clip
        self.kernel = kernel
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> GiantStepClassifier:
        """Fit the experts of every class and the readout to rows ``X`` with labels ``y``."""
        X, y = validate_data(self, X, y, dtype=np.float64, ensure_min_samples=2)
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise SettingsError(
                f"y holds one class only ({self.classes_[0]!r}): a classifier needs at least two"
            )
        seen = range(1, 2) if len(self.classes_) == 2 else range(len(self.classes_))
        self.regressors_ = [
            GiantStepRegressor(**self.get_params(deep=False), streaming=False).fit(
                X, (codes == code).astype(float)
            )
            for code in seen
        ]
        held_out = np.concatenate([np.asarray(m.held_out_) for m in self.regressors_], axis=1)
        self.readout_ = _readout(held_out, codes, self.folds)
        return self

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
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        return np.concatenate([model.expert_predictions(X) for model in self.regressors_], axis=1)


def _readout(scores: np.ndarray, codes: np.ndarray, folds: int) -> LogisticRegression:
    """The logistic regression whose ridge has the least held-out log loss."""
    smallest = int(np.bincount(codes).min())
    if smallest < 2:
        return LogisticRegression(C=STRENGTHS[1], max_iter=1000).fit(scores, codes)

    def loss(strength: float) -> float:
        probabilities = cross_val_predict(
            LogisticRegression(C=strength, max_iter=1000),
            scores,
            codes,
            cv=min(folds, smallest),
            method="predict_proba",
        )
        return -float(np.mean(np.log(probabilities[np.arange(len(codes)), codes] + 1e-12)))

    return LogisticRegression(C=min(STRENGTHS, key=loss), max_iter=1000).fit(scores, codes)
