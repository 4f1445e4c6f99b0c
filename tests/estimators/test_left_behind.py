"""A fit leaves threads, random states and precision as it found them."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import jax
import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from giantstep.estimators import GiantStepClassifier, GiantStepRegressor, IndexDirections
from giantstep.estimators.contract import MANY_ROWS, few_threads_for_fit

SMALL: dict[str, Any] = {"max_directions": 1, "n_neurons": 20, "width": 40, "folds": 2}


def threads_of_linear_algebra() -> set[int]:
    return {one["num_threads"] for one in threadpool_info() if one["user_api"] == "blas"}


def state() -> tuple[Any, ...]:
    return (
        threads_of_linear_algebra(),
        threading.active_count(),
        np.random.get_state()[1].tolist(),  # noqa: NPY002
        jax.config.jax_enable_x64,
        np.geterr(),
    )


@pytest.mark.parametrize(
    "model",
    [
        GiantStepRegressor(**SMALL),
        GiantStepRegressor(**SMALL, streaming=True),
        GiantStepClassifier(**SMALL),
        IndexDirections(n_neurons=20, folds=2, n_permutations=2),
    ],
    ids=["regressor", "streamed", "classifier", "directions"],
)
def test_a_fit_leaves_nothing_behind(model: Any) -> None:
    X = np.random.default_rng(0).standard_normal((60, 3))
    y = (X[:, 0] > 0).astype(float)
    with threadpool_limits(2, user_api="blas"):
        before = state()
        assert before[0] == {2}
        model.fit(X, y)
        assert state() == before
        with pytest.raises(ValueError, match="NaN"):
            model.fit(X, np.full(60, np.nan))
        assert state() == before


def test_fits_at_once_leave_the_threads_as_they_were() -> None:
    """The second of two fits begins inside the first one and ends after it."""
    inside, outside = threading.Event(), threading.Event()

    def second() -> None:
        with few_threads_for_fit(100):
            inside.set()
            assert outside.wait(60)

    with threadpool_limits(2, user_api="blas"), ThreadPoolExecutor(1) as pool:
        with few_threads_for_fit(100):
            later = pool.submit(second)
            assert inside.wait(60)
            assert threads_of_linear_algebra() == {1}
        assert threads_of_linear_algebra() == {2}
        outside.set()
        later.result()
        assert threads_of_linear_algebra() == {2}
        with few_threads_for_fit(MANY_ROWS):
            assert threads_of_linear_algebra() == {2}
