"""Singular values of the stepped layer: reference values, closed forms, a block law."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from giantstep.language.activations.activation import activation
from giantstep.language.problem import Problem
from giantstep.theory.one_step.alignment import StepSignal, alignment, gradient_norm
from giantstep.theory.one_step.weight_spectrum import (
    RowLaw,
    bulk_edges,
    critical_step,
    residual_strength,
    singular_value_density,
    weight_outlier,
)

SIGNAL = StepSignal.of(Problem.of("relu(h1)"), activation("tanh"))


@pytest.mark.parametrize(
    ("ratio", "samples", "step", "strength", "value", "left", "right", "target"),
    [
        (1.5, 2.0, 4.0, 1.7132, 2.4385, 0.5465, 0.6160, 0.3080),
        (0.5, 2.0, 3.0, 1.2849, 1.8584, 0.6267, 0.5085, 0.2543),
        (1.5, 2.0, 2.5, 1.0707, 2.2247, 0.0, 0.0, 0.0),
        (0.5, 4.0, 2.0, 0.7418, 1.7071, 0.0, 0.0, 0.0),
    ],
)
def test_reference_values(
    ratio: float,
    samples: float,
    step: float,
    strength: float,
    value: float,
    left: float,
    right: float,
    target: float,
) -> None:
    theta = step * SIGNAL.mu_1 * gradient_norm(SIGNAL, samples)
    outlier = weight_outlier(theta, ratio)
    assert theta == pytest.approx(strength, rel=1e-4)
    assert outlier.value == pytest.approx(value, rel=1e-4)
    assert (outlier.left, outlier.right) == pytest.approx((left, right), abs=1e-4)
    assert alignment(SIGNAL, samples) ** 2 * outlier.right == pytest.approx(target, abs=1e-4)
    assert outlier.separated == (theta > ratio**0.25)


@settings(max_examples=50)
@given(st.floats(0.2, 5.0), st.floats(0.05, 20.0))
def test_closed_form_of_equal_rows(ratio: float, strength: float) -> None:
    outlier, square = weight_outlier(strength, ratio), strength**2
    if strength <= ratio**0.25 * (1 + 1e-6):
        if strength < ratio**0.25 * (1 - 1e-6):
            assert not outlier.separated
            assert outlier.value == pytest.approx(1 + np.sqrt(ratio), rel=1e-9)
        return
    assert outlier.value**2 == pytest.approx((1 + square) * (ratio + square) / square, rel=1e-9)
    assert outlier.left == pytest.approx(
        1 - ratio * (1 + square) / (square * (square + ratio)), abs=1e-8
    )
    assert outlier.right == pytest.approx(1 - (ratio + square) / (square * (square + 1)), abs=1e-8)


@settings(max_examples=12)
@given(st.floats(0.2, 5.0))
def test_marchenko_pastur(ratio: float) -> None:
    low, high = bulk_edges(ratio)
    assert high == pytest.approx(1 + np.sqrt(ratio), rel=1e-9)
    assert low == pytest.approx(abs(1 - np.sqrt(ratio)), abs=1e-6)
    s, density = singular_value_density(ratio)
    assert np.trapezoid(density, s) == pytest.approx(min(1, 1 / ratio), abs=2e-3)
    assert np.trapezoid(density * s**2, s) == pytest.approx(1.0, abs=2e-3)


@pytest.mark.parametrize("ratio", [1e-6, 1 - 1e-6, 1 + 1e-7, 1e8])
def test_edges_of_extreme_shapes(ratio: float) -> None:
    low, high = bulk_edges(ratio)
    assert high == pytest.approx(1 + np.sqrt(ratio), rel=1e-9)
    assert low == pytest.approx(abs(1 - np.sqrt(ratio)), rel=1e-6, abs=1e-12)
    rows = RowLaw(np.array([1.0, 1.5]), np.array([0.5, 0.5]), np.ones(2))
    assert low <= bulk_edges(ratio, rows)[0] <= np.sqrt(1.5) * low


@pytest.mark.parametrize("strength", [1e-300, 1e-8, 1e-3])
def test_a_spike_of_no_strength_leaves_no_outlier(strength: float) -> None:
    outlier = weight_outlier(strength, 1.5)
    assert not outlier.separated
    assert outlier.value == pytest.approx(1 + np.sqrt(1.5), rel=1e-9)


def test_equal_blocks_are_one_block() -> None:
    halves = RowLaw(np.full(2, 1.3), np.array([0.4, 0.6]), np.array([1.0, 2.0]))
    whole = RowLaw(np.full(1, 1.3), np.ones(1), np.ones(1))
    assert weight_outlier(2.0, 1.5, halves) == pytest.approx(weight_outlier(2.0, 1.5, whole))
    # A bulk of variance c scales all singular values by sqrt(c).
    scaled = weight_outlier(2.0 / np.sqrt(1.3), 1.5)
    assert weight_outlier(2.0, 1.5, whole).value == pytest.approx(np.sqrt(1.3) * scaled.value)


def test_unequal_blocks_against_a_matrix() -> None:
    rows = RowLaw(np.array([1.0, 1.8]), np.array([0.4, 0.6]), np.array([0.25, 1.0]))
    rng, dim, ratio, strength = np.random.default_rng(5), 500, 1.5, 3.0
    width = int(ratio * dim)
    counts = [int(0.4 * width), width - int(0.4 * width)]
    left = np.repeat([0.5, 1.0], counts)
    left /= np.linalg.norm(left)
    bulk = rng.standard_normal((width, dim)) / np.sqrt(dim)
    bulk *= np.sqrt(np.repeat(rows.bulks, counts))[:, None]
    bulk[:, 0] += strength * left
    u, s, vt = np.linalg.svd(bulk, full_matrices=False)
    outlier = weight_outlier(strength, ratio, rows)
    low, high = bulk_edges(ratio, rows)
    assert s[0] == pytest.approx(outlier.value, rel=0.02)
    assert (u[:, 0] @ left) ** 2 == pytest.approx(outlier.left, abs=0.03)
    assert vt[0, 0] ** 2 == pytest.approx(outlier.right, abs=0.03)
    assert s[1] == pytest.approx(high, rel=0.02)
    assert s[-1] == pytest.approx(low, abs=0.02)


def test_critical_step_is_where_the_outlier_leaves() -> None:
    gradient = gradient_norm(SIGNAL, 2.0)
    step = critical_step(gradient, SIGNAL.mu_1, 1.5)
    assert not weight_outlier(0.999 * step * SIGNAL.mu_1 * gradient, 1.5).separated
    assert weight_outlier(1.001 * step * SIGNAL.mu_1 * gradient, 1.5).separated


def test_residual_correction() -> None:
    sigma = activation("tanh")
    theta = residual_strength(4.0, SIGNAL.mu_1, sigma.second_moment, 0.5, 0.5, 2.0)
    assert theta**2 + 1 == pytest.approx(4.311, rel=2e-4)
    assert weight_outlier(theta, 1.5).value == pytest.approx(2.503, rel=4e-4)


def test_infinite_spike() -> None:
    outlier = weight_outlier(np.inf, 1.5)
    assert outlier.value == np.inf
    assert (outlier.left, outlier.right) == (1.0, 1.0)
    assert not weight_outlier(0.0, 1.5).separated
