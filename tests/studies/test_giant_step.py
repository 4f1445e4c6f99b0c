"""A study of a real learner: the same rows from both engines, and the same as `simulate` gives."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from processes import kept

from giantstep.asking.studies.kept import KeptStudy
from giantstep.asking.studies.study import Study
from giantstep.asking.verbs import predict, simulate
from giantstep.settings.giant_step import GiantStep

SETTINGS = GiantStep(dim=40, width=10)
TARGET = "h1 + He2(h1)"


@pytest.mark.slow
def test_giant_steps_on_both_engines(
    content: Callable[[KeptStudy], list[Any]], tmp_path: Path
) -> None:
    study = Study(
        name="steps",
        learner="giant-step",
        problem=TARGET,
        settings=SETTINGS,
        axes={"step_size": [1, 2]},
        seeds=4,
        together=2,
    )
    local = kept(study, store=tmp_path / "local.sqlite", workers=1)
    dask = kept(study, store=tmp_path / "dask.sqlite", workers=2, engine="dask")
    assert local.counts() == (10, 10, 0, 0), [row.error for row in local.rows()]
    assert content(dask) == content(local)

    data = local.answer().to_xarray().sel(step_size=2)
    point = SETTINGS.replace(step_size=2)
    run, theory = simulate(point, TARGET, seeds=4), predict(point, TARGET)
    np.testing.assert_allclose(data.overlap, run.metrics["overlap"], rtol=1e-4)
    np.testing.assert_allclose(data.cosines, run.arrays["cosines"], rtol=1e-3, atol=1e-5)
    np.testing.assert_allclose(data.overlap_theory, theory.metrics["overlap"], rtol=1e-6)
