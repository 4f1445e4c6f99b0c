"""Moments of the labels given the learned projection: closed forms, kinks, rotations."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from giantstep import GiantStep, SpikedRandomFeatures
from giantstep.asking.verbs import predict
from giantstep.errors import NoTheory
from giantstep.language.targets import Target
from giantstep.theory.spiked_random_features.conditional_labels import (
    Latents,
    SpikedLabels,
    spiked_label_moments,
)

KAPPA = np.linspace(-3.0, 3.0, 13)
ONE = np.ones_like(KAPPA)


def moments(
    text: str, learned: list[float], alignment: float, dim: float = 1e12, radius: float = 1.0
) -> SpikedLabels:
    latents = Latents.of(Target(text), np.array(learned) / np.linalg.norm(learned))
    return spiked_label_moments(latents, alignment, KAPPA, radius * ONE, dim)


@pytest.mark.parametrize("alignment", [0.0, 0.3, 0.9, 0.99999, 1.0])
def test_closed_form_of_the_sine(alignment: float) -> None:
    found = moments("sin(h1)", [1.0], alignment)
    sine = np.sqrt(1 - alignment**2)
    shrunk = np.exp(-(sine**2) / 2)
    np.testing.assert_allclose(found.mean, shrunk * np.sin(alignment * KAPPA), atol=1e-12)
    if alignment < 1:
        slope = sine * shrunk * np.cos(alignment * KAPPA)
        np.testing.assert_allclose(found.slope, slope[None], atol=1e-12)
    else:
        assert found.slope.shape == (0, len(KAPPA))
    power = (1 - np.exp(-2 * sine**2) * np.cos(2 * alignment * KAPPA)) / 2
    np.testing.assert_allclose(found.power, power, atol=1e-12)


@pytest.mark.parametrize("alignment", [0.2, 0.8, 0.999])
def test_closed_form_of_a_kink(alignment: float) -> None:
    from scipy.special import ndtr

    found = moments("relu(h1)", [1.0], alignment)
    sine, centre = np.sqrt(1 - alignment**2), alignment * KAPPA
    below = ndtr(centre / sine)
    bell = np.exp(-((centre / sine) ** 2) / 2) / np.sqrt(2 * np.pi)
    np.testing.assert_allclose(found.mean, centre * below + sine * bell, atol=1e-11)
    np.testing.assert_allclose(found.slope[0], sine * below, atol=1e-11)


def test_rotation_of_the_latent_basis() -> None:
    """A function of one oblique direction is a single-index target."""
    oblique = moments("tanh((3*h1 + 4*h2)/5)", [3.0, 4.0], 0.6)
    single = moments("tanh(h1)", [1.0], 0.6)
    np.testing.assert_allclose(oblique.mean, single.mean, atol=1e-6)
    np.testing.assert_allclose(oblique.slope[0], single.slope[0], atol=1e-6)
    np.testing.assert_allclose(oblique.slope[1], 0.0, atol=1e-12)
    np.testing.assert_allclose(oblique.power, single.power, atol=1e-6)


def test_directions_across_enter_one_by_one() -> None:
    found = moments("h1 + h1*h2 + h3**2", [1.0, 0.0, 0.0], 0.6)
    np.testing.assert_allclose(found.mean, 0.6 * KAPPA + 1, atol=1e-10)
    np.testing.assert_allclose(found.slope, [0.8 * ONE, 0.6 * KAPPA, 0 * ONE], atol=1e-10)
    # Orthonormal polynomials of degree two: three squares, then the products 12, 13, 23.
    curve = [0 * ONE, 0 * ONE, np.sqrt(2) * ONE, 0.8 * ONE, 0 * ONE, 0 * ONE]
    np.testing.assert_allclose(found.curve, curve, atol=1e-6)


def test_noise_inside_the_label_is_averaged() -> None:
    found = moments("h1 + 0.5*z1", [1.0], 0.6)
    np.testing.assert_allclose(found.mean, 0.6 * KAPPA, atol=1e-12)
    np.testing.assert_allclose(found.power, (0.6 * KAPPA) ** 2 + 0.64 + 0.25, atol=1e-10)


def test_energy_is_kept_at_finite_dimension() -> None:
    """E over kappa and the length of x of the power is E[g^2], whatever the dimension."""
    from giantstep.theory.spiked_random_features.finite_size import SpikedGrid

    grid = SpikedGrid.of("second-chaos", 60.0, (0.0,))
    latents = Latents.of(Target("relu(h1)"), np.ones(1))
    found = spiked_label_moments(latents, 0.8, grid.kappa, grid.radius, 60.0)
    assert grid.weights @ found.power == pytest.approx(0.5, rel=1e-6)


def test_too_many_directions() -> None:
    text = "+".join(f"h{i}" for i in range(1, 8))
    with pytest.raises(NoTheory, match="7 directions"):
        moments(text, [1.0] * 7, 0.5)


@pytest.mark.parametrize("settings", [SpikedRandomFeatures(), GiantStep(width="1d", ridge=1.0)])
def test_a_target_too_fast_for_the_nodes_is_refused(settings: Any) -> None:
    """Labels of power .5 counted as .12 or .60: the error of sin(20*h1) was .064, or .596."""
    with pytest.raises(NoTheory, match="faster than the nodes"):
        predict(settings, "sin(20*h1)")
