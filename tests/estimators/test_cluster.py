"""Sums and fits on a cluster of processes, one of which is killed, are those of one process."""

from __future__ import annotations

import os
import signal
from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_allclose

from giantstep.estimators import GiantStepRegressor
from giantstep.estimators.streaming.passes import streamed_raw_moments
from giantstep.estimators.streaming.rows import DaskRows, SlicedRows


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_a_killed_worker_does_not_change_the_sums() -> None:
    distributed = pytest.importorskip("distributed")
    import dask.array

    generator = np.random.default_rng(0)
    X, y = generator.standard_normal((900, 5)), generator.standard_normal(900)
    wanted = SlicedRows(X, y)
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        rows = DaskRows.of(dask.array.from_array(X, (200, 5)), y)
        for number in range(4):
            work = partial(
                streamed_raw_moments,
                low=np.full(5, -2.0),
                high=np.full(5, 2.0),
                shift=np.full(5, float(number)),
                label_shift=0.0,
            )
            if number == 2:
                killed = next(iter(client.run(os.getpid).values()))
                os.kill(killed, signal.SIGKILL)
            found, peer = rows.total(work), wanted.total(work)
            for one, other in zip(found.sums + found.most, peer.sums + peer.most, strict=True):
                assert_allclose(one, other, rtol=1e-12, atol=1e-12)
        assert killed not in client.run(os.getpid).values()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_a_worker_killed_during_a_fit_does_not_change_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """The worker dies between two passes over the rows, with the blocks that it held."""
    distributed = pytest.importorskip("distributed")
    import dask.array

    generator = np.random.default_rng(0)
    X = generator.standard_normal((900, 5))
    y = np.abs(X[:, 0] + X[:, 1]) + 0.1 * generator.standard_normal(900)
    settings = {"max_directions": 1, "n_neurons": 20, "width": 30, "streaming": True}
    wanted = GiantStepRegressor(**settings).fit(X, y).predict(X)
    passes, killed = [], []
    total = DaskRows.total
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster) as client,
    ):

        def interrupted(rows: DaskRows, work: object) -> object:
            passes.append(work)
            if len(passes) == 5:
                killed.append(next(iter(client.run(os.getpid).values())))
                os.kill(killed[0], signal.SIGKILL)
            return total(rows, work)

        monkeypatch.setattr(DaskRows, "total", interrupted)
        found = GiantStepRegressor(**settings).fit(dask.array.from_array(X, (200, 5)), y)
        assert len(passes) > 10
        assert killed[0] not in client.run(os.getpid).values()
    assert_allclose(found.predict(X), wanted, rtol=1e-6, atol=1e-6)
