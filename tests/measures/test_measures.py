from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from giantstep import measures


def random_cosines(seed: int, neurons: int = 12, rank: int = 3) -> np.ndarray:
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((neurons, 20))
    return measures.cosines(rows[:, :rank], np.linalg.norm(rows, axis=-1))


def rotation(seed: int, rank: int) -> np.ndarray:
    return np.linalg.qr(np.random.default_rng(seed).standard_normal((rank, rank)))[0]


@given(st.integers(0, 10**6))
def test_overlaps_are_the_diagonal_and_turn_with_the_basis(seed: int) -> None:
    cosines = random_cosines(seed)
    matrix = measures.overlap_matrix(cosines)
    np.testing.assert_allclose(measures.overlap(cosines) ** 2, np.diag(matrix), atol=1e-15)
    turn = rotation(seed + 1, 3)
    turned = measures.overlap_matrix(cosines @ turn)
    np.testing.assert_allclose(turned, turn.T @ matrix @ turn, atol=1e-14)
    np.testing.assert_allclose(
        measures.overlap_spectrum(turned)[0], measures.overlap_spectrum(matrix)[0], atol=1e-7
    )


@given(st.integers(0, 10**6))
def test_neurons_may_be_permuted_and_flipped(seed: int) -> None:
    cosines = random_cosines(seed)
    rng = np.random.default_rng(seed)
    other = rng.permutation(cosines) * rng.choice([-1.0, 1.0], (len(cosines), 1))
    np.testing.assert_allclose(
        measures.overlap_matrix(other), measures.overlap_matrix(cosines), atol=1e-14
    )


def test_spectrum_is_sorted_and_diagonalises() -> None:
    matrix = measures.overlap_matrix(random_cosines(0))
    roots, vectors = measures.overlap_spectrum(matrix)
    assert np.all(np.diff(roots) <= 0)
    np.testing.assert_allclose(vectors @ np.diag(roots**2) @ vectors.T, matrix, atol=1e-14)


@given(st.floats(1e-9, np.pi / 2 - 1e-6), st.integers(0, 10**6))
def test_angle_of_a_known_plane(theta: float, seed: int) -> None:
    turn = rotation(seed, 4)
    first, second, third, _ = turn
    tilted = np.stack([first, np.cos(theta) * second + np.sin(theta) * third])
    matrix = 0.5 * np.outer(first, first) + 0.3 * np.outer(second, second)
    matrix += 0.01 * np.outer(third, third)
    assert measures.angle(matrix, tilted) == pytest.approx(theta, abs=1e-7)


def test_angles_to_nothing_and_to_everything_vanish() -> None:
    matrices = measures.overlap_matrix(random_cosines(3))[None].repeat(5, axis=0)
    assert np.all(measures.angle(matrices, np.zeros((0, 3))) == 0)
    np.testing.assert_allclose(measures.angle(matrices, rotation(1, 3)), 0, atol=1e-7)


def test_noise_baseline_is_what_pure_noise_shows() -> None:
    """A gradient of shuffled signs has the baseline's overlap, and not d^-1/2."""
    rng = np.random.default_rng(5)
    dim, samples, repeats = 50, 400, 3000
    inputs = rng.standard_normal((repeats, samples, dim))
    pulls = (inputs[..., 0] ** 3 - 3 * inputs[..., 0]) * rng.choice([-1, 1], (repeats, samples))
    gradients = (pulls[:, None, :] @ inputs)[:, 0]
    shown = np.mean(gradients[:, 0] ** 2) / np.mean(np.sum(gradients**2, axis=-1))
    moments = np.array([[[np.mean(pulls**2 * inputs[..., 0] ** 2), np.mean(pulls**2)]]])
    predicted = measures.overlap_of_noise(moments, dim)[0, 0] ** 2
    # E[He3^2 h^2] / E[He3^2] = 7, spread over d - 1 + 7 dimensions instead of d.
    assert predicted == pytest.approx(7 / dim, rel=0.02)
    assert shown == pytest.approx(7 / (dim + 6), rel=0.1)
