"""Components of the rows to second order: their moments, and what they change."""

from __future__ import annotations

import numpy as np
import pytest

from giantstep.language.activations.activation import activation
from giantstep.language.problem import Problem
from giantstep.theory.giant_step.risk.components import risk_on_krylov_space
from giantstep.theory.giant_step.risk.finite_size import component_ratio
from giantstep.theory.giant_step.risk.first_layer import FirstLayer, Neurons
from giantstep.theory.giant_step.risk.gradient_step import limit_layers
from giantstep.theory.giant_step.risk.pencil import Pencil
from giantstep.theory.giant_step.risk.readout import Fit, Readout, learned
from giantstep.theory.giant_step.risk.solution import readout_risk


def layer_of(target: str, name: str, readout: tuple[float, ...] = (1.0,)) -> FirstLayer:
    problem, sigma = Problem.of(target), activation(name)
    *_, layer = limit_layers(
        problem, sigma, Neurons.of(readout), step_sizes=[1.0], samples_ratios=[4.0]
    )
    return layer


def test_moments_that_no_covariance_has_are_refused() -> None:
    """Ten columns and a link that was fitted ended in NaN, far from here."""
    with pytest.raises(np.linalg.LinAlgError, match="no covariance has the second moments"):
        risk_on_krylov_space(np.array([0.5, -0.7, -204.0]).reshape(3, 1, 1))
    assert risk_on_krylov_space(np.array([2.0, 5.0, 14.0]).reshape(3, 1, 1)) == pytest.approx(
        np.array([[2.0, 1.0], [1.0, 2.0]])
    )


def test_moments_of_a_quadratic_step() -> None:
    """A = 1 + 2 t S, S = X^T diag(He_2(h)) X / n_0, with phi = 1/4: by hand."""
    layer = layer_of("He2(h1)", "He2", (1.0, -1.0))
    frame = np.eye(layer.means.shape[1])[:, :1]
    moments, squares, crossed = Pencil(layer).moments(frame)
    # h^T A^2 h = (1 + 2t E[y h^2])^2 + 4 t^2 phi E[y^2 h^2].
    assert moments[:, 0, 0, 0] == pytest.approx([35.0, 19.0], rel=1e-9)
    # tr A^4/d = 1 + 6 (2t)^2 k_2 + 4 (2t)^3 k_3 + (2t)^4 (k_4 + 2 k_2^2), k_n = phi^(n-1) E[y^n].
    first = 1 + 24 * 0.5 + 32 * 0.5 + 16 * (60 / 64 + 2 * 0.25)
    assert squares == pytest.approx([first, first - 2 * 32 * 0.5], rel=1e-6)
    assert crossed[0, 0] == pytest.approx(moments[0, 1], rel=1e-9)


def test_moments_are_those_of_a_large_batch() -> None:
    layer = layer_of("tanh(h1**2)", "softplus")
    frame = np.eye(layer.means.shape[1])[:, :1]
    found = Pencil(layer).moments(frame)[0][0, :, 0, 0]
    rng, dim, samples = np.random.default_rng(3), 400, 1600
    sigma = activation("softplus")
    mu = [float(part) for part in sigma.hermite(2)]
    drawn = []
    for _ in range(12):
        x = rng.standard_normal((samples, dim))
        residual = np.tanh(x[:, 0] ** 2) - mu[0]
        turn = np.eye(dim) + mu[2] * (x.T * residual) @ x / samples
        z = rng.standard_normal(200_000)
        rest = np.var(sigma.numpy_derivative(z)) - mu[2] ** 2
        gamma = turn @ turn + rest * dim / samples * (x.T * residual**2) @ x / samples
        row = gamma[0]
        drawn.append([gamma[0, 0], row @ row, row @ gamma @ row])
    mean, sem = np.mean(drawn, 0), np.std(drawn, 0, ddof=1) / 12**0.5
    assert np.all(np.abs(mean - found) < 5 * sem + 5 / dim * found)
    assert np.all(sem < 0.05 * found)


def test_nothing_is_left_in_the_limit_and_alike_directions_change_nothing() -> None:
    problem, sigma = Problem.of("He2(h1)"), activation("He2")
    plain = Readout(problem, sigma, layer_of("He2(h1)", "He2"))
    far, share = component_ratio(plain, sigma, Fit.of(4.0, 1.0, 0.1, 1e8))
    assert (far.test, far.train) == pytest.approx((1.0, 1.0), abs=1e-4)
    assert share < 1e-6
    fit = Fit.of(4.0, 1.0, 0.1, 1e10)
    alike = Readout(problem, sigma, plain.layer, dim=1e10, alike=True)
    assert readout_risk(alike, fit).test == pytest.approx(readout_risk(plain, fit).test, rel=1e-6)


@pytest.mark.parametrize("paired", [False, True])
def test_the_whole_frame_gives_the_risk_of_one_axis(paired: bool) -> None:
    """Target's directions as points or as hidden normal variables: the same limit."""
    problem, sigma = Problem.of("h1 + h1*h2"), activation("gelu")
    *_, layer = limit_layers(
        problem,
        sigma,
        Neurons.of([1.0, -1.0], paired=paired),
        step_sizes=[1.0],
        samples_ratios=[4.0],
    )
    assert len(learned(problem, layer, whole=True).kappa) == 3
    fit = Fit.of(2.0, 1.0, 0.1, 1e10)
    whole = Readout(problem, sigma, layer, dim=1e10)
    assert len(whole.learned.kappa) == 3
    one = readout_risk(Readout(problem, sigma, layer), fit)
    assert readout_risk(whole, fit).test == pytest.approx(one.test, rel=1e-5)
