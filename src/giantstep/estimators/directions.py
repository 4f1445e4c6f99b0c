"""``IndexDirections``: the directions that labels depend on, how many, and whether any."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np
from jaxtyping import Float
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from giantstep.bibliography import cited_paper
from giantstep.estimators.contract import PaperLink, check_whole_parameters, few_threads_for_fit
from giantstep.estimators.index_model import IndexModel
from giantstep.estimators.index_path import fit_index_path, most_fitted_directions
from giantstep.estimators.moments import ORDERS, Whitening, residual_weights
from giantstep.estimators.stack import shuffled_folds
from giantstep.estimators.tails import TailScaler

#: The transformer knows no other expert, so it looks at weaker moments than the regressor does.
THRESHOLD = 0.85


@dataclass(kw_only=True, eq=False, repr=False)
class IndexDirections(PaperLink, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Learned directions as a transformer: which, how many, and whether there is any.

    Parameters
    ----------
    n_directions : int or "auto", default="auto"
        Number of directions; by default as many as cross-validation supports.
    max_directions : int, default=4
        Most directions that ``auto`` considers.
    n_neurons : int, default=200
        Rectified units in the link that is fitted along the way.
    folds : int, default=10
        Folds of the cross-validation that counts directions.
    n_permutations : int, default=99
        Permutations of the labels in the test of "no direction at all".
    z_min : float, default=3.0
        Standard errors by which a further direction must explain the held-out errors without it.
        Their squares must fall too, after the first direction by the share d/n of its d weights.
        Folds share rows, so that the statistic is wider than a normal one: of 200 tables of pure
        noise, 200 rows and 20 columns each, it exceeds 2 in six and 3 in three.
    random_state : int, RandomState instance or None, default=0
        Seed of folds, permutations and random units.

    Attributes
    ----------
    mean_, deviation_ : ndarray of shape (n_features,)
        Means and standard deviations of the columns.
    directions_ : ndarray of shape (n_features, r)
        Directions, with coordinates of unit variance; r may be 0.
    n_directions_ : int
        Their number r.
    pvalue_ : float
        Of the hypothesis that labels do not depend on the inputs; exact by permutation.
    z_scores_ : ndarray
        For each r, by how many standard errors its predictions explain what the number accepted
        before it leaves; not positive where the held-out error does not fall.
    oof_r2_ : ndarray
        Held-out R^2 of 1, 2, ... directions.
    """

    _paper = cited_paper("2305.18270")

    n_directions: int | Literal["auto"] = "auto"
    max_directions: int = 4
    n_neurons: int = 200
    folds: int = 10
    n_permutations: int = 99
    z_min: float = 3.0
    random_state: Any = 0

    def fit(self, X: Any, y: Any) -> IndexDirections:
        """Find the directions of the rows of ``X`` that move with the labels ``y``."""
        check_whole_parameters(
            self, n_directions=1, max_directions=1, n_neurons=1, folds=2, n_permutations=0
        )
        X, y = validate_data(self, X, y, dtype=np.float64, y_numeric=True, ensure_min_samples=2)
        y = np.asarray(y, dtype=float)
        with few_threads_for_fit(len(y)):
            self._fit_rows(X, y)
        return self

    def _fit_rows(self, X: np.ndarray, y: np.ndarray) -> None:
        generator = np.random.default_rng(check_random_state(self.random_state).randint(2**31 - 1))
        self.mean_ = X.mean(axis=0)
        self.deviation_ = X.std(axis=0)
        scaler = TailScaler.of(X, clip=3.0)
        inputs = scaler.transform(X)
        labels = (y - y.mean()) / (y.std() or 1.0)
        auto = self.n_directions == "auto"
        wanted = self.max_directions if auto else int(self.n_directions)
        most = (
            most_fitted_directions(len(y), X.shape[1], wanted) if auto else min(wanted, X.shape[1])
        )
        self.pvalue_ = _permutation_test(inputs, labels, self.n_permutations, generator)
        find = partial(
            fit_index_path,
            most=most,
            units=self.n_neurons,
            generator=generator,
            threshold=THRESHOLD,
            chances={},
        )
        path = find(inputs, labels)
        chosen = self._count(find, inputs, labels, most, generator) if auto else most
        model = path[min(chosen, len(path)) - 1] if path and chosen else None
        directions = np.zeros((X.shape[1], 0))
        if model is not None:
            model = model.rising(inputs, labels)
            directions = model.directions
        self.directions_ = directions * scaler.slope[:, None]
        self.link_ = model.link if model is not None else None
        self.n_directions_ = self.directions_.shape[1]
        self._n_features_out = max(self.n_directions_, 1)

    def transform(self, X: Any) -> np.ndarray:
        """The rows' coordinates along the directions; a column of zeros where there is none.

        What comes after it in a pipeline can then predict the mean.
        """
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        if not self.n_directions_:
            return np.zeros((len(X), 1))
        return (X - self.mean_) @ self.directions_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags

    def _count(
        self,
        find: Callable[[np.ndarray, np.ndarray], list[IndexModel]],
        inputs: np.ndarray,
        labels: np.ndarray,
        most: int,
        generator: np.random.Generator,
    ) -> int:
        """The last number of directions that beats the last accepted one on held-out rows."""
        errors = np.tile(labels[:, None], most + 1)
        blocks = shuffled_folds(len(labels), self.folds, generator)
        for block in blocks:
            rest = np.setdiff1d(np.arange(len(labels)), block)
            mean = labels[rest].mean()
            errors[block] = labels[block, None] - mean
            for rank, model in enumerate(find(inputs[rest], labels[rest])):
                # Within the data: how a link goes on beyond them says nothing of their number.
                seen = np.clip(model.indices(inputs[block]), model.link.low, model.link.high)
                errors[block, rank + 1 :] = (labels[block] - model.link.predict(seen))[:, None]
        accepted, scores = 0, []
        losses = np.mean(errors**2, axis=0)
        # A direction is d numbers, which cost d/n of the error when they are fitted. Imprecise
        # directions are mended by further ones at about that price: these are not counted.
        price = inputs.shape[1] / max(len(labels) - len(blocks[0]), 1)
        for rank in range(1, most + 1):
            scores.append(evidence_for_model(errors[:, accepted], errors[:, rank]))
            paid = (rank - accepted) * price if accepted else 0.0
            if scores[-1] > self.z_min and losses[rank] < (1 - paid) * losses[accepted]:
                accepted = rank
        self.z_scores_ = np.array(scores)
        self.oof_r2_ = 1 - losses[1:] / max(float(losses[0]), 1e-300)
        return accepted


def evidence_for_model(errors: Float[np.ndarray, " n"], further: Float[np.ndarray, " n"]) -> float:
    """By how many standard errors the held-out errors of one model are explained by another's.

    The errors e are regressed on the change u of the prediction; the t statistic of the slope has
    a standard error that holds for any variance of the noise. Comparing squared errors instead
    would drown in the tails of the labels: those of He3 have a kurtosis of 93. Where the squared
    errors do not fall (a slope below one half) the statistic is reported as not positive.
    """
    change = errors - further
    size = float(change @ change)
    if size == 0:
        return 0.0
    slope = float(errors @ change) / size
    spread = float(np.linalg.norm(change * (errors - slope * change)))
    score = slope * size / spread if spread > 0 else np.inf
    return score if slope > 0.5 else min(score, 0.0)


def _permutation_test(
    inputs: np.ndarray, labels: np.ndarray, permutations: int, generator: np.random.Generator
) -> float:
    """How often permuted labels give moments as large: exact if labels ignore the inputs."""
    white = inputs @ Whitening.of(inputs).inverse_root
    weights = residual_weights(labels, np.zeros((len(labels), 0)), generator)
    if not weights.shape[1]:
        return 1.0

    def moments(rows: np.ndarray) -> np.ndarray:
        return np.array([candidates(white, rows, 1)[1][0] for candidates in ORDERS])

    null = np.array([moments(generator.permutation(weights)) for _ in range(permutations)])
    null = null.reshape(-1, 2)
    scale = np.maximum(null.mean(axis=0), 1e-300) if len(null) else np.ones(2)
    observed = float(np.max(moments(weights) / scale))
    return (1 + int(np.sum((null / scale).max(axis=1) >= observed))) / (permutations + 1)
