"""``GiantStepRegressor``: few directions, few columns or none, weighted by what they predict."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from pandas import DataFrame
from scipy.sparse import issparse
from sklearn.base import RegressorMixin, clone
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from giantstep.bibliography import cited_paper
from giantstep.errors import GiantstepError, SettingsError
from giantstep.estimators.contract import (
    MOST_IN_MEMORY,
    StackSettings,
    check_positive_parameter,
    check_share_parameter,
    check_switch_parameter,
    check_whole_parameters,
    few_threads_for_fit,
    fit_progress_line,
    rows_to_fit,
    rows_with_same_columns,
    weighted_rows,
)
from giantstep.estimators.experts import StackSizes, expert_columns
from giantstep.estimators.forecast import Slope
from giantstep.estimators.index_path import most_fitted_directions
from giantstep.estimators.shown import ShownStack
from giantstep.estimators.stack import (
    CrossFitted,
    Stack,
    fit_stack,
    held_out_score,
    stack_error_from_part,
)
from giantstep.estimators.streaming.fit import fit_streamed
from giantstep.estimators.streaming.rows import (
    DaskRows,
    Rows,
    SlicedRows,
    is_dask_table,
    over_streamed_chunks,
)
from giantstep.estimators.tails import Filler, LabelScale, TailScaler, what_was_done_to_rows
from giantstep.numerics.ridge.scaled import Roots

#: Largest number of neurons of the random networks by default.
MOST_WIDTH = 700
#: Most rows for which the exact kernel is among the experts by default.
MOST_KERNEL_ROWS = 2000
#: Roots of the held-out errors of a label with compressed tails must be less than this share of
#: the others.
CLEARLY_LESS = 0.9
#: Rows from which four folds serve, which is a sixth of the work less: the fits without a fold are
#: then to so many rows that a few more hardly change them.
ROWS_FOR_FOUR_FOLDS = 1500
#: Neurons of the random network of a streamed fit.
STREAMED_WIDTH = 500


@dataclass(kw_only=True, eq=False, repr=False)
class GiantStepRegressor(ShownStack, RegressorMixin, StackSettings):
    """A regression for few relevant directions and n a few times d; no validation set is needed.

    A stack of cheap experts: a linear fit, random networks whose metric follows the average
    gradient, functions of a few learned directions, and of a few columns. Directions are found by
    label-weighted moments and refined by Gauss-Newton giant steps; experts are weighted by
    cross-validation of the whole procedure.

    Parameters
    ----------
    max_directions : int, default=8
        Most directions of the index model. Fewer are tried where the rows cannot carry them: four
        up to 750 rows.
    n_neurons : int, default=200
        Most rectified units in the link of the index model: one for three rows, at least 40.
    width : int or "auto", default="auto"
        Neurons of the random networks; by default twice the rows, at most 700.
    agop_steps : int, default=2
        Updates of the random networks' metric.
    folds : int or "auto", default="auto"
        Folds of the cross-validation that weighs the experts; by default five, or four from 1500
        rows.
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
    verbose : int, default=0
        Whether to show on standard error how far a fit is.

    Missing numbers are filled by medians and marked, and so is a number that is repeated far
    outside of its column's range, as -999 often is; other numbers far outside are cut off, and a
    column that is constant is ignored whatever comes later. Several columns of labels are fitted
    one after the other. Sparse rows are made dense up to 2e7 numbers.

    Attributes
    ----------
    notes_ : tuple of str
        What was done to the rows, in words.
    estimators_ : list of GiantStepRegressor
        One for each column of labels, where there are several; other attributes are then missing.
    held_out_ : ndarray of shape (n_samples, n_experts)
        Each expert's predictions for rows that it was not fitted to, in the units of
        ``expert_predictions``; None after a streamed fit.
    held_out_errors_ : ndarray of shape (n_samples,)
        Errors of the stack on the same rows, in units of the label; missing after a streamed fit.
    weights_ : dict
        Weight of each expert in the prediction; what is missing to 1 goes to the mean.
    oof_score_ : float
        R^2 on rows that neither the experts nor their weights were fitted to: the weights for a
        fold come from the other folds.
    oof_score_sem_ : float
        Its standard error, of this mean alone; NaN after a streamed fit. ``score_interval`` says
        where the score on other rows lies.
    directions_ : ndarray of shape (n_features, r)
        Directions of the shortest index model that predicts rows left out as well as the best of
        them, to within a standard error (after a streamed fit: of the one with the largest
        weight), in units of the input columns. The label rises along each, or its largest entry is
        positive where it does neither rise nor fall.
    stability_ : ndarray of shape (r,)
        How much of each direction the directions found without a fold contain: the mean over folds
        of a cosine, between 0 and 1; NaN after a streamed fit.
    evidence_ : float
        By how many standard errors the index model that is shown explains held-out labels; NaN
        after a streamed fit, 0 where there is no direction.
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

    _paper = cited_paper("2305.18270")

    streaming: bool | Literal["auto"] = "auto"

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> GiantStepRegressor:
        """Fit the experts and their weights to the rows of ``X`` and labels ``y``.

        A row of ``sample_weight`` 2 counts twice in every error that is made small, in memory
        only; one of weight 0 is left out.
        """
        check_whole_parameters(
            self, max_directions=1, n_neurons=1, width=1, agop_steps=0, folds=2, verbose=0
        )
        check_switch_parameter("kernel", self.kernel)
        check_switch_parameter("streaming", self.streaming)
        check_positive_parameter("clip", self.clip)
        if self._streams(X):
            if sample_weight is not None:
                raise SettingsError("sample_weight: a streamed fit takes none; use streaming=False")
            self._fit_streamed(X, y)
            return self
        X, y = rows_to_fit(self, X, y, y_numeric=True, multi_output=True, ensure_min_samples=2)
        if np.isinf(X).any() or not np.isfinite(y).all():
            name = "y" if np.isfinite(X[~np.isnan(X)]).all() else "X"
            raise ValueError(f"Input {name} contains NaN or infinity: leave these rows out")
        y = np.asarray(y, dtype=np.float64)
        X, y, roots = weighted_rows(X, y, sample_weight)
        if y.ndim == 2 and y.shape[1] > 1:
            weights = None if sample_weight is None else roots**2
            self.estimators_ = [clone(self).fit(X, column, weights) for column in y.T]
            return self
        with few_threads_for_fit(len(y)):
            self._fit_rows(X, y.reshape(-1), roots)
        return self

    def _streams(self, X: Any) -> bool:
        if is_dask_table(X):
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
        if is_dask_table(X):
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
        self._scaler, *scale = found.scales
        self._scale = LabelScale(*scale)
        self._filler = None
        self._stack = Stack(found.experts, found.weights, sizes)
        self._fitted = self.held_out_ = None
        self.oof_score_, self.oof_score_sem_ = found.score, float("nan")
        self.notes_: tuple[str, ...] = ("a fifth of the rows was held out to weigh the experts",)
        self._describe(*found.sample)

    def _fit_rows(self, X: np.ndarray, y: np.ndarray, roots: Roots) -> None:
        generator = np.random.default_rng(check_random_state(self.random_state).randint(2**31 - 1))
        filler = self._filler = Filler.of(X)
        filled = filler.transform(X)
        self._scaler = TailScaler.of(filled, self.clip)
        inputs = self._scaler.transform(filled)
        sizes, folds = self._sizes(*inputs.shape), self._fold_count(len(y))

        def trial(scale: LabelScale) -> CrossFitted:
            tell = fit_progress_line("fit", self.verbose)
            return fit_stack(inputs, y, scale, self._scaler, sizes, folds, generator, tell, roots)

        self._fitted = trial(LabelScale.of(y, roots))
        heavy = LabelScale.compressing(y, self.clip)
        if heavy is not None:
            other = trial(heavy)
            # A few rows would decide by their squares, or even their sizes: roots hear all of them.
            compressed, plain = (np.sqrt(np.abs(e.errors)).sum() for e in (other, self._fitted))
            if compressed < CLEARLY_LESS * plain:
                self._fitted = other
        self._stack, self._scale = self._fitted.whole, self._fitted.scale
        self.held_out_, self.held_out_errors_ = self._fitted.held_out, self._fitted.errors
        self.oof_score_, self.oof_score_sem_ = held_out_score(self._fitted.errors, y, roots)
        self.notes_ = what_was_done_to_rows(X, filled, filler, self._scaler, self._scale)
        self._rows = inputs, y
        self._falls: Slope | None = None
        self._describe(inputs, self._scale.apply(y))

    def predict(self, X: Any, return_interval: float | None = None) -> Any:
        """The weighted prediction of the experts; of a Dask collection, a Dask array.

        With ``return_interval``, a number between 0 and 1, also the interval that holds a new
        label with that probability, as an array of shape (n, 2). It is the cross-conformal one:
        quantiles of each fold's prediction plus the errors of the rows that were left out of it.
        """
        check_is_fitted(self)
        if hasattr(self, "estimators_"):
            if return_interval is not None:
                raise SettingsError("return_interval: ask each of estimators_ for its intervals")
            return np.column_stack([model.predict(X) for model in self.estimators_])
        if self._streams(X) and return_interval is None:
            rows_with_same_columns(self, X)
            return over_streamed_chunks(
                self._predict_rows, X.to_numpy() if isinstance(X, DataFrame) else X
            )
        inputs = self._prepared(self._checked(X))
        values = self._scale.invert(self._stack.predict(inputs))
        if return_interval is None:
            return values
        check_share_parameter("return_interval", return_interval)
        if self._fitted is None:
            raise GiantstepError("a streamed fit keeps no errors of rows: it has no intervals")
        return values, self._fitted.interval(inputs, return_interval)

    def learning_curve(self, *samples: int) -> DataFrame:
        """What more rows would buy: the error and the R^2 at these numbers of rows.

        By default twice and four times the rows of the fit. The ratio to the present error is
        forecast from fits to a quarter and a half of the rows; columns ``*_low``
        and ``*_high`` are 90 % intervals, of the ratio alone and with the uncertainty of the
        present error. ``attrs["notes"]`` says where the forecast is not to be trusted; where it
        would be a guess the numbers are NaN.
        """
        slope, fitted, labels = self._slope("learning_curve")
        return slope.forecast(labels, fitted.errors, samples)

    def score_interval(self, samples: float = np.inf, coverage: float = 0.9) -> tuple[float, float]:
        """The interval that holds R^2 on other rows with the probability ``coverage``.

        ``samples`` is the number of these rows: few of them have a score of their own. The
        interval counts their scatter, that of ``oof_score_``, and what the fit to all rows gains
        on the fits without a fold, by the forecast of ``learning_curve``.
        """
        check_share_parameter("coverage", coverage)
        check_positive_parameter("samples", samples)
        slope, fitted, labels = self._slope("score_interval")
        return slope.score_interval(fitted.errors, labels, float(samples), coverage)

    def _slope(self, asked: str) -> tuple[Slope, CrossFitted, np.ndarray]:
        """How the error falls with the rows; parts of them are fitted when this is first asked."""
        check_is_fitted(self)
        fitted: CrossFitted | None = getattr(self, "_fitted", None)
        if fitted is None:
            raise GiantstepError(f"{asked} needs one label and a fit in memory")
        inputs, labels = self._rows

        def error(part: np.ndarray, rest: np.ndarray) -> float:
            sizes = self._sizes(len(part), inputs.shape[1])
            return stack_error_from_part(fitted, inputs, labels, part, rest, sizes, self._scaler)

        if self._falls is None:
            with few_threads_for_fit(len(labels)):
                self._falls = Slope.of(error, fitted.errors)
        return self._falls, fitted, labels

    def _predict_rows(self, X: np.ndarray) -> np.ndarray:
        return self._scale.invert(self._stack.predict(self._prepared(X.astype(float))))

    def _prepared(self, X: np.ndarray) -> np.ndarray:
        if self._filler is not None:
            X = self._filler.transform(X)
        if not np.isfinite(X).all():
            raise ValueError("Input X contains NaN or infinity")
        return self._scaler.transform(X)

    def expert_predictions(self, X: Any) -> np.ndarray:
        """What each expert of ``weights_`` says, for labels of zero mean and unit variance."""
        inputs = self._prepared(self._checked(X))
        return expert_columns(self._stack.experts.predict(inputs), self._stack.sizes, len(inputs))

    def _fold_count(self, rows: int) -> int:
        """Folds of a fit to this many rows."""
        if self.folds == "auto":
            return 5 if rows < ROWS_FOR_FOUR_FOLDS else 4
        return int(self.folds)

    def _sizes(self, rows: int, width: int) -> StackSizes:
        neurons = min(2 * rows, MOST_WIDTH) if self.width == "auto" else int(self.width)
        kernel = rows <= MOST_KERNEL_ROWS if self.kernel == "auto" else bool(self.kernel)
        return StackSizes(
            most_fitted_directions(rows, width, self.max_directions),
            self.n_neurons,
            neurons,
            self.agop_steps,
            kernel,
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags
