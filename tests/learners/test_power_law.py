"""The learner `power-law`: its exact risk, its tail, its seeds."""

from __future__ import annotations

import math

import numpy as np
import pytest

from giantstep.errors import SettingsError
from giantstep.language.problem import NoTarget
from giantstep.learners import power_law
from giantstep.learners.power_law import simulate
from giantstep.settings.power_law import PowerLaw

NOISY = NoTarget(noise=0.05)
SMALL = PowerLaw(samples=40, width=20, ridge=0.1, modes=300)


def test_risk_is_the_sum_over_modes() -> None:
    """Against fresh samples, for the same draw of samples and projections."""
    modes = power_law._drawn_modes(SMALL, 40, 20)
    found = power_law._simulate_once(0.05, 0.1, 40, 20, modes, np.random.default_rng(5))

    rng = np.random.default_rng(5)
    x = rng.standard_normal((40, 300))
    clean = x @ modes.coefficients + 0 * rng.standard_normal(40)
    y = clean + math.sqrt(0.05) * rng.standard_normal(40)
    k = np.arange(1.0, 301)
    rows = rng.standard_normal((20, 300)) * k**-0.75 / 20**0.5
    phi = x @ rows.T
    readout = np.linalg.solve(phi.T @ phi + 0.1 * np.eye(20), phi.T @ y)
    fresh = np.random.default_rng(6).standard_normal((50_000, 300))
    errors = (fresh @ (modes.coefficients - rows.T @ readout)) ** 2
    assert found["test_error"] == pytest.approx(errors.mean(), abs=4 * errors.std() / 50_000**0.5)
    assert found["train_error"] == pytest.approx(np.mean((y - phi @ readout) ** 2), rel=1e-9)
    assert found["norm"] == pytest.approx(readout @ readout / 40, rel=1e-9)


def test_parts_of_the_risk() -> None:
    """Bias and variance are the risks of the two parts of the labels."""
    run = simulate(NOISY, SMALL, seeds=200)
    parts = run.metrics["bias"] + run.metrics["variance"]
    gap = run.metrics["test_error"] - parts
    assert abs(gap.mean()) <= 4 * gap.std() / 200**0.5
    assert simulate(NoTarget(), SMALL, seeds=2).metrics["variance"] == pytest.approx(0)


@pytest.mark.parametrize("width", [None, 60])
def test_modes_beyond_those_drawn_act_as_noise(width: int | None) -> None:
    """A tail that is drawn, and one that is replaced by what it does."""
    drawn = PowerLaw(samples=40, width=width, ridge=0.01, capacity=1.4, modes=6000)
    modes = {
        "all": power_law._drawn_modes(drawn, 1000, 1000),
        "few": power_law._drawn_modes(drawn, 40, 60),
    }
    assert len(modes["all"].variances) == 6000
    assert len(modes["few"].variances) == 2000
    size = math.inf if width is None else width
    found = {
        name: [
            power_law._simulate_once(0.01, 0.01, 40, size, law, np.random.default_rng(seed))
            for seed in range(60)
        ]
        for name, law in modes.items()
    }
    for metric in ("test_error", "train_error", "degrees_of_freedom", "norm"):
        full, cut = (np.array([run[metric] for run in found[name]]) for name in ("all", "few"))
        spread = math.hypot(full.std(), cut.std()) / 60**0.5
        assert abs(full.mean() - cut.mean()) <= 4 * spread + 1e-3 * full.mean()


def test_seeds_and_progress() -> None:
    seen: list[float] = []
    many = simulate(NOISY, SMALL, seeds=4, progress=seen.append)
    few = simulate(NOISY, SMALL, seeds=2, seed=2)
    assert np.array_equal(many.metrics["test_error"][2:], few.metrics["test_error"])
    assert seen[-1] == 1.0


def test_what_a_simulation_refuses() -> None:
    with pytest.raises(SettingsError, match="rates"):
        simulate(NOISY, SMALL.replace(exponents=True, ridge_exponent=1))
