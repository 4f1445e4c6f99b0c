"""Measured exponents: right on average, with errors that tell how far they are off."""

from __future__ import annotations

import numpy as np
import pytest

from giantstep.numerics.scaling import (
    first_step_of_size,
    fit_power,
    power_fit_of_samples,
    sample_median,
)

SIZES = np.array([64.0, 128.0, 256.0, 512.0, 1024.0])


def test_exponents_scatter_as_their_standard_errors_say() -> None:
    rng = np.random.default_rng(1)
    errors = 0.05 * SIZES**-0.5
    fits = [
        fit_power(SIZES, SIZES**-0.5 + errors * rng.standard_normal(5), errors) for _ in range(400)
    ]
    off = np.array([(fit.slope + 0.5) / (0.05 / np.sqrt(np.sum(_log_spread()))) for fit in fits])
    assert np.std(off) == pytest.approx(1.0, abs=0.12)
    assert abs(np.mean(off)) < 0.2
    # The reported error is never below what the dots say, and the residual test is fair.
    assert min(fit.sem for fit in fits) == pytest.approx(0.05 / np.sqrt(np.sum(_log_spread())), 0.1)
    assert 0.02 < np.mean([fit.p < 0.05 for fit in fits]) < 0.09


def _log_spread() -> np.ndarray:
    return (np.log(SIZES) - np.log(SIZES).mean()) ** 2


def test_a_bent_curve_is_reported_as_no_power() -> None:
    bent = fit_power(SIZES, 1 + SIZES / 200, np.full(5, 0.01))
    assert bent.p is not None
    assert bent.p < 1e-6
    assert "residuals are larger" in str(bent)
    straight = fit_power(SIZES, 3 * SIZES**0.25, np.full(5, 0.01))
    assert straight.slope == pytest.approx(0.25, abs=1e-12)
    assert "residuals" not in str(straight)


def test_runs_become_one_number_for_each_size() -> None:
    rng = np.random.default_rng(2)
    signed = rng.standard_normal((5, 400)) * SIZES[:, None] ** -0.5
    found = power_fit_of_samples(SIZES, signed, average="root mean square")
    assert found.slope == pytest.approx(-0.5, abs=4 * found.sem)
    assert found.sem < 0.03
    times = 2.5 * np.log(SIZES)[:, None] + rng.uniform(-1, 1, (5, 200))
    times[:, :3] = np.inf
    found = power_fit_of_samples(SIZES, times, average="median", along="logarithm")
    assert found.slope == pytest.approx(2.5, abs=4 * found.sem)
    assert found.sem < 0.1


def test_first_steps_and_medians_know_runs_that_never_arrive() -> None:
    paths = [[0.1, 0.4, 0.6], [0.1, -0.7, 0.6], [0.0, 0.1, 0.2]]
    assert first_step_of_size(paths, 0.5).tolist() == [2.0, 1.0, np.inf]
    assert sample_median(np.array([1.0, 2.0, 3.0, 4.0, np.inf]))[0] == 3.0
