"""Values as people write them: ranges, lists, and what they make of settings."""

from __future__ import annotations

import pytest

from giantstep.errors import SettingsError
from giantstep.language.inputs import Inputs
from giantstep.language.sizes import Size
from giantstep.settings.amp import Amp
from giantstep.settings.giant_step import GiantStep
from giantstep.settings.sweeps import setting_range_values, setting_values, settings_with_values


def test_ranges_hold_both_ends() -> None:
    assert [s.coefficient for s in setting_range_values("1e-4:10:6log", "ridge")] == pytest.approx(
        [1e-4, 1e-3, 1e-2, 0.1, 1, 10]
    )
    assert setting_values("noise", "0:1:3", float) == (0, 0.5, 1)


@pytest.mark.parametrize(
    ("given", "values"),
    [
        ("1d:3d:3", ("d", "2d", "3d")),
        ("1d, 2d,4d", ("d", "2d", "4d")),
        (["d", "d^1.5"], ("d", "d^1.5")),
        ("100:300:3", (100, 200, 300)),
    ],
)
def test_a_setting_with_several_values_makes_a_grid(
    given: object, values: tuple[object, ...]
) -> None:
    settings = GiantStep(samples=given, width="8")
    assert settings.ranges == ["samples"]
    assert [point.samples for point in settings.points] == [Size.parse(value) for value in values]
    assert all(point.width == Size(8.0) for point in settings.points)


def test_without_several_values_there_is_no_grid() -> None:
    assert GiantStep(readout="-1:0.3,2:0.7").ranges == []


def test_several_settings_with_several_values_make_their_product() -> None:
    settings = GiantStep(samples="1d:3d:3", step_size=[1, 2])
    assert settings.ranges == ["samples", "step_size"]
    pairs = [(str(point.samples), str(point.step_size)) for point in settings.points]
    assert pairs == [("d", "1"), ("d", "2"), ("2d", "1"), ("2d", "2"), ("3d", "1"), ("3d", "2")]
    with pytest.raises(SettingsError, match="25000000 combinations"):
        GiantStep(samples="1d:5d:5000", ridge="1:2:5000")


def test_inputs_are_swept_by_their_strength() -> None:
    found = setting_values("inputs", "spiked:1d:3d:3", Inputs)
    assert found == ("spiked:d", "spiked:2d", "spiked:3d")


@pytest.mark.parametrize("text", ["1:2:0", "1:2:x", "0:1:3log", "1d:2:3", "1:2:999999999999"])
def test_bad_ranges_are_refused(text: str) -> None:
    with pytest.raises(SettingsError):
        setting_range_values(text, "samples")


def test_what_is_no_size_cannot_depend_on_d() -> None:
    with pytest.raises(SettingsError, match="cannot depend on d"):
        GiantStep(ridge="1d:2d:3")


def test_settings_that_differ_in_one_field_are_a_sweep() -> None:
    settings = settings_with_values([GiantStep(step_size=s) for s in (1, 2)])
    assert settings == GiantStep(step_size=[1, 2])
    for points, reason in (
        ([GiantStep(), Amp()], "giant-step and amp"),
        ([GiantStep(), GiantStep(steps=2, width=4)], "steps and width"),
        ([GiantStep(), GiantStep()], "differ in nothing"),
    ):
        with pytest.raises(SettingsError, match=reason):
            settings_with_values(points)
