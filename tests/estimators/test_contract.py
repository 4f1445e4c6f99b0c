"""Scikit-learn's own checks, for every estimator, and that none of them is missing."""

from __future__ import annotations

import warnings
from collections import Counter
from functools import partial
from typing import Any

import joblib
import numpy as np
import pandas as pd
import pytest
from joblib.externals.loky import get_reusable_executor
from sklearn.base import clone
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.neighbors import NeighborhoodComponentsAnalysis
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import check_estimator, estimator_checks_generator
from sklearn.utils.validation import has_fit_parameter

from giantstep.datasets import make_multi_index
from giantstep.estimators import (
    GiantStepClassifier,
    GiantStepRegressor,
    IndexDirections,
    PrincipalHessianDirections,
    SlicedAverageVariance,
    SlicedInverseRegression,
    trees,
)
from giantstep.estimators.contract import StackSettings

SMALL = {"max_directions": 2, "n_neurons": 20, "width": 40, "folds": 2}
#: Runs only if SCIPY_ARRAY_API is set before SciPy is imported; skipped for the peers too.
SKIPPED = "check_array_api_input"
ESTIMATORS: list[tuple[Any, tuple[Any, ...]]] = [
    (GiantStepRegressor(**SMALL), (LinearRegression(),)),
    (GiantStepClassifier(**SMALL), (LogisticRegression(),)),
    # Transformers that need labels; the classical three take weights as well, as a scaler does.
    (
        IndexDirections(n_neurons=20, folds=2, n_permutations=9),
        (NeighborhoodComponentsAnalysis(),),
    ),
    (SlicedInverseRegression(), (NeighborhoodComponentsAnalysis(), StandardScaler())),
    (SlicedAverageVariance(), (NeighborhoodComponentsAnalysis(), StandardScaler())),
    (PrincipalHessianDirections(), (NeighborhoodComponentsAnalysis(), StandardScaler())),
]
NAMES = [type(ours).__name__ for ours, _ in ESTIMATORS]


def expected(estimator: Any) -> dict[str, str]:
    """Checks that fail, and why."""
    reason = "folds are of rows: one row of weight 2 is in one fold, two rows may be in two"
    kinds = ("dense", "sparse") if isinstance(estimator, StackSettings) else ()
    return {f"check_sample_weight_equivalence_on_{kind}_data": reason for kind in kinds}


def passed(estimator: Any) -> Counter[str]:
    """How often each of scikit-learn's checks passed; none may fail."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = check_estimator(estimator, on_fail=None, expected_failed_checks=expected(estimator))
    assert not {c["check_name"]: c["exception"] for c in found if c["status"] == "failed"}
    return Counter(c["check_name"] for c in found if c["status"] == "passed")


def asked(peer: Any) -> Counter[str]:
    """How many forms (memory maps, single precision) of each check scikit-learn has for a peer."""
    forms = {
        (check.func.__name__, str(sorted(check.keywords.items())))
        for _, check in estimator_checks_generator(peer)
        if isinstance(check, partial)
    }
    return Counter(name for name, _ in forms)


def beside_the_point(ours: Any) -> set[str]:
    """The checks of what an estimator does not claim to do, each for its reason."""
    tags = get_tags(ours)
    # Other arrays than NumPy's are not claimed.
    names = {"check_array_api_mixed_inputs", "check_array_api_same_namespace", SKIPPED}
    names |= set(expected(ours))
    if not has_fit_parameter(ours, "sample_weight"):
        names |= {
            "check_sample_weights_pandas_series",
            "check_sample_weights_not_an_array",
            "check_sample_weights_list",
            "check_all_zero_sample_weights_error",
            "check_sample_weights_shape",
            "check_sample_weights_not_overwritten",
            "check_sample_weight_equivalence_on_dense_data",
            "check_sample_weight_equivalence_on_sparse_data",
        }
    if not tags.input_tags.sparse:  # that sparse rows are refused in one line is still checked
        names |= {"check_sample_weight_equivalence_on_sparse_data"}
    if tags.input_tags.allow_nan:  # gaps are filled; that infinity is refused has a test of its own
        names |= {"check_estimators_nan_inf"}
    if not tags.target_tags.multi_output:  # one column of labels
        names |= {"check_regressor_multioutput"}
    if "class_weight" not in ours.get_params():
        names |= {"check_class_weight_classifiers", "check_class_weight_balanced_linear_classifier"}
    if not hasattr(ours, "sparsify"):  # linear models with sparse coefficients
        names |= {"check_sparsify_coefficients"}
    return names


@pytest.mark.slow
@pytest.mark.parametrize(("ours", "peers"), ESTIMATORS, ids=NAMES)
def test_every_check_that_scikit_learn_has_for_the_kind(
    ours: Any, peers: tuple[Any, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    # A few trees keep or break a contract as a hundred do, which are half of the time of a fit.
    monkeypatch.setattr(trees, "MOST", 5)
    monkeypatch.setattr(trees, "FEWEST", 5)
    ran = passed(ours)
    exempt = beside_the_point(ours)
    assert not (exempt - {SKIPPED}) & set(ran)
    for peer in peers:
        wanted = Counter({name: n for name, n in asked(peer).items() if name not in exempt})
        assert wanted.total() > 40
        assert not wanted - ran


@pytest.mark.parametrize("estimator", [ours for ours, _ in ESTIMATORS], ids=NAMES)
def test_labels_are_asked_for(estimator: Any) -> None:
    with pytest.raises(ValueError, match="requires y to be passed"):
        clone(estimator).fit(np.eye(4), None)


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


def test_processes_of_joblib_score_as_one_process_does() -> None:
    X, y, _ = make_multi_index("h1", dim=3, samples=40, noise=0.05)
    model = GiantStepRegressor(**SMALL)
    with joblib.parallel_config(backend="loky"):
        scores = cross_val_score(model, X, y, cv=2, n_jobs=2, error_score="raise")
    get_reusable_executor().shutdown()
    np.testing.assert_allclose(
        scores, cross_val_score(model, X, y, cv=2, error_score="raise"), rtol=1e-8
    )


@pytest.mark.parametrize(("ours", "peers"), ESTIMATORS[2:], ids=NAMES[2:])
def test_transformers_give_frames_with_named_columns(ours: Any, peers: object) -> None:
    X, y, _ = make_multi_index("h1", dim=3, samples=60)
    rows = pd.DataFrame(X, columns=["age", "mass", "speed"], index=range(100, 160))
    model = clone(ours).set_params(n_directions=2).set_output(transform="pandas")
    found = model.fit_transform(rows, y)
    name = type(ours).__name__.lower()
    assert list(found.columns) == [f"{name}0", f"{name}1"]
    pd.testing.assert_index_equal(found.index, rows.index)
    np.testing.assert_array_equal(found, model.set_output(transform="default").transform(rows))


@pytest.mark.parametrize(("ours", "peers"), ESTIMATORS, ids=lambda one: type(one).__name__)
def test_a_notebook_shows_a_link_to_the_paper(ours: Any, peers: object) -> None:
    link = f'href="{type(ours)._paper.link}"'
    assert link.startswith('href="https://doi.org/10.')
    assert link in ours._repr_html_()
    assert link in make_pipeline(ours)._repr_html_()
