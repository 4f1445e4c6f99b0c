from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.special

from giantstep.errors import SettingsError
from giantstep.language.activations.activation import NAMED, activation
from giantstep.numerics.float64 import by_blocks
from giantstep.settings.giant_step import GiantStep


def test_moments_in_closed_form() -> None:
    relu, erf2, he3 = activation("relu"), activation("erf2"), activation("He3")
    np.testing.assert_allclose(
        relu.hermite(4),
        [1 / np.sqrt(2 * np.pi), 0.5, 1 / np.sqrt(2 * np.pi), 0, -0.3989422804],
        atol=1e-10,
    )
    assert relu.mu_star_squared == pytest.approx(0.25 - 1 / (2 * np.pi), abs=1e-12)
    assert erf2.second_moment == pytest.approx(1 / 3, abs=1e-12)
    assert erf2.hermite(1)[1] == pytest.approx(1 / np.sqrt(np.pi), abs=1e-12)
    np.testing.assert_allclose(he3.hermite(4), [0, 0, 0, 6, 0], atol=1e-10)


def test_published_constants() -> None:
    tanh = activation("tanh")
    variance = tanh.derivative_second_moment - tanh.hermite(1)[1] ** 2
    # By 25-digit quadrature; the papers' code prints 0.605706 and 0.0975236.
    assert tanh.hermite(1)[1] == pytest.approx(0.6057055096021588, abs=1e-13)
    assert variance == pytest.approx(0.0975237380858573, abs=1e-13)


@pytest.mark.parametrize("name", sorted(NAMED))
def test_numpy_and_jax_agree_with_the_derivative(name: str) -> None:
    sigma = activation(name)
    z = np.linspace(-3.01, 3.07, 41)
    step = 1e-6
    np.testing.assert_allclose(
        np.asarray(sigma.jax(jnp.asarray(z, dtype=jnp.float32))),
        sigma.numpy(z),
        rtol=2e-4,
        atol=2e-4 * np.abs(sigma.numpy(z)).max(),
    )
    central = (sigma.numpy(z + step) - sigma.numpy(z - step)) / (2 * step)
    scale = 1 + np.abs(central).max()
    np.testing.assert_allclose(sigma.numpy_derivative(z), central, atol=1e-6 * scale)


def test_shift_is_a_bias() -> None:
    shifted = activation("relu").shifted(-1.0)
    np.testing.assert_allclose(shifted.hermite(5), activation("relu(z-1)").hermite(5), atol=1e-12)
    assert shifted.hermite(4)[4] == pytest.approx(0, abs=1e-12)


def test_any_jax_function_will_do() -> None:
    swish = activation(jax.nn.silu)
    assert swish.hermite(1)[1] == pytest.approx(0.5, abs=1e-12)
    assert swish.derivative(jnp.zeros((2, 3))).shape == (2, 3)


@pytest.mark.parametrize(
    ("text", "function"),
    [
        ("silu", jax.nn.silu),
        ("swish", jax.nn.silu),
        ("mish", jax.nn.mish),
        ("elu", jax.nn.elu),
        ("elu(z, 0.5)", lambda z: jax.nn.elu(z, 0.5)),
        ("leaky_relu(z, .1)", lambda z: jax.nn.leaky_relu(z, 0.1)),
        ("leaky_relu", jax.nn.leaky_relu),
        ("hardtanh", jax.nn.hard_tanh),
    ],
)
def test_functions_of_other_libraries(text: str, function: Callable[[Any], Any]) -> None:
    z = np.linspace(-4.03, 4.01, 57)
    np.testing.assert_allclose(activation(text).numpy(z), np.asarray(function(z)), atol=1e-6)


@pytest.mark.parametrize(
    ("function", "name"),
    [
        (np.tanh, "tanh"),
        (np.absolute, "abs"),
        (scipy.special.expit, "sigmoid"),
        (jax.nn.relu, "relu"),
        (jax.nn.leaky_relu, "leaky_relu"),
        (jnp.sin, "sin"),
    ],
)
def test_functions_that_have_a_name_here_are_taken_by_it(
    function: Callable[[Any], Any], name: str
) -> None:
    assert activation(function) is activation(name)
    assert GiantStep(activation=function).activation == name


def test_functions_without_a_name_are_followed_by_jax_or_refused() -> None:
    # This gelu is another one than ours, by up to 1e-3.
    approximate = activation(jax.nn.gelu).numpy(np.array([1.0]))
    assert approximate == pytest.approx(0.8411920, abs=1e-6)
    assert activation(np.arctan).hermite(1)[1] == pytest.approx(0.6556795424, abs=1e-9)
    with pytest.raises(SettingsError, match="JAX cannot follow this function"):
        activation(lambda z: np.tanh(z))
    with pytest.raises(SettingsError, match="acts on each entry"):
        activation(jnp.sum)


@pytest.mark.parametrize("given", ["rleu", "", "h1", "tanh(z", "__import__('os')", 3, None])
def test_unknown_activations_are_refused_in_one_line(given: object) -> None:
    with pytest.raises(SettingsError, match="activation") as caught:
        activation(given)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("tanh", range(1, 20, 2)),
        ("sin", range(1, 20, 2)),
        ("cos", range(0, 21, 2)),
        ("relu", (0, 1, *range(2, 21, 2))),
        ("He3", (3,)),
        ("1e-6*tanh(z)", range(1, 20, 2)),
    ],
)
def test_degrees_are_those_of_the_function_however_high(name: str, expected: Iterable[int]) -> None:
    """An even coefficient of tanh of degree 20 is rounding, times sqrt(20!)."""
    assert activation(name).degrees(20) == tuple(expected)


@pytest.mark.parametrize(
    ("name", "is_straight"),
    [
        ("relu", True),
        ("abs", True),
        ("hardtanh", True),
        ("leaky_relu(z, .2)", True),
        ("min(max(z, -2), relu(z))", True),
        ("relu(z-20)", False),  # its kink is too far out to be known
        ("max(z, z**2-5)", False),
        ("tanh", False),
    ],
)
def test_slopes_of_straight_pieces_are_those_of_jax(name: str, is_straight: bool) -> None:
    sigma = activation(name)
    assert (sigma.level_slopes is not None) == is_straight
    z = np.concatenate([np.linspace(-30, 30, 997), sigma.kinks])
    first, second = sigma._compiled_derivatives
    assert np.array_equal(sigma.numpy_derivative(z), by_blocks(first, z))
    assert np.array_equal(sigma.numpy_second_derivative(z), by_blocks(second, z))
