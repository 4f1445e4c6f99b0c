"""What a fitted stack shows: directions and links, how clear they are, columns that matter."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from giantstep.estimators.directions import evidence_for_model
from giantstep.estimators.experts import expert_names
from giantstep.estimators.index_model import IndexModel, Link, fitted_link_curves, index_stability
from giantstep.estimators.pictures import (
    direction_by_columns,
    fitted_directions_picture,
    fitted_links_picture,
)
from giantstep.estimators.stack import CrossFitted, Stack, squared_slopes_by_column
from giantstep.estimators.tails import Filler, LabelScale, TailScaler

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class ShownStack:
    """The part of a regressor that describes its stack, once that is fitted."""

    n_features_in_: int
    held_out_: np.ndarray | None
    _stack: Stack
    _fitted: CrossFitted | None
    _filler: Filler | None
    _scaler: TailScaler
    _scale: LabelScale

    def plot_links(self, label: str = "label") -> Figure:
        """Training labels over each learned index, with the fitted link: a matplotlib Figure.

        ``label`` is the name of the labels. The band is the standard error of the link, from the
        links of the fits without a fold.
        """
        check_is_fitted(self)
        words = self.direction_words()
        return fitted_links_picture(self._indices, self._labels, self._curves, words, label)

    def direction_words(self) -> list[str]:
        """Each direction by its largest columns, for columns of unit variance."""
        check_is_fitted(self)
        return [direction_by_columns(direction, self._names()) for direction in self._loadings.T]

    def _names(self) -> list[str]:
        named = getattr(self, "feature_names_in_", None)
        return [f"x{i}" for i in range(self.n_features_in_)] if named is None else list(named)

    def plot_directions(self) -> Figure:
        """The learned directions over the columns, largest first: a matplotlib Figure."""
        check_is_fitted(self)
        return fitted_directions_picture(self._loadings, self._names())

    def _describe(self, inputs: np.ndarray, labels: np.ndarray) -> None:
        experts, weights = self._stack.experts, self._stack.weights
        self.weights_ = dict(zip(expert_names(self._stack.sizes), map(float, weights), strict=True))
        count = self.n_features_in_
        self._labels = self._scale.invert(labels)
        self.stability_, self.evidence_ = np.zeros(0), 0.0
        self.directions_ = self._loadings = np.zeros((count, 0))
        self.link_: Link | None = None
        self._indices = np.zeros((len(inputs), 0))
        self._curves: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
        if experts.path:
            self._describe_links(inputs, labels)
        average = experts.networks[-1].average_gradient(inputs)
        self.eigenvalues_ = np.linalg.eigvalsh(average)[::-1].copy()
        axes: Any = experts.models.get("axes")
        kept = self._columns[list(axes.columns)] if axes else ()
        self.active_features_ = np.unique(np.array(kept, dtype=int))
        self._some_rows = inputs[:: max(1, len(inputs) // 100)].copy()

    def _describe_links(self, inputs: np.ndarray, labels: np.ndarray) -> None:
        """The index model that is shown, with its signs, bands and steadiness."""
        path = self._stack.experts.path
        rank = min(self._clearest(labels), len(path))
        model = path[rank - 1].rising(inputs, labels)
        self._stack.experts.models[f"index-{rank}"] = model
        slope = self._scaler.slope if model.scaler is None else 1 / self._scaler.deviation
        count = self.n_features_in_
        self.directions_, self.link_ = (model.directions * slope[:, None])[:count], model.link
        self._loadings = model.directions[:count]
        self._indices = model.indices(inputs)
        others = [] if self._fitted is None else [one.experts.path for one in self._fitted.folds]
        beside: list[IndexModel] = [path[min(rank, len(path)) - 1] for path in others if path]
        self.stability_, self.evidence_ = index_stability(model, beside, inputs), float("nan")
        if self.held_out_ is not None:
            said = self.held_out_[:, list(self.weights_).index(f"index-{rank}")]
            self.evidence_ = evidence_for_model(labels, labels - said)
        self._curves = [
            (at, self._scale.invert(value), self._scale.scale * error)
            for at, value, error in fitted_link_curves(model, beside, inputs)
        ]

    @property
    def _columns(self) -> np.ndarray:
        """The given column that each column of the experts' inputs is about."""
        return np.arange(self.n_features_in_) if self._filler is None else self._filler.columns

    def _clearest(self, labels: np.ndarray) -> int:
        """How many directions the index model has that is shown."""
        ranks = range(1, self._stack.sizes.directions + 1)
        if self.held_out_ is None:
            return max(ranks, key=lambda rank: self.weights_[f"index-{rank}"])
        first = list(self.weights_).index("index-1")
        errors = (labels[:, None] - self.held_out_[:, first : first + len(ranks)]) ** 2
        worse = errors - errors[:, [np.argmin(errors.mean(axis=0))]]
        slack = worse.std(axis=0) / np.sqrt(len(labels))
        return int(np.argmax(worse.mean(axis=0) <= slack)) + 1

    @property
    def feature_importances_(self) -> np.ndarray:
        """Mean squared slope of the stack along each column, by symmetric differences."""
        check_is_fitted(self)
        squares = squared_slopes_by_column(self._stack.predict, self._some_rows)
        shares = np.bincount(self._columns, weights=squares)
        total = float(shares.sum())
        return shares / total if total > 0 else np.full(len(shares), 1 / len(shares))
