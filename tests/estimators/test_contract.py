"""Scikit-learn's own checks, for every estimator, and how many of them ran."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import SkipTestWarning
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

from giantstep.datasets import make_multi_index
from giantstep.estimators import (
    GiantStepClassifier,
    GiantStepRegressor,
    IndexDirections,
    PrincipalHessianDirections,
    SlicedAverageVariance,
    SlicedInverseRegression,
)

SMALL = {"max_directions": 2, "n_neurons": 20, "width": 40, "folds": 2}
ESTIMATORS: list[tuple[Any, Any]] = [
    (GiantStepRegressor(**SMALL), LinearRegression()),
    (GiantStepClassifier(**SMALL), LogisticRegression()),
    (IndexDirections(n_neurons=20, folds=2, n_permutations=9), StandardScaler()),
    (SlicedInverseRegression(), StandardScaler()),
    (SlicedAverageVariance(), StandardScaler()),
    (PrincipalHessianDirections(), StandardScaler()),
]


def checks(estimator: Any) -> list[dict[str, Any]]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("ignore", SkipTestWarning)
        return check_estimator(estimator, on_fail=None)


@pytest.mark.slow
@pytest.mark.parametrize(("ours", "peer"), ESTIMATORS, ids=lambda e: type(e).__name__)
def test_scikit_learns_checks(ours: Any, peer: Any) -> None:
    found = checks(ours)
    failed = {c["check_name"]: c["exception"] for c in found if c["status"] == "failed"}
    assert not failed
    ran = {c["check_name"] for c in found if c["status"] == "passed"}
    # Sample weights, sparse matrices and partial fits are scikit-learn's own estimators' extras.
    extras = ("sample_weight", "sparse", "partial_fit", "multioutput", "class_weight", "array_api")
    wanted = {
        c["check_name"]
        for c in checks(peer)
        if c["status"] == "passed" and not any(word in c["check_name"] for word in extras)
    }
    assert len(ran) >= 0.9 * len(wanted), sorted(wanted - ran)


def test_pipelines_searches_and_clones() -> None:
    X, y, _ = make_multi_index("abs(h1)", dim=6, samples=80, noise=0.05)
    model = GiantStepRegressor(**SMALL)
    pipeline = make_pipeline(StandardScaler(), clone(model))
    assert cross_val_score(pipeline, X, y, cv=2).shape == (2,)
    search = GridSearchCV(model, {"n_neurons": [10, 20]}, cv=2).fit(X, y)
    assert search.best_params_["n_neurons"] in (10, 20)


def test_names_of_columns_are_kept() -> None:
    X, y, _ = make_multi_index("h1", dim=4, samples=60)
    frame = pd.DataFrame(X, columns=["age", "mass", "height", "speed"])
    model = GiantStepRegressor(**SMALL).fit(frame, y)
    assert list(model.feature_names_in_) == ["age", "mass", "height", "speed"]
    directions = SlicedInverseRegression(n_directions=1).fit(frame, y)
    assert list(directions.get_feature_names_out()) == ["slicedinverseregression0"]


def test_the_seed_decides_everything() -> None:
    X, y, _ = make_multi_index("abs(h1)", dim=6, samples=80, noise=0.05)
    first, again = (GiantStepRegressor(**SMALL).fit(X, y).predict(X) for _ in range(2))
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(
        first, GiantStepRegressor(**SMALL, random_state=1).fit(X, y).predict(X)
    )
