"""The law of the readout: closed forms, cells that converge, errors that are told."""

from __future__ import annotations

import numpy as np
import pytest
from isotropic_step import isotropic_risk
from scipy.integrate import quad
from scipy.stats import norm

from giantstep.language.activations.activation import activation
from giantstep.language.problem import Problem
from giantstep.settings.giant_step import GiantStep
from giantstep.theory.giant_step.prediction import predict as predict_step
from giantstep.theory.giant_step.start_law import (
    expected_readout_ratio,
    limit_gaussian_readouts,
    limit_readout_moments,
    readout_blocks,
    readout_nodes,
)

NORMAL = GiantStep(
    activation="tanh", readout="normal", samples="4d", step_size=3, width="1d",
    readout_samples="2d", ridge=0.1,
)  # fmt: skip


@pytest.mark.parametrize("scale", [1e-4, 0.009, 0.011, 0.3, 3.0, 100.0])
def test_ratios_of_quadratics_against_adaptive_quadrature(scale: float) -> None:
    numerator = np.array([0.2, 0.3 * scale, 0.7 * scale**2])
    denominator = np.array([1.0, 0.4 * scale, scale**2])

    def ratio(a: float) -> float:
        powers = np.array([1.0, a, a**2])
        return norm.pdf(a) * (powers @ numerator) / (powers @ denominator)

    points = [-0.2 / scale, 0.0]
    expected = sum(
        quad(ratio, low, high, points=[x for x in points if low < x < high], epsabs=1e-13)[0]
        for low, high in ((-9, -1), (-1, 1), (1, 9))
    )
    found = expected_readout_ratio(numerator[:, None], denominator[:, None])[0]
    assert found == pytest.approx(expected, abs=1e-10)


@pytest.mark.parametrize("step", [0.5, 5.0, 30.0])
@pytest.mark.parametrize("sigma", ["tanh", "relu"])
def test_overlaps_of_a_gaussian_readout_are_exact(sigma: str, step: float) -> None:
    """cos^2 = s a^2 / (1 + (s + v) a^2): 20 Gauss-Hermite nodes are off by 3 % at step 5."""
    mu_1 = float(activation(sigma).hermite(1)[1])
    slope = activation(sigma).derivative_second_moment
    linear, power = np.exp(-0.5), (1 - np.exp(-2)) / 2 + 0.3
    signal, noise = (step * mu_1 * linear) ** 2, step**2 * slope * power / 2

    def squared(a: float) -> float:
        return 2 * norm.pdf(a) * signal * a**2 / (1 + (signal + noise) * a**2)

    expected = np.sqrt(quad(squared, 0, 0.5)[0] + quad(squared, 0.5, 9)[0])
    settings = GiantStep(
        activation=sigma,
        readout="normal",
        samples="2d",
        step_size=step,
        loss="correlation",
        width="1d",
    )
    found = predict_step(Problem.of("sin(h1)", noise=0.3), settings)
    assert found.metrics["overlap"][1, 0] == pytest.approx(expected, rel=1e-9)
    if (sigma, step) == ("tanh", 5.0):
        assert expected == pytest.approx(0.53729, abs=5e-6)


@pytest.mark.slow
def test_two_steps_on_one_batch_tell_their_error() -> None:
    settings = GiantStep(
        activation="tanh", readout="normal", samples="3d", step_size=1, steps=2,
        batches="reused", loss="correlation",
    )  # fmt: skip
    found = predict_step(Problem.of("He3(h1)"), settings)
    error = found.errors["overlap"][2, 0]
    # Panels of half the length give 0.1124453, 20 Gauss-Hermite nodes 0.1108.
    assert abs(found.metrics["overlap"][2, 0] - 0.1124453) < error < 1e-4


def test_cells_keep_the_law() -> None:
    for cells in (4, 16, 64):
        values, fractions = limit_gaussian_readouts(cells)
        assert fractions.sum() == pytest.approx(1.0)
        assert fractions @ values == pytest.approx(0.0, abs=1e-12)
        assert fractions @ values**2 == pytest.approx(1.0)
        # Cells of the least distortion are crowded as the cube root of the density.
        inner = np.cumsum(fractions)[:-1]
        edges = np.sqrt(3) * norm.ppf(np.arange(1, cells) / cells)
        np.testing.assert_allclose(norm.ppf(inner), edges, atol=1e-12)
    values, fractions = limit_readout_moments(NORMAL, 9)
    assert fractions @ values**6 == pytest.approx(15.0)


def test_a_finite_support_is_itself() -> None:
    settings = NORMAL.replace(readout="-1:0.3,2:0.7")
    for blocks in (readout_blocks(settings), limit_readout_moments(settings)):
        np.testing.assert_allclose(blocks, [[-1.0, 2.0], [0.3, 0.7]])
    assert readout_nodes(settings) == [(-1.0, 0.3), (2.0, 0.7)]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("sigma", "target", "step", "converged"),
    [("sin", "h1 + h1*h2", 3.0, 1.8790), ("tanh", "sin(h1)", 3.0, 0.07884)],
)
def test_the_risk_converges_in_the_cells(
    sigma: str, target: str, step: float, converged: float
) -> None:
    """Nine Gauss-Hermite blocks give 2.511 and 0.0816."""
    problem, settings = Problem.of(target), NORMAL.replace(activation=sigma, step_size=step)
    few, found, many = (isotropic_risk(problem, settings, None, k) for k in (8, 16, 24))
    assert found == pytest.approx(converged, rel=1e-3)
    assert abs(many - found) < abs(few - found) < 2e-3 * converged
