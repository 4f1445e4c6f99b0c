from __future__ import annotations

import pytest

from giantstep.errors import SettingsError
from giantstep.settings.giant_step import GiantStep


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("dim", 0),
        ("dim", -5),
        ("dim", "ten"),
        ("dim", 2.5),
        ("width", 0),
        ("width", "-3"),
        ("width", float("nan")),
        ("samples", "4n"),
        ("step_size", "n^2"),
        ("steps", -1),
        ("ridge", -0.1),
        ("ridge", float("nan")),
        ("biases", "some"),
        ("batches", "old"),
        ("loss", "hinge"),
        ("method", "fast"),
        ("detrend", "yes"),
        ("readout", "2:0.5,3:0.4"),
        ("readout", "random"),
        ("readout", "1,nan"),
        ("readout", "1,-1,1"),
        ("readout_samples", "-1d"),
    ],
)
def test_a_bad_setting_is_named(field: str, value: object) -> None:
    with pytest.raises(SettingsError, match=field) as caught:
        GiantStep(**{field: value})
    assert "\n" not in str(caught.value)


def test_finite_support_of_the_readout() -> None:
    settings = GiantStep(readout="-1:0.3,0.5:0.3,2:0.4")
    assert settings.readout_support() == ((-1.0, 0.5, 2.0), (0.3, 0.3, 0.4))
    assert GiantStep(readout="normal").readout_support() is None


def test_readouts_of_the_neurons_one_by_one() -> None:
    settings = GiantStep(width=4, readout="1,-1,1,0.5")
    assert settings.readout_support() == ((-1.0, 0.5, 1.0), (0.25, 0.25, 0.5))
    assert not settings.readout_is_random
    assert GiantStep(readout="-2", width="1d").readout_support() == ((-2.0,), (1.0,))
    with pytest.raises(SettingsError, match="4 values for 5 neurons"):
        settings.replace(width=5)
    with pytest.raises(SettingsError, match="grows with d: give width 4"):
        settings.replace(width="1d")


def test_settings_are_plain_and_repeatable() -> None:
    settings = GiantStep(dim="1e3", samples="4d", ridge="0.1", readout_samples="2d")
    again = GiantStep(**settings.to_json())
    assert again == settings
    assert settings.dim == 1000
    assert settings.replace(width=3).width.coefficient == 3


def test_a_schedule_has_one_size_per_step() -> None:
    written = GiantStep(steps=2, samples="8d/2d", step_size="2*d^0.25/1")
    assert written == GiantStep(steps=2, samples=("8d", "2d"), step_size=("2d^0.25", 1))
    assert written.to_json()["step_size"] == "2*d^0.25/1"
    assert GiantStep(**written.to_json()) == written
    assert [size.at(16) for size in written.step_size.over(2)] == [4.0, 1.0]
    assert GiantStep(samples=("3d",)).samples == GiantStep(samples="3d").samples


def test_a_list_of_schedules_is_a_sweep() -> None:
    settings = GiantStep(steps=2, step_size="1/2,3/1", samples=["8d", ("4d", "2d")])
    points = [(str(point.samples), str(point.step_size)) for point in settings.points]
    assert points == [("8d", "1/2"), ("8d", "3/1"), ("4d/2d", "1/2"), ("4d/2d", "3/1")]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"samples": "d/2"}, "half of d is written 0.5d"),
        ({"steps": 2, "step_size": "1/2/3"}, "has 3 values, one per step"),
        ({"steps": 2, "step_size": "1//"}, "step_size = '' is not a size|has 3 values"),
        ({"steps": 2, "step_size": (1, -1)}, "not positive"),
        ({"steps": 2, "step_size": ()}, "0 values"),
        ({"steps": 2, "samples": "4d/2d", "batches": "reused"}, "one number of samples"),
        ({"steps": 2, "samples": "4d/2d", "step_size": "2*n^0.3"}, "is in samples"),
        ({"width": "1d/2d"}, "is not a size"),
    ],
)
def test_schedules_that_cannot_be(changes: dict[str, object], said: str) -> None:
    with pytest.raises(SettingsError, match=said):
        GiantStep(**changes)
