"""The population risk: closed kernels against series, quadrature, and a large test set."""

from __future__ import annotations

import numpy as np
import pytest

from giantstep.errors import SettingsError
from giantstep.language.activations.activation import Activation, activation
from giantstep.language.problem import Problem
from giantstep.learners.giant_step.population_risk import (
    trained_feature_kernel,
    trained_label_moments,
    trained_network_risk,
)

DIM, WIDTH = 30, 20


def layer(seed: int = 0, spike: float = 1.5) -> np.ndarray:
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((WIDTH, DIM)) / np.sqrt(DIM)
    rows[:, 0] += 0.8 * spike * rng.choice([-1, 1], WIDTH)
    rows[:, 5] += 0.6 * spike
    return rows


@pytest.mark.parametrize("name", ["erf2", "relu"])
def test_series_against_closed_kernels(name: str) -> None:
    sigma = activation(name)
    nameless = Activation("unknown", sigma.numpy, sigma.jax, sigma.kinks)
    np.testing.assert_allclose(
        trained_feature_kernel(nameless, layer()), trained_feature_kernel(sigma, layer()), atol=1e-8
    )


@pytest.mark.parametrize("spike", [0.0, 1.5, 6.0])
def test_label_moments_of_a_linear_target(spike: float) -> None:
    """E[h sigma(<w, x>)] = w_1 E sigma'(|w| z), by Stein's lemma."""
    rows = layer(spike=spike)
    found = trained_label_moments(Problem.of("h1"), activation("erf2"), rows, np.eye(1, DIM))
    slope = np.sqrt(2 / np.pi / (1 + np.sum(rows**2, axis=1)))
    np.testing.assert_allclose(found, rows[:, 0] * slope, atol=1e-9)


@pytest.mark.parametrize(
    ("target", "name"),
    [
        ("sin(h1)", "tanh"),
        ("relu(h1) + 0.2", "relu"),
        ("sign(h1)", "sign"),
        ("sin(h1) + h1*h2", "tanh"),
        ("relu(h1) + abs(h2)", "erf2"),
        ("h1 + h2*h3 + h2", "z + 0.3*He2(z)"),
    ],
)
def test_against_a_large_test_set(target: str, name: str) -> None:
    problem, sigma, rows = Problem.of(target), activation(name), layer(1)
    rng = np.random.default_rng(2)
    readout = rng.standard_normal(WIDTH) / WIDTH
    rank = problem.target.rank
    found = trained_network_risk(problem, sigma, rows, np.eye(rank, DIM), readout)
    x = rng.standard_normal((200_000, DIM))
    squares = (problem.target.numpy(x[:, :rank]) - sigma.numpy(x @ rows.T) @ readout) ** 2
    error = squares.std() / np.sqrt(len(squares))
    assert error < 0.01 * found
    assert abs(squares.mean() - found) < 4 * error


def test_rotated_directions() -> None:
    """The risk depends on angles alone, also where no target direction is an axis."""
    problem, sigma, rows = Problem.of("sin(h1) + h2/2"), activation("tanh"), layer(3)
    readout = np.full(WIDTH, 0.1)
    turn = np.linalg.qr(np.random.default_rng(0).standard_normal((DIM, DIM)))[0]
    axes = np.eye(2, DIM)
    plain = trained_network_risk(problem, sigma, rows, axes, readout)
    turned = trained_network_risk(problem, sigma, rows @ turn, axes @ turn, readout)
    assert turned == pytest.approx(plain, rel=1e-9)


def test_too_many_directions() -> None:
    with pytest.raises(SettingsError, match="at most 3"):
        trained_label_moments(
            Problem.of("h1*h2*h3*h4"), activation("tanh"), layer(), np.eye(4, DIM)
        )
