"""The learner `spiked-random-features`: what it draws, and that runs are reproducible."""

from __future__ import annotations

import numpy as np
import pytest

from giantstep.errors import SettingsError
from giantstep.language.inputs import Sphere
from giantstep.language.problem import Problem
from giantstep.learners.spiked_random_features import draw_spiked_rows, simulate, spike_direction
from giantstep.settings.spiked_random_features import SpikedRandomFeatures

SINE = Problem.of("sin(h1)", noise=0.1)
SMALL = SpikedRandomFeatures(spike="-1:0.25,2:0.75", bulk="1.2,0.9", alignment=0.6, dim=40)


def test_rows_have_their_spikes_and_norms() -> None:
    direction = spike_direction(SINE, 0.6, 40)
    rows = draw_spiked_rows(SMALL, direction, np.random.default_rng(0))
    spikes = np.repeat([-1.0, 2.0], [10, 30])
    bulk = rows - spikes[:, None] * direction
    expected = np.repeat([1.2, 0.9], [10, 30])
    np.testing.assert_allclose(np.sum(bulk**2, axis=1), expected)
    assert np.linalg.norm(direction) == pytest.approx(1.0)
    assert direction[0] == pytest.approx(0.6)


def test_direction_follows_the_mean_gradient() -> None:
    direction = spike_direction(Problem.of("3*h1 + 4*h2 + h1*h2"), 0.5, 10)
    assert direction[:2] == pytest.approx([0.3, 0.4])
    assert spike_direction(Problem.of("He2(h1)"), 1.0, 10)[0] == 1.0
    with pytest.raises(SettingsError, match="dim"):
        spike_direction(SINE, 0.5, 1)


def test_runs_do_not_depend_on_how_many_there_are() -> None:
    shown: list[float] = []
    three = simulate(SINE, SMALL, seeds=3, progress=shown.append)
    two = simulate(SINE, SMALL, seeds=2, seed=1)
    np.testing.assert_array_equal(three.metrics["test_error"][1:], two.metrics["test_error"])
    assert shown == pytest.approx([1 / 3, 2 / 3, 1])
    noisy = three.metrics["test_error_noisy"] - three.metrics["test_error"]
    np.testing.assert_allclose(noisy, 0.1)
    assert np.all(three.metrics["train_error"] > 0)


def test_refusals() -> None:
    with pytest.raises(SettingsError, match="dim is missing"):
        simulate(SINE, SMALL.replace(dim=None))
    with pytest.raises(SettingsError, match="inputs"):
        simulate(Problem.of("h1", inputs=Sphere()), SMALL)
