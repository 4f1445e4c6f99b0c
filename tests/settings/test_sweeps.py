"""Values as people write them: ranges, lists, and what they make of settings."""

from __future__ import annotations

import pytest

from giantstep.errors import SettingsError
from giantstep.inputs import Inputs
from giantstep.settings.amp import Amp
from giantstep.settings.giant_step import GiantStep
from giantstep.settings.sweeps import axis_values, sweep_of, sweep_values, swept
from giantstep.sizes import Size
from giantstep.sweep import Sweep


def test_ranges_hold_both_ends() -> None:
    assert [s.coefficient for s in sweep_values("1e-4:10:6log", "ridge")] == pytest.approx(
        [1e-4, 1e-3, 1e-2, 0.1, 1, 10]
    )
    assert axis_values("noise", "0:1:3", float) == (0, 0.5, 1)


@pytest.mark.parametrize(
    ("given", "values"),
    [
        ("1d:3d:3", ("d", "2d", "3d")),
        ("1d, 2d,4d", ("d", "2d", "4d")),
        (["d", "d^1.5"], ("d", "d^1.5")),
        ("100:300:3", (100, 200, 300)),
    ],
)
def test_a_setting_with_several_values_makes_a_sweep(
    given: object, values: tuple[object, ...]
) -> None:
    sweep = swept(GiantStep, {"samples": given, "width": "8"})
    assert isinstance(sweep, Sweep)
    assert (sweep.axis, sweep.values) == ("samples", values)
    assert [point.samples for point in sweep] == [Size.parse(value) for value in values]
    assert all(point.width == Size(8.0) for point in sweep)


def test_without_several_values_there_is_no_sweep() -> None:
    assert swept(GiantStep, {"readout": "-1:0.3,2:0.7"}) == GiantStep(readout="-1:0.3,2:0.7")


def test_inputs_are_swept_by_their_strength() -> None:
    found = axis_values("inputs", "spiked:1d:3d:3", Inputs)
    assert found == ("spiked:d", "spiked:2d", "spiked:3d")


@pytest.mark.parametrize("text", ["1:2:0", "1:2:x", "0:1:3log", "1d:2:3", "1:2:999999999999"])
def test_bad_ranges_are_refused(text: str) -> None:
    with pytest.raises(SettingsError):
        sweep_values(text, "samples")


def test_one_sweep_at_a_time() -> None:
    with pytest.raises(SettingsError, match="one setting at a time"):
        swept(GiantStep, {"samples": "1d:3d:3", "ridge": "1:2:3"})
    with pytest.raises(SettingsError, match="cannot depend on d"):
        swept(GiantStep, {"ridge": "1d:2d:3"})


def test_settings_that_differ_in_one_field_are_a_sweep() -> None:
    sweep = sweep_of([GiantStep(step_size=s) for s in (1, 2)])
    assert (sweep.axis, sweep.values) == ("step_size", (1, 2))
    for points, reason in (
        ([GiantStep(), Amp()], "giant-step and amp"),
        ([GiantStep(), GiantStep(steps=2, width=4)], "steps and width"),
        ([GiantStep(), GiantStep()], "differ in nothing"),
    ):
        with pytest.raises(SettingsError, match=reason):
            sweep_of(points)
