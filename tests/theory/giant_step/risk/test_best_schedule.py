"""The best schedule of several steps, and what they buy over one on as many samples."""

from __future__ import annotations

import numpy as np
import pytest

from giantstep.errors import NoTheory, SettingsError
from giantstep.language.problem import Problem
from giantstep.settings.giant_step import GiantStep
from giantstep.theory.giant_step.prediction import predict
from giantstep.theory.giant_step.risk.best_schedule import best_schedule
from giantstep.theory.one_step.best_sizes import best_sizes

PROBLEM = Problem.of("sin(h1)")
SETTINGS = GiantStep(
    activation="tanh",
    readout="ones",
    samples="2d",
    steps=2,
    width="1d",
    readout_samples="2d",
    ridge=0.1,
)


def risk(settings: GiantStep) -> float:
    return float(predict(PROBLEM, settings).metrics["test_error"][-1])


def test_the_best_schedule() -> None:
    best = best_schedule(PROBLEM, SETTINGS, ("step_size",))
    least = risk(best.settings)
    assert least == pytest.approx(best.errors[2], rel=1e-3)
    first, second = (size.coefficient for size in best.settings.step_size.each)
    for other in ((1.3 * first, second), (first / 1.3, second), (first, 1.3 * second)):
        assert risk(best.settings.replace(step_size=other)) > least
    # One step on all samples, found by another search.
    alone = best_sizes(PROBLEM, SETTINGS.replace(steps=1, samples="4d"), ("step_size",))
    assert best.errors[1] == pytest.approx(alone.test_error, rel=2e-3)
    assert np.all(np.diff(best.errors) < 0)
    assert any("2 steps on 2d" in note for note in best.notes())


def test_what_cannot_be_optimised() -> None:
    with pytest.raises(SettingsError, match="use step_size, ridge or both"):
        best_schedule(PROBLEM, SETTINGS, ("samples",))
    with pytest.raises(NoTheory, match="fresh batches"):
        best_schedule(PROBLEM, SETTINGS.replace(batches="reused"))
    with pytest.raises(NoTheory, match="ridge is missing"):
        best_schedule(PROBLEM, SETTINGS.replace(ridge=None))
