"""Theory of a fitted link, over the learning curve that the estimator measures."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline

from giantstep.datasets import make_multi_index
from giantstep.errors import GiantstepError
from giantstep.estimators import GiantStepRegressor, LinkTheory, link_theory
from giantstep.estimators import page as fit_page
from giantstep.estimators.fitting import Fitted, Score
from giantstep.estimators.tables import prepare_table_to_fit

SMALL: dict[str, Any] = {
    "max_directions": 1,
    "n_neurons": 30,
    "width": 60,
    "folds": 2,
    "kernel": False,
    "agop_steps": 0,
}


@pytest.fixture(scope="module")
def found() -> LinkTheory:
    X, y, _ = make_multi_index("h1 + He2(h1)/4", dim=12, samples=300, noise=0.05)
    model = GiantStepRegressor(**SMALL).fit(X, y)
    return link_theory(model, X, y, points=2, repeats=2)


def test_the_link_is_the_target_that_drew_the_labels(found: LinkTheory) -> None:
    assert found.link.captured > 0.95
    assert found.dim == 12
    stair = found.stairs.iloc[0]
    assert (stair["staircase"], stair["leap"], stair["samples_at_dim"]) == ("staircase", 1, 12.0)
    # Noise of 0.05 in labels of variance 1 + 2/16 + 0.05.
    assert abs(found.noise - 0.05 / 1.175) < 0.06


def test_curves_rise_and_the_estimator_is_above_random_features(found: LinkTheory) -> None:
    curves = found.curves
    assert np.isfinite(curves[["random_features", "giant_step", "measured"]].to_numpy()).all()
    assert curves["random_features"].is_monotonic_increasing
    last = curves.iloc[-1]
    assert last["measured"] > last["random_features"]
    assert last["measured"] > 0.9
    assert any("Gaussian" in note for note in found.notes)
    assert len(found.plot().axes[0].get_lines()) >= 2


def test_no_direction_no_theory() -> None:
    X = np.random.default_rng(0).standard_normal((40, 3))
    model = GiantStepRegressor(**SMALL).fit(X, X[:, 0])
    model.link_ = None
    with pytest.raises(GiantstepError, match="no direction"):
        link_theory(model, X, X[:, 0])


def test_the_page_shows_stairs_curves_and_what_is_assumed(
    found: LinkTheory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, y, _ = make_multi_index("h1", dim=4, samples=60, noise=0.05)
    frame = pd.DataFrame(X, columns=list("abcd")).assign(price=y)
    prepared = prepare_table_to_fit(frame, "price")
    pipeline = make_pipeline(prepared.encoder, GiantStepRegressor(**SMALL))
    pipeline.fit(prepared.inputs, prepared.labels)
    scores = (Score("giantstep", 0.9, 0.01), Score("mean", 0.0, 0.01), Score("ridge", 0.8, 0.01))
    fitted = Fitted(pipeline, scores, "regression", (), tuple("abcd"), tuple("abcd"))
    monkeypatch.setattr(fit_page, "link_theory", lambda *given, **settings: found)
    fit_page.write_fit_page(fitted, prepared, "data.csv", "price", tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    theory = ("Rows from which directions should appear, at d = 12", "~ d = 12", "Gaussian")
    for words in (*theory, "What was done to the table", "ridge 0.80"):
        assert words in text
