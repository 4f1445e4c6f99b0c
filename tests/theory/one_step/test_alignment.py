"""Alignment, spike and bulk of one step: reference values and the terms for E[y] and mu_2."""

from __future__ import annotations

import numpy as np
import pytest

from giantstep.language.activations.activation import activation
from giantstep.language.problem import Problem
from giantstep.theory.learnability.staircase import one_step_direction
from giantstep.theory.one_step.alignment import (
    StepSignal,
    alignment,
    bulk_variance,
    gradient_norm,
    spike_strength,
)


def signal(target: str, sigma: str, noise: float = 0.0) -> StepSignal:
    return StepSignal.of(Problem.of(target, noise=noise), activation(sigma))


def test_published_constants_of_tanh_and_sine() -> None:
    found = signal("sin(h1)", "tanh")
    assert found.mu_1 == pytest.approx(0.605706, abs=1e-6)
    assert found.linear == pytest.approx(0.606531, abs=1e-6)
    assert found.power == pytest.approx(0.432332, abs=1e-6)
    assert found.slope_variance == pytest.approx(0.0975236, abs=2e-7)
    assert spike_strength(found, 20.0, 3.0) == pytest.approx(1.134056, abs=1e-6)
    assert bulk_variance(found, 20.0, 3.0) == pytest.approx(1.018973, abs=1e-6)
    assert alignment(found, 20.0) == pytest.approx(0.971854, abs=1e-6)


@pytest.mark.parametrize(
    ("sigma", "target", "step", "bulk"),
    [
        ("tanh", "sin(h1)", 2.5, 1.1318),
        ("relu", "relu(h1)", 1.5, 1.6751),
        ("relu", "h1 + He2(h1)/sqrt(2)", 1.5, 1.5625),
    ],
)
def test_bulk_variance_with_mean_labels(sigma: str, target: str, step: float, bulk: float) -> None:
    assert bulk_variance(signal(target, sigma), 2.0, step) == pytest.approx(bulk, rel=1e-4)


def test_spike_and_alignment_of_a_smaller_batch() -> None:
    found = signal("sin(h1)", "tanh")
    assert spike_strength(found, 2.0, 2.5) == pytest.approx(1.1572, rel=1e-4)
    assert alignment(found, 2.0) == pytest.approx(0.7937, rel=1e-4)


def test_label_noise_and_start_output_enter_the_power() -> None:
    noisy = signal("relu(h1)", "relu", noise=0.3)
    shifted = StepSignal.of(Problem.of("relu(h1)", noise=0.3), activation("relu"), 0.25)
    assert noisy.power == pytest.approx(0.5 + 0.3)
    mean = 1 / np.sqrt(2 * np.pi)
    assert shifted.mean == pytest.approx(mean - 0.25)
    assert shifted.power == pytest.approx(0.8 - 2 * 0.25 * mean + 0.25**2)


def test_learned_direction_is_the_mean_gradient() -> None:
    direction, weight = one_step_direction(Problem.of("sin(h1) - 2*h2 + h1*h3").target)
    expected = np.array([np.exp(-0.5), -2.0, 0.0])
    assert weight == pytest.approx(np.linalg.norm(expected))
    np.testing.assert_allclose(direction, expected / weight, atol=1e-12)


def test_target_without_linear_part_is_not_aligned() -> None:
    found = signal("He2(h1)", "tanh")
    assert alignment(found, 3.0) == 0.0
    assert gradient_norm(found, 3.0) == pytest.approx(np.sqrt(2 / 3))


def test_a_gradient_step_has_these_numbers() -> None:
    """One real step at d = 400: the mean spike, bulk and cosine over 6 draws."""
    rng, dim, batch, step = np.random.default_rng(3), 400, 800, 2.5
    seen = []
    for _ in range(6):
        rows = rng.standard_normal((400, dim))
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        x = rng.standard_normal((batch, dim))
        y = np.sin(x[:, 0])
        rows += step / batch * ((1 - np.tanh(rows @ x.T) ** 2) * y) @ x
        b = x.T @ y
        v = b / np.linalg.norm(b)
        spikes = rows @ v
        seen.append([spikes.mean(), np.mean(np.sum(rows**2, axis=1) - spikes**2), v[0]])
    found = signal("sin(h1)", "tanh")
    theory = [spike_strength(found, 2.0, step), bulk_variance(found, 2.0, step)]
    np.testing.assert_allclose(np.mean(seen, axis=0), [*theory, alignment(found, 2.0)], rtol=0.015)
