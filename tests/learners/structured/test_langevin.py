"""Langevin dynamics: its stationary law, and the parities that it learns from few samples."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import chi2

from giantstep.errors import SettingsError
from giantstep.learners.structured.langevin import simulate
from giantstep.problem import Problem
from giantstep.settings.langevin import Langevin
from giantstep.theory.structured.langevin import stationary_variance

XOR = Problem("sign(h1*h2)", inputs="hypercube")


def test_the_stationary_law_without_a_loss() -> None:
    """A tiny radius switches the loss off; every coordinate is then N(0, v) and independent."""
    settings = Langevin(
        **{"dim": 10, "samples": 4, "width": 900, "steps": 100, "radius": 1e-6, "decay": 0.5},
        **{"temperature": 0.2, "last_temperature": 0.2, "step_size": 0.5, "test_samples": 10},
    )
    run = simulate(XOR, settings, seeds=2)
    count = 2 * 900 * 8
    low, high = chi2.ppf([1e-4 / 2, 1 - 1e-4 / 2], count) / count
    expected = stationary_variance(0.5, 0.2, 0.5)
    found = float(np.mean(run.metrics["particle_variance"]))
    assert low < found / expected < high
    # A variance that is off by 5 %, as that of continuous time is here, would be noticed.
    assert expected / stationary_variance(0.5) == pytest.approx(1 / 0.95)
    assert high < 1.05
    assert low > 0.95


@pytest.mark.slow
def test_a_boost_helps_with_parities() -> None:
    """At d = 20 a parity of two is learned from 50 samples with a boost of d, not without."""
    options = {"dim": 20, "samples": 50, "width": 300, "steps": 2000}
    plain = simulate(XOR, Langevin(**options), seeds=1)
    boosted = simulate(
        Problem("sign(h1*h2)", inputs="hypercube:boost=d"), Langevin(**options), seeds=1
    )
    assert np.all(boosted.metrics["accuracy"] > 0.95)
    assert np.all(plain.metrics["accuracy"] < 0.8)
    energy = boosted.metrics["free_energy"]
    assert energy.shape == (1, 20)
    assert np.all(np.isfinite(energy))
    assert np.all(boosted.metrics["train_loss"] < 0.1)
    np.testing.assert_allclose(boosted.metrics["accuracy"], 1 - boosted.metrics["test_error"])


def test_labels_must_be_signs() -> None:
    with pytest.raises(SettingsError, match="needs labels -1 and 1"):
        simulate(Problem("h1"), Langevin(dim=5))
    with pytest.raises(SettingsError, match="run away"):
        Langevin(step_size=100)
