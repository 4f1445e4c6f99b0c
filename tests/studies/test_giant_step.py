"""A study of a real learner: the same rows from both engines, and the same as `simulate` gives."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from giantstep.settings.giant_step import GiantStep
from giantstep.studies.results import Results
from giantstep.studies.study import Study
from giantstep.twins.verbs import predict, simulate

SETTINGS = GiantStep(dim=40, width=10)
TARGET = "h1 + He2(h1)"


@pytest.mark.slow
def test_giant_steps_on_both_engines(
    content: Callable[[Results], list[Any]], tmp_path: Path
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
    local = study.run(store=tmp_path / "local.sqlite", workers=1)
    dask = study.run(store=tmp_path / "dask.sqlite", workers=2, engine="dask")
    assert local.counts() == (10, 10, 0, 0), [row.error for row in local.rows()]
    assert content(dask) == content(local)

    data = local.dataset().sel(step_size=2)
    point = SETTINGS.replace(step_size=2)
    run, theory = simulate(point, TARGET, seeds=4), predict(point, TARGET)
    np.testing.assert_allclose(data.overlap, run.metrics["overlap"], rtol=1e-4)
    np.testing.assert_allclose(data.cosines, run.arrays["cosines"], rtol=1e-3, atol=1e-5)
    np.testing.assert_allclose(data.overlap_theory, theory.metrics["overlap"], rtol=1e-6)
