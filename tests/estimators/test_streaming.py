"""Streamed fits: the same from arrays, slices and a cluster, little memory, and what they find."""

from __future__ import annotations

import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

from giantstep.datasets import make_multi_index
from giantstep.estimators import GiantStepRegressor
from giantstep.estimators.streaming import rows as streamed_rows
from giantstep.estimators.streaming.passes import is_streamed_held_out
from giantstep.numerics.ridge.path import NormalEquations
from giantstep.numerics.ridge.scaled import ridge

SMALL: dict[str, Any] = {"max_directions": 2, "n_neurons": 40, "width": 60, "streaming": True}


class OnlySlices:
    """A table with a shape and row slices, and nothing else."""

    def __init__(self, table: np.ndarray) -> None:
        self.table, self.shape = table, table.shape
        self.longest = 0

    def __len__(self) -> int:
        return len(self.table)

    def __getitem__(self, part: slice) -> np.ndarray:
        self.longest = max(self.longest, part.stop - part.start)
        return self.table[part]


@pytest.fixture(scope="module")
def data() -> tuple[np.ndarray, np.ndarray]:
    X, y, _ = make_multi_index("h1 + h1*h2", dim=12, samples=3000, noise=0.1)
    return X + 3.0, y


@pytest.fixture(scope="module")
def in_memory(data: tuple[np.ndarray, np.ndarray]) -> GiantStepRegressor:
    return GiantStepRegressor(**SMALL).fit(data[0][:2000], data[1][:2000])


def test_the_streamed_fit_learns(
    data: tuple[np.ndarray, np.ndarray], in_memory: GiantStepRegressor
) -> None:
    X, y = data
    ceiling = 1 - 0.1 / float(np.var(y))
    score = in_memory.score(X[2000:], y[2000:])
    assert score > 0.97 * ceiling
    assert abs(in_memory.oof_score_ - score) < 0.05
    assert in_memory.feature_importances_.shape == (12,)


def test_slices_of_any_length_give_the_same_fit(
    data: tuple[np.ndarray, np.ndarray],
    in_memory: GiantStepRegressor,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    X, y = data
    np.save(tmp_path / "X.npy", X[:2000])
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    from_map = GiantStepRegressor(**SMALL).fit(mapped, y[:2000])
    assert_allclose(from_map.predict(X), in_memory.predict(X), rtol=1e-6, atol=1e-6)
    monkeypatch.setattr(streamed_rows, "CHUNK_NUMBERS", 170 * streamed_rows.LEAST_COLUMNS)
    slices = OnlySlices(X[:2000])
    from_slices = GiantStepRegressor(**SMALL).fit(slices, y[:2000])
    assert slices.longest == 170
    assert_allclose(from_slices.predict(X), in_memory.predict(X), rtol=1e-6, atol=1e-6)
    assert_allclose(from_slices.predict(OnlySlices(X)), in_memory.predict(X), rtol=1e-6, atol=1e-6)


def test_memory_does_not_grow_with_the_rows(tmp_path: Path) -> None:
    generator = np.random.default_rng(0)
    peaks = []
    for samples in (6_000, 18_000):
        table = generator.standard_normal((samples, 40)).astype(np.float32)
        np.save(tmp_path / "X.npy", table)
        labels = np.abs(table[:, 0])
        mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
        tracemalloc.start()
        GiantStepRegressor(**{**SMALL, "max_directions": 1}).fit(mapped, labels)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    # Tripling the rows added 1.9 MB to the table.
    assert peaks[1] - peaks[0] < 0.1 * 12_000 * 40 * 4


@pytest.mark.parametrize("columns", [1, 5, 30])
def test_normal_equations_are_the_ridge_regression(columns: int) -> None:
    generator = np.random.default_rng(columns)
    features = generator.standard_normal((60, columns)) + 2.0
    labels = features[:, 0] + 0.5 * generator.standard_normal(60)
    peer = ridge(features, labels, spent=1.0)
    parts = [
        NormalEquations.of(features[part], labels[part]) for part in (slice(23), slice(23, 60))
    ]
    found = NormalEquations(*(a + b for a, b in zip(*parts, strict=True))).fit(spent=1.0)
    assert found.ridge == peer.ridge
    assert_allclose(found.coefficients, peer.coefficients, rtol=1e-8, atol=1e-10)
    assert_allclose(
        [found.intercept, found.freedom, found.score],
        [peer.intercept, peer.freedom, peer.score],
        rtol=1e-8,
    )


def test_a_fifth_of_the_rows_is_held_out_whatever_the_chunks() -> None:
    whole = is_streamed_held_out(0, 5000)
    assert abs(whole.mean() - 0.2) < 0.002
    assert np.array_equal(whole[137:2000], is_streamed_held_out(137, 1863))


@pytest.mark.parametrize(("name", "row"), [("X", 0), ("y", 1)])
def test_holes_are_named(data: tuple[np.ndarray, np.ndarray], name: str, row: int) -> None:
    X, y = (one[:200].copy() for one in data)
    (X if name == "X" else y)[row] = np.nan
    with pytest.raises(ValueError, match=f"{name} contains NaN"):
        GiantStepRegressor(**SMALL).fit(X, y)


def test_dask_collections_give_the_same_fit(
    data: tuple[np.ndarray, np.ndarray], in_memory: GiantStepRegressor
) -> None:
    array = pytest.importorskip("dask.array")
    import dask
    import pandas as pd
    from dask import dataframe

    X, y = data
    with dask.config.set(scheduler="synchronous"):
        model = GiantStepRegressor(**SMALL)
        model.fit(array.from_array(X[:2000], chunks=(700, 5)), array.from_array(y[:2000], 900))
        predicted = model.predict(array.from_array(X, chunks=(900, 12)))
        assert isinstance(predicted, array.Array)
        assert_allclose(predicted.compute(), in_memory.predict(X), rtol=1e-6, atol=1e-6)
        frame = pd.DataFrame(X[:2000], columns=[f"c{i}" for i in range(12)])
        table = dataframe.from_pandas(frame.assign(label=y[:2000]), npartitions=3)
        model = GiantStepRegressor(**SMALL).fit(table.drop(columns="label"), table["label"])
    assert list(model.feature_names_in_) == list(frame.columns)
    assert_allclose(model.predict(X), in_memory.predict(X), rtol=1e-6, atol=1e-6)
