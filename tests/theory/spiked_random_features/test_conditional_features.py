"""Moments of a neuron given the learned projection: closed forms, kinks, finite dimension."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import erf, ndtr

from giantstep.errors import SettingsError
from giantstep.language.activations.activation import activation
from giantstep.language.problem import Problem
from giantstep.settings.spiked_random_features import SpikedRandomFeatures
from giantstep.theory.spiked_random_features.conditional_features import (
    LIMIT,
    conditional_feature_moments,
    single_site_cumulants,
)
from giantstep.theory.spiked_random_features.prediction import predict

SHIFT = np.linspace(-6.0, 6.0, 25)[None, :]


@pytest.mark.parametrize("bulk", [0.5, 1.0, 2.3])
def test_closed_form_of_erf(bulk: float) -> None:
    scale = np.full_like(SHIFT, np.sqrt(bulk))
    found = conditional_feature_moments(activation("erf2"), SHIFT, scale, LIMIT)
    mean = erf(SHIFT / np.sqrt(2 * (1 + bulk)))
    slope = np.sqrt(2 * bulk / (np.pi * (1 + bulk))) * np.exp(-(SHIFT**2) / (2 * (1 + bulk)))
    np.testing.assert_allclose(found.mean, mean, atol=1e-10)
    np.testing.assert_allclose(found.slope, slope, atol=1e-10)


@pytest.mark.parametrize("bulk", [0.5, 1.0, 2.3])
def test_closed_form_of_relu(bulk: float) -> None:
    root = np.sqrt(bulk)
    found = conditional_feature_moments(activation("relu"), SHIFT, np.full_like(SHIFT, root), LIMIT)
    below, bell = ndtr(SHIFT / root), np.exp(-(SHIFT**2) / (2 * bulk)) / np.sqrt(2 * np.pi)
    np.testing.assert_allclose(found.mean, SHIFT * below + root * bell, atol=1e-10)
    np.testing.assert_allclose(found.slope, root * below, atol=1e-10)
    power = (SHIFT**2 + bulk) * below + SHIFT * root * bell
    np.testing.assert_allclose(found.power, power, atol=1e-9)
    np.testing.assert_allclose(found.curve, root * bell / np.sqrt(2), atol=1e-10)


def test_closed_form_of_sign() -> None:
    one = np.ones_like(SHIFT)
    found = conditional_feature_moments(activation("sign"), SHIFT, one, LIMIT)
    np.testing.assert_allclose(found.mean, erf(SHIFT / np.sqrt(2)), atol=1e-10)
    np.testing.assert_allclose(
        found.slope, np.sqrt(2 / np.pi) * np.exp(-(SHIFT**2) / 2), atol=1e-10
    )


def test_a_projection_can_be_asked_for() -> None:
    settings = SpikedRandomFeatures(activation="erf", spike="0.8", bulk="1.5", kappa=-1.25)
    asked = predict(Problem.of("sin(h1)"), settings).metrics
    # erf(t + sqrt(1.5) z) has the mean erf(t/sqrt(1 + 2 (1.5))) and the slope of that, sqrt(1.5).
    assert asked["feature_mean"] == pytest.approx(erf(-1 / 2), abs=1e-10)
    steep = 2 / np.sqrt(np.pi) * np.exp(-1 / 4) / 2 * np.sqrt(1.5)
    assert asked["feature_slope"] == pytest.approx(steep, abs=1e-10)
    with pytest.raises(SettingsError, match="one spike"):
        SpikedRandomFeatures(spike="1:0.5,2:0.5", kappa=1.0)


def test_reference_values_of_tanh() -> None:
    kappa = np.array([[0.0, 1.0, 2.0]])
    found = conditional_feature_moments(activation("tanh"), 0.9 * kappa, np.ones_like(kappa), LIMIT)
    noise = np.sqrt(found.power - found.mean**2 - found.slope**2)
    np.testing.assert_allclose(found.mean, [[0, 0.504129, 0.822464]], atol=1e-6)
    np.testing.assert_allclose(found.slope, [[0.605706, 0.475639, 0.234241]], atol=1e-6)
    np.testing.assert_allclose(noise, [[0.165576, 0.209723, 0.185588]], atol=1e-6)


@pytest.mark.parametrize("name", ["tanh", "relu", "z + 0.3*He3(z)"])
def test_finite_dimension_averages_over_the_sphere(name: str) -> None:
    """A coordinate of the sphere in d - 1 dimensions, against Gauss-Jacobi quadrature."""
    from scipy.special import roots_jacobi

    dim, shift, scale = 20.0, 0.7, 1.2
    nu = dim - 1
    nodes, weights = roots_jacobi(4000, (nu - 3) / 2, (nu - 3) / 2)
    z, law = np.sqrt(nu) * nodes, weights / weights.sum()
    values = activation(name).numpy(shift + scale * z)
    found = conditional_feature_moments(
        activation(name), np.array([[shift]]), np.array([[scale]]), dim
    )
    curve = law @ (values * (z**2 - 1)) / np.sqrt(law @ (z**2 - 1) ** 2)
    expected = [law @ values, law @ (values * z), curve, law @ values**2]
    np.testing.assert_allclose([x[0, 0] for x in found], expected, rtol=2e-6)


def test_cumulants_of_the_square() -> None:
    """psi = z^2 - 1 for sigma = z^2: moments of a chi-square variable."""
    one = np.ones((1, 1))
    square = activation("z^2")
    fourth, third, second = single_site_cumulants(square, 0 * one, one, LIMIT)
    assert fourth[0, 0] == pytest.approx(60 - 3 * 4, rel=1e-8)
    assert third[0, 0] == pytest.approx(0.0, abs=1e-8)
    assert second[0, 0] == pytest.approx(8.0, rel=1e-8)
    shifted = single_site_cumulants(square, 2 * one, one, LIMIT)
    assert shifted[0][0, 0] == pytest.approx(48.0, rel=1e-6)
