"""``GiantStepRegressor``: few directions, few columns or none, weighted by what they predict."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from pandas import DataFrame
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_consistent_length, check_is_fitted, validate_data

from giantstep.bibliography import paper
from giantstep.estimators.experts import (
    FixedFeatures,
    Sizes,
    columns,
    fit_experts,
    names,
)
from giantstep.estimators.index_path import most_directions
from giantstep.estimators.paper_link import PaperLink
from giantstep.estimators.pictures import directions_picture, links_picture
from giantstep.estimators.settings import check_positive, check_switch, check_whole
from giantstep.estimators.stack import cross_fitted_score, shuffled_folds, simplex_weights
from giantstep.estimators.streaming.fit import fit_streamed
from giantstep.estimators.streaming.rows import DaskRows, Rows, SlicedRows, is_dask, mapped
from giantstep.estimators.tails import TailScaler
from giantstep.estimators.threads import few_threads

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Largest number of neurons of the random networks by default.
MOST_WIDTH = 1500
#: Most rows for which the exact kernel is among the experts by default.
MOST_KERNEL_ROWS = 2000
#: Numbers in a table beyond which it is streamed by default, and neurons of its random network.
MOST_IN_MEMORY, STREAMED_WIDTH = 20_000_000, 500


class GiantStepRegressor(PaperLink, RegressorMixin, BaseEstimator):
    """A regression for few relevant directions and n a few times d; no validation set is needed.

    A stack of cheap experts: a linear fit, random networks whose metric follows the average
    gradient, functions of a few learned directions, and of a few columns. Directions are found by
    label-weighted moments and refined by Gauss-Newton giant steps; experts are weighted by
    cross-validation of the whole procedure.

    Parameters
    ----------
    max_directions : int, default=4
        Most directions of the index model. Fewer are tried where the rows cannot carry them.
    n_neurons : int, default=200
        Rectified units in the link of the index model.
    width : int or "auto", default="auto"
        Neurons of the random networks; by default twice the rows, at most 1500.
    agop_steps : int, default=2
        Updates of the random networks' metric.
    folds : int, default=5
        Folds of the cross-validation that weighs the experts.
    clip : float, default=3.0
        Columns are compressed beyond this many standard deviations.
    kernel : bool or "auto", default="auto"
        Whether an exact Laplace kernel is among the experts; by default up to 2000 rows.
    streaming : bool or "auto", default="auto"
        Whether to fit by sums over chunks of rows, for anything that has row slices; by default
        for Dask collections and for tables of more than 2e7 numbers. The experts are then a linear
        fit, one random network and the index model, and a fifth of the rows is held out in place of
        folds.
    random_state : int, RandomState instance or None, default=0
        Seed of the folds and of all random features; the fit is deterministic in it.

    Attributes
    ----------
    held_out_ : ndarray of shape (n_samples, n_experts)
        Each expert's predictions for rows that it was not fitted to, in the units of
        ``expert_predictions``; None after a streamed fit.
    weights_ : dict
        Weight of each expert in the prediction; what is missing to 1 goes to the mean.
    oof_score_ : float
        R^2 on rows that neither the experts nor their weights were fitted to: the weights for a
        fold come from the other folds.
    directions_ : ndarray of shape (n_features, r)
        Directions of the shortest index model that predicts rows left out as well as the best of
        them, to within a standard error (after a streamed fit: of the one with the largest
        weight), in units of the input columns.
    link_ : object
        Its link; ``plot_links`` draws it.
    eigenvalues_ : ndarray of shape (n_features,)
        Eigenvalues of the average gradient outer product of the last network, largest first.
    active_features_ : ndarray
        Columns that the axis model kept.
    feature_importances_ : ndarray of shape (n_features,)
        Mean squared derivative of the stack along each standardised column, summing to 1.

    Examples
    --------
    >>> import numpy as np
    >>> from giantstep.estimators import GiantStepRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((300, 10))
    >>> y = np.abs(X[:, 0] + X[:, 1])
    >>> model = GiantStepRegressor(kernel=False).fit(X, y)
    >>> bool(model.oof_score_ > 0.9)
    True
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
        streaming: bool | Literal["auto"] = "auto",
        random_state: Any = 0,
    ) -> None:
        self.max_directions = max_directions
        self.n_neurons = n_neurons
        self.width = width
        self.agop_steps = agop_steps
        self.folds = folds
        self.clip = clip
        self.kernel = kernel
        self.streaming = streaming
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> GiantStepRegressor:
        """Fit the experts and their weights to the rows of ``X`` and labels ``y``."""
        check_whole(self, max_directions=1, n_neurons=1, width=1, agop_steps=0, folds=2)
        check_switch("kernel", self.kernel)
        check_switch("streaming", self.streaming)
        check_positive("clip", self.clip)
        if self._streams(X):
            self._fit_streamed(X, y)
            return self
        X, y = validate_data(self, X, y, dtype=np.float64, y_numeric=True, ensure_min_samples=2)
        y = np.asarray(y, dtype=np.float64)
        with few_threads(len(y)):
            self._fit_rows(X, y)
        return self

    def _streams(self, X: Any) -> bool:
        if is_dask(X):
            return True
        shape: tuple[int, ...] = getattr(X, "shape", ())
        if issparse(X) or len(shape) != 2:
            return False
        large = int(shape[0]) * int(shape[1]) > MOST_IN_MEMORY
        return large if self.streaming == "auto" else bool(self.streaming)

    def _fit_streamed(self, X: Any, y: Any) -> None:
        names_given = getattr(X, "columns", None)
        if names_given is not None:
            self.feature_names_in_ = np.asarray(names_given, dtype=object)
        if is_dask(X):
            rows: Rows = DaskRows.of(X, y)
        else:
            X = X.to_numpy() if hasattr(X, "to_numpy") else X
            y = y.to_numpy() if hasattr(y, "to_numpy") else y
            rows = SlicedRows(X, y)
            check_consistent_length(X, y)
        self.n_features_in_ = rows.shape[1]
        generator = np.random.default_rng(check_random_state(self.random_state).randint(2**31 - 1))
        sizes = self._sizes(*rows.shape)
        sizes = sizes._replace(width=min(sizes.width, STREAMED_WIDTH), updates=0, kernel=False)
        found = fit_streamed(rows, sizes, self.clip, generator)
        self._scaler, self._centre, self._scale = found.scales
        self._experts, self._weights, self._sizes_used = found.experts, found.weights, sizes
        self.held_out_: np.ndarray | None = None
        self.oof_score_ = found.score
        self._describe(*found.sample)

    def _fit_rows(self, X: np.ndarray, y: np.ndarray) -> None:
        generator = np.random.default_rng(check_random_state(self.random_state).randint(2**31 - 1))
        rows = len(y)
        self._centre, self._scale = float(y.mean()), float(y.std()) or 1.0
        labels = (y - self._centre) / self._scale
        sizes = self._sizes(rows, X.shape[1])
        self._scaler = TailScaler.of(X, self.clip)
        inputs = self._scaler.transform(X)
        fixed = FixedFeatures.of(inputs, labels, sizes, generator)
        blocks = shuffled_folds(rows, self.folds, generator)
        seeds = generator.spawn(len(blocks) + 1)
        held_out = np.zeros((rows, len(list(names(sizes)))))
        self._experts = fit_experts(inputs, labels, sizes, seeds[0], fixed.whole)
        for block, seed in zip(blocks, seeds[1:], strict=True):
            rest = np.setdiff1d(np.arange(rows), block)
            experts = fit_experts(
                inputs[rest],
                labels[rest],
                sizes,
                seed,
                fixed.without(block),
                self._experts.chances,
            )
            held_out[block] = columns(experts.predict(inputs[block]), sizes, len(block))
        self._weights, self._sizes_used = simplex_weights(held_out, labels), sizes
        self.held_out_ = held_out
        self.oof_score_ = cross_fitted_score(held_out, labels, blocks)
        self._describe(inputs, labels)

    def predict(self, X: Any) -> np.ndarray:
        """The weighted prediction of the experts; of a Dask collection, a Dask array."""
        check_is_fitted(self)
        if self._streams(X):
            return mapped(self._predict_rows, X.to_numpy() if isinstance(X, DataFrame) else X)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        return self._predict_rows(X)

    def _predict_rows(self, X: np.ndarray) -> np.ndarray:
        return self._centre + self._scale * self._stacked(self._scaler.transform(X.astype(float)))

    def expert_predictions(self, X: Any) -> np.ndarray:
        """What each expert of ``weights_`` says, for labels of zero mean and unit variance."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        inputs = self._scaler.transform(X)
        return columns(self._experts.predict(inputs), self._sizes_used, len(inputs))

    def _stacked(self, inputs: np.ndarray) -> np.ndarray:
        """The weighted sum, asking only the experts that have a weight."""
        last = f"index-{len(self._experts.path)}"
        asked = {name for name, weight in self.weights_.items() if weight > 0} | {last}
        table = columns(self._experts.predict(inputs, asked), self._sizes_used, len(inputs))
        return table @ self._weights

    def plot_links(self) -> Figure:
        """Training labels over each learned index, with the fitted link: a matplotlib Figure."""
        check_is_fitted(self)
        return links_picture(
            self._indices,
            self._labels,
            lambda indices: self._centre + self._scale * self.link_.predict(indices),
        )

    def plot_directions(self) -> Figure:
        """The learned directions over the columns, largest first: a matplotlib Figure."""
        check_is_fitted(self)
        named = getattr(self, "feature_names_in_", None)
        count = self.directions_.shape[0]
        names = [f"x{column}" for column in range(count)] if named is None else list(named)
        return directions_picture(self.directions_ / self._scaler.slope[:, None], names)

    def _sizes(self, rows: int, width: int) -> Sizes:
        neurons = min(2 * rows, MOST_WIDTH) if self.width == "auto" else int(self.width)
        kernel = rows <= MOST_KERNEL_ROWS if self.kernel == "auto" else bool(self.kernel)
        return Sizes(
            most_directions(rows, width, self.max_directions),
            self.n_neurons,
            neurons,
            self.agop_steps,
            kernel,
        )

    def _describe(self, inputs: np.ndarray, labels: np.ndarray) -> None:
        sizes, experts = self._sizes_used, self._experts
        weights = dict(zip(names(sizes), map(float, self._weights), strict=True))
        self.weights_ = weights
        path: list[Any] = experts.path
        slope = self._scaler.slope[:, None]
        if path:
            model = path[min(self._clearest(labels), len(path)) - 1]
            self.directions_, self.link_ = model.directions * slope, model.link
            self._indices = model.indices(inputs)
        else:
            self.directions_, self.link_ = np.zeros((inputs.shape[1], 0)), None
            self._indices = np.zeros((len(inputs), 0))
        self._labels = self._centre + self._scale * labels
        average = experts.networks[-1].average_gradient(inputs)
        self.eigenvalues_ = np.linalg.eigvalsh(average)[::-1].copy()
        axes: Any = experts.models.get("axes")
        self.active_features_ = np.array(axes.columns if axes else (), dtype=int)
        self._some_rows = inputs[:: max(1, len(inputs) // 100)].copy()

    def _clearest(self, labels: np.ndarray) -> int:
        """How many directions the index model has that is shown."""
        ranks = range(1, self._sizes_used.directions + 1)
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
        some = self._some_rows
        reach = 0.1
        squares = np.empty(some.shape[1])
        for column in range(some.shape[1]):
            moved = [some.copy(), some.copy()]
            moved[0][:, column] += reach
            moved[1][:, column] -= reach
            high, low = (self._stacked(rows) for rows in moved)
            squares[column] = np.mean((high - low) ** 2)
        total = float(squares.sum())
        return squares / total if total > 0 else np.full(len(squares), 1 / len(squares))
