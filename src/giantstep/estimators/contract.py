"""What estimators share: settings and their checks, a link to the paper, few threads."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from numbers import Integral, Real
from threading import Lock
from typing import Any, Literal

import numpy as np
import rich.console
import rich.progress
from scipy.sparse import issparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data
from threadpoolctl import threadpool_limits

from giantstep.bibliography import Paper
from giantstep.errors import SettingsError
from giantstep.numerics.ridge.scaled import Roots

#: Rows from which threads of the linear algebra are left as they are.
MANY_ROWS = 100_000
#: Numbers in a table beyond which it is streamed by default, or refused where it is sparse.
MOST_IN_MEMORY = 20_000_000
#: The limit is the process's, so that one fit at a time sets it, and lifts it.
_LIMITED = Lock()


class PaperLink:
    """The question mark beside an estimator in a notebook leads to the paper of its method."""

    _paper: Paper
    _doc_link_module = "giantstep"
    _doc_link_template = "{link}"

    def _doc_link_url_param_generator(self) -> dict[str, str]:
        return {"link": self._paper.link}


@dataclass(kw_only=True, eq=False, repr=False)
class StackSettings(PaperLink, BaseEstimator):
    """Settings of the regressor's and the classifier's experts, and the rows that both take."""

    max_directions: int = 8
    n_neurons: int = 200
    width: int | Literal["auto"] = "auto"
    agop_steps: int = 2
    folds: int | Literal["auto"] = "auto"
    clip: float = 3.0
    kernel: bool | Literal["auto"] = "auto"
    random_state: Any = 0
    verbose: int = 0

    def _checked(self, X: Any) -> np.ndarray:
        """Rows to predict, as an array with the columns of the fit."""
        check_is_fitted(self)
        return rows_to_fit(self, X, reset=False)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = tags.input_tags.sparse = True
        return tags


def rows_to_fit(estimator: BaseEstimator, X: Any, *y: Any, **how: Any) -> Any:
    """Rows, and labels if they are given, as numbers; missing ones are allowed in rows."""
    try:
        found = validate_data(
            estimator, _dense_rows(X), *y, dtype=np.float64, ensure_all_finite="allow-nan", **how
        )
        if how.get("y_numeric"):
            found[1].astype(np.float64)
        return found
    except ValueError as error:
        if "could not convert string to float" not in str(error):
            raise
        raise ValueError(
            f"{error}: turn columns of words into numbers first, as pandas.get_dummies(X) does; "
            "labels that are words are for GiantStepClassifier"
        ) from None


def check_whole_parameters(estimator: BaseEstimator, **least: int) -> None:
    """Each of these settings is a whole number of at least so much, or ``auto`` where that is it.

    >>> from giantstep.estimators import IndexDirections
    >>> check_whole_parameters(IndexDirections(folds=1), folds=2)
    Traceback (most recent call last):
    giantstep.errors.SettingsError: folds = 1: give a whole number of at least 2
    """
    defaults = type(estimator)().get_params()
    for name, smallest in least.items():
        value = getattr(estimator, name)
        automatic = isinstance(value, str) and value == defaults[name]
        whole = isinstance(value, Integral) and not isinstance(value, bool)
        if not automatic and (not whole or value < smallest):
            choice = ", or 'auto'" if defaults[name] == "auto" else ""
            raise SettingsError(
                f"{name} = {value!r}: give a whole number of at least {smallest}{choice}"
            )


def check_switch_parameter(name: str, value: Any) -> None:
    """A setting that is on, off, or left to us."""
    if not (isinstance(value, bool | np.bool_) or (isinstance(value, str) and value == "auto")):
        raise SettingsError(f"{name} = {value!r}: give True, False or 'auto'")


def check_positive_parameter(name: str, value: Any) -> None:
    """A setting that is a number above zero."""
    if not (isinstance(value, Real) and float(value) > 0):
        raise SettingsError(f"{name} = {value!r}: give a positive number")


def check_share_parameter(name: str, value: Any) -> None:
    """An argument that is a number between 0 and 1."""
    if not (isinstance(value, Real) and 0 < float(value) < 1):
        raise SettingsError(f"{name} = {value!r}: give a number between 0 and 1")


def _dense_rows(X: Any) -> Any:
    """Sparse rows as an array, if that fits into memory; anything else as it is."""
    if not issparse(X):
        return X
    rows, columns = X.shape
    if rows * columns > MOST_IN_MEMORY:
        raise SettingsError(
            f"X is sparse with {rows} x {columns} numbers: they are made dense, up to "
            f"{MOST_IN_MEMORY:.0e}; choose fewer columns first"
        )
    return X.toarray()


def weighted_rows(
    X: np.ndarray, y: np.ndarray, sample_weight: Any
) -> tuple[np.ndarray, np.ndarray, Roots]:
    """The rows that have a weight, and the roots of the weights over their mean."""
    if sample_weight is None:
        return X, y, 1.0
    weights = _check_sample_weight(sample_weight, X, ensure_non_negative=True)
    kept = weights > 0
    if np.sum(kept) < 2:
        raise SettingsError("sample_weight: give at least two rows a positive weight")
    weights = weights[kept].astype(float)
    return X[kept], y[kept], np.sqrt(weights / weights.mean())


def rows_with_same_columns(estimator: Any, X: Any) -> None:
    """Rows that are not validated as a whole have the number, names and order of the fit's."""
    count, given = int(X.shape[1]), getattr(X, "columns", None)
    if count != estimator.n_features_in_:
        raise ValueError(f"X has {count} features, but the fit had {estimator.n_features_in_}")
    known = getattr(estimator, "feature_names_in_", None)
    if known is None or given is None or list(given) == list(known):
        return
    first = next(i for i, (a, b) in enumerate(zip(given, known, strict=True)) if a != b)
    order = "in another order than" if set(given) == set(known) else "other than"
    raise ValueError(
        f"X has columns {order} those of the fit: column {first} is {given[first]!r}, "
        f"and was {known[first]!r}"
    )


def fit_progress_line(title: str, verbose: int) -> Callable[[float], None]:
    """What shows on standard error how far a fit is, if that is wanted."""
    if not verbose:
        return lambda fraction: None
    bar = rich.progress.Progress(console=rich.console.Console(stderr=True))
    task = bar.add_task(title, total=1.0)
    bar.start()

    def tell(fraction: float) -> None:
        bar.update(task, completed=fraction)
        if fraction >= 1:
            bar.stop()

    return tell


@contextmanager
def few_threads_for_fit(rows: int) -> Iterator[None]:
    """Keep linear algebra to one thread while a fit to this many rows runs, if these are few.

    Matrices of a few hundred columns are too small to share: threads that wait for one another
    spend processor time on nothing, on a busy machine twenty times as much as the work itself, and
    a fit to 50,000 rows takes longer with two idle cores than with one.

    A fit that begins while another one has set the limit, in another thread, leaves it alone.
    """
    if rows >= MANY_ROWS or not _LIMITED.acquire(blocking=False):
        yield
        return
    try:
        with threadpool_limits(1, user_api="blas"):
            yield
    finally:
        _LIMITED.release()
