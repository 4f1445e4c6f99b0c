"""The best ridge where the slope is no help, or the risk is not known everywhere."""

from __future__ import annotations

import math

import pytest

from giantstep.errors import NoTheory
from giantstep.language.problem import NoTarget
from giantstep.settings.power_law import PowerLaw
from giantstep.theory.power_law import predict
from giantstep.theory.ridge.optimal_ridge import optimal_ridge


@pytest.mark.parametrize("slope", [math.nan, 1.0], ids=["unknown", "of one sign"])
def test_a_valley_without_a_bracket_of_the_slope(slope: float) -> None:
    best = optimal_ridge(lambda x: x + 4 / x, lambda x: slope)
    assert best.interior
    assert best.ridge == pytest.approx(2.0, rel=1e-4)


def test_risks_that_did_not_converge_are_left_out() -> None:
    best = optimal_ridge(lambda x: math.nan if x < 1 else x + 4 / x, lambda x: 1 - 4 / x**2)
    assert best.ridge == pytest.approx(2.0, rel=1e-9)
    with pytest.raises(NoTheory, match="no finite risk"):
        optimal_ridge(lambda x: math.nan, lambda x: math.nan)


def test_a_root_out_of_range_is_refused() -> None:
    case = PowerLaw(capacity=1.5, source=0.4, samples=200, modes=20, ridge=1e-120)
    with pytest.raises(NoTheory, match="beyond what float64 can hold"):
        predict(NoTarget(), case)
