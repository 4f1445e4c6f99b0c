"""Moments of h given a label, by preimages, noisy grids and random lines."""

from __future__ import annotations

import math

import numpy as np
import pytest

from giantstep.channels.label_law import LabelMoments
from giantstep.channels.label_law.branches import (
    label_preimage_moments,
    single_label_branch,
)
from giantstep.channels.label_law.noisy import noisy_label_moments, smeared_label_classes
from giantstep.channels.label_law.slices import Effort, Slicing, sliced_label_moments
from giantstep.theory.learnability.later_thresholds import sandwich_spectrum


def correlations(found: LabelMoments) -> np.ndarray:
    squares = (found.moments[0] ** 2 / found.mass[:, None]).sum(axis=0)
    return squares / [math.factorial(sum(j)) for j in found.indices]


def test_preimages_of_an_injective_function_tell_everything() -> None:
    found = label_preimage_moments(single_label_branch(lambda h: h + 0.3 * np.sin(h), [], 6))
    np.testing.assert_allclose(correlations(found), 1.0, atol=1e-9)


def test_atoms_are_classes() -> None:
    found = label_preimage_moments(single_label_branch(lambda h: np.maximum(h, 0.0), [0.0], 2))
    assert found.mass.max() == pytest.approx(0.5)
    np.testing.assert_allclose(correlations(found), [1, 0.5 + 1 / math.pi, 0.5], atol=1e-10)


@pytest.mark.parametrize("frequency", [2.0, 3.0, 5.0])
def test_waves_obey_the_poisson_formula(frequency: float) -> None:
    """E[h^2 - 1 | cos(m h)] = -2 m^2 exp(-m^2/2) cos(m h), up to relative order exp(-m^2/2)."""
    found = label_preimage_moments(single_label_branch(lambda h: np.cos(frequency * h), [], 2))
    first = frequency**4 * math.exp(-(frequency**2))
    tolerance = 5 * math.exp(-(frequency**2)) * first + 1e-11
    assert correlations(found)[2] == pytest.approx(first, abs=tolerance)


def test_a_function_that_oscillates_too_much_is_refused() -> None:
    assert label_preimage_moments(single_label_branch(lambda h: np.sin(90 * h), [], 2)) is None


def test_little_noise_is_no_noise() -> None:
    noisy = correlations(
        noisy_label_moments(single_label_branch(lambda h: np.cos(2 * h), [], 4), 1e-5)
    )
    clean = correlations(
        label_preimage_moments(single_label_branch(lambda h: np.cos(2 * h), [], 4))
    )
    np.testing.assert_allclose(noisy, clean, atol=2e-3)
    assert np.all(noisy[1:] <= clean[1:] + 1e-12)


def test_a_grid_too_coarse_for_the_noise_is_refused() -> None:
    assert noisy_label_moments(single_label_branch(lambda h: h**4, [], 4), 1e-10) is None


def test_much_noise_leaves_the_correlation_with_the_label() -> None:
    variance = 400.0
    found = correlations(noisy_label_moments(single_label_branch(lambda h: h, [], 2), variance))
    assert found[1] == pytest.approx(1 / (1 + variance), rel=1e-10)


def test_two_classes_in_noise() -> None:
    """P(+1 | y) = (1 + tanh(y / variance)) / 2 for labels +-1 of equal weight."""
    moments = np.array([[0.5, 0.3], [0.5, -0.3]])
    found = smeared_label_classes([-1.0, 1.0], ((0,), (1,)), moments, 0.7)
    y, weight = np.polynomial.hermite_e.hermegauss(80)
    mean = np.sum(weight * np.tanh((1 + math.sqrt(0.7) * y) / 0.7) ** 2) / np.sum(weight)
    assert correlations(found)[1] == pytest.approx(0.36 * mean, rel=1e-8)


def test_random_lines_are_unbiased_and_independent() -> None:
    """For y = h1 h2: E[h1 h2 | y] = y, so the product of two replicas averages to E y^2 = 1."""
    problem = Slicing(lambda h: h[..., 0] * h[..., 1], 2, ((), ()))
    values = []
    for seed in range(6):
        found = sliced_label_moments(problem, 2, Effort(150, 150, 150, replicas=2), seed)
        one, two = found.moments[:, :, found.indices.index((1, 1))]
        values.append(float(np.sum(one * two / found.mass)))
    sem = np.std(values, ddof=1) / math.sqrt(len(values))
    assert sem < 0.002
    assert abs(np.mean(values) - 1) < 9.1 * sem + 0.002


def test_lines_know_kinks_on_any_surface() -> None:
    """The same label law for sign(h1 h2) + h1, sliced with aligned kinks or as surfaces."""

    def function(h: np.ndarray) -> np.ndarray:
        return h[..., 0] + np.sign(h[..., 1] - h[..., 2])

    surface = Slicing(function, 3, ((), (), ()), (lambda h: h[..., 1] - h[..., 2],))
    found = sliced_label_moments(surface, 1, Effort(400, 150, 60, replicas=2), seed=0)
    turned = found.moments[:, :, 2] - found.moments[:, :, 3]
    strength = float(np.sum(turned[0] * turned[1] / found.mass)) / 2
    z, w = np.polynomial.hermite_e.hermegauss(200)
    expected = 2 / math.pi * float(w @ np.tanh(1 + z) ** 2) / float(w.sum())
    assert strength == pytest.approx(expected, rel=5e-3)


def test_sandwich_of_a_swap() -> None:
    """G = c [[0, 1], [1, 0]]: M -> G M G has the eigenvalues c^2, c^2 and -c^2."""
    swap = 0.7 * np.array([[0.0, 1.0], [1.0, 0.0]])
    values, _ = sandwich_spectrum(np.multiply.outer(swap, swap))
    np.testing.assert_allclose(values, [-0.49, 0.49, 0.49])
