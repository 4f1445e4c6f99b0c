"""Settings of `spiked-random-features`: what can be read, and what an error says."""

from __future__ import annotations

import pytest

from giantstep.errors import SettingsError
from giantstep.settings.ratios import setting_over_dim
from giantstep.settings.spiked_random_features import SpikedRandomFeatures


def test_blocks() -> None:
    assert SpikedRandomFeatures(spike=1.2, bulk=1.05).blocks() == ((1.2,), (1.05,), (1.0,))
    settings = SpikedRandomFeatures(spike="-2:0.4,2:0.6", bulk="1.1,1.3")
    assert settings.blocks() == ((-2.0, 2.0), (1.1, 1.3), (0.4, 0.6))
    assert settings.replace(bulk="1").blocks()[1] == (1.0, 1.0)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"spike": "a"}, "spike = 'a'"),
        ({"spike": "1,2"}, "value:fraction"),
        ({"spike": "1:0.5,2:0.6"}, "sum to 1"),
        ({"spike": "nan"}, "spike = 'nan'"),
        ({"bulk": "1,2"}, "one for each of the 1 blocks"),
        ({"bulk": "-1"}, "positive"),
        ({"alignment": 1.2}, "cosine"),
        ({"alignment": -0.1}, "alignment"),
        ({"ridge": 0}, "ridge"),
        ({"ridge": "inf"}, "finite"),
        ({"dim": 2}, "dim"),
    ],
)
def test_errors_name_the_argument(changes: dict[str, object], message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        SpikedRandomFeatures(**changes)


def test_json_round_trip() -> None:
    settings = SpikedRandomFeatures(spike="-2:0.4,2:0.6", width="2d", dim=50)
    assert SpikedRandomFeatures(**settings.to_json()) == settings


def test_ratios() -> None:
    settings = SpikedRandomFeatures(width="1.5d", readout_samples=400)
    assert setting_over_dim(settings, "width") == 1.5
    assert setting_over_dim(settings.replace(dim=200), "readout_samples") == 2.0
    with pytest.raises(SettingsError, match="proportional"):
        setting_over_dim(settings, "readout_samples")
