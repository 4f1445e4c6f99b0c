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
    with pytest.raises(SettingsError, match="grows with d: give --width 4"):
        settings.replace(width="1d")


def test_settings_are_plain_and_repeatable() -> None:
    settings = GiantStep(dim="1e3", samples="4d", ridge="0.1", readout_samples="2d")
    again = GiantStep(**settings.to_json())
    assert again == settings
    assert settings.dim == 1000
    assert settings.replace(width=3).width.coefficient == 3
