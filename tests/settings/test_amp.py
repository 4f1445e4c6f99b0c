"""Settings of message passing and of spectral methods: ranges, shares, samples per dimension."""

from __future__ import annotations

import pytest

from giantstep.errors import SettingsError
from giantstep.settings.amp import Amp
from giantstep.settings.ratios import setting_over_dim
from giantstep.settings.spectral import Spectral


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"start": "warm"}, "start"),
        ({"form": "nishimori"}, "form"),
        ({"dtype": "float16"}, "dtype"),
        ({"damping": 1.0}, "damping"),
        ({"damping": -0.1}, "damping"),
        ({"start_overlap": 1.0}, "start_overlap"),
        ({"start_overlap": 0.0}, "start_overlap"),
        ({"start_size": 0.0}, "start_size"),
        ({"tolerance": 0.0}, "tolerance"),
        ({"iterations": 0}, "iterations"),
        ({"samples": "-1d"}, "samples"),
        ({"samples": 0}, "samples"),
        ({"dim": 0}, "dim"),
    ],
)
def test_what_cannot_be_is_refused(change: dict[str, object], named: str) -> None:
    with pytest.raises(SettingsError, match=named) as refusal:
        Amp(**change)
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize(
    "change", [{"method": "power"}, {"clip": 0.0}, {"samples": "0d"}, {"dim": "many"}]
)
def test_spectral_refuses_too(change: dict[str, object]) -> None:
    with pytest.raises(SettingsError, match=next(iter(change))):
        Spectral(**change)


@pytest.mark.parametrize("learner", [Amp, Spectral])
def test_samples_per_dimension(learner: type[Amp] | type[Spectral]) -> None:
    assert setting_over_dim(learner(samples="2.5d"), "samples") == 2.5
    assert setting_over_dim(learner(samples=300, dim=200), "samples") == 1.5
    assert setting_over_dim(learner(samples="d^1.5", dim=100), "samples") == pytest.approx(10)
    with pytest.raises(SettingsError, match="proportional to d"):
        setting_over_dim(learner(samples=300), "samples")
