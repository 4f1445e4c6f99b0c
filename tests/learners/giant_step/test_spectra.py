"""Simulated spectra: what they hold."""

from __future__ import annotations

import numpy as np
import pytest

from giantstep.errors import SettingsError
from giantstep.language.problem import Problem
from giantstep.learners.giant_step.spectra import (
    simulate_feature_spectrum,
    simulate_stepped_layer,
    simulate_weight_spectrum,
)
from giantstep.settings.giant_step import GiantStep
from giantstep.settings.spiked_random_features import SpikedRandomFeatures

SINE = Problem.of("sin(h1)")
STEP = GiantStep(
    activation="tanh", readout="sign", samples="8d", step_size=2, width="1d",
    readout_samples="2d", dim=80,
)  # fmt: skip


def test_a_giant_step_adds_one_direction() -> None:
    layer = simulate_stepped_layer(SINE, STEP)
    assert layer.weights.shape == (80, 80)
    assert layer.learned[0] ** 2 > 0.5
    spectrum = simulate_weight_spectrum(SINE, STEP)
    assert len(spectrum.values) == 80
    assert np.all(np.diff(spectrum.values) <= 0)
    assert spectrum.values[0] > 2 * spectrum.values[1]
    for name in ("left", "right"):
        assert spectrum.overlaps[name][0] > 0.9
    assert spectrum.overlaps["target"][0] == pytest.approx(layer.learned[0] ** 2, abs=0.1)


def test_features_have_one_large_eigenvalue() -> None:
    for settings in (STEP, SpikedRandomFeatures(spike="-2:0.5,2:0.5", dim=80)):
        spectrum = simulate_feature_spectrum(SINE, settings)
        assert spectrum.values[0] > 5 * spectrum.values[1]
        assert spectrum.overlaps["blocks"][0] > 0.9


def test_a_spectrum_without_bins() -> None:
    spectrum = simulate_feature_spectrum(SINE, STEP)
    x = np.array([-1.0, spectrum.values[40], 1e9])
    np.testing.assert_allclose(spectrum.cumulative(x), [0.0, 0.5, 1.0])


def test_refusals() -> None:
    with pytest.raises(SettingsError, match="readout_samples"):
        simulate_feature_spectrum(SINE, STEP.replace(readout_samples=None))
    with pytest.raises(SettingsError, match="dim"):
        simulate_feature_spectrum(SINE, SpikedRandomFeatures())
