"""The risk of a given first layer: the exact model as a special case, and a paired simulation."""

from __future__ import annotations

import numpy as np
import pytest

from giantstep.language.activations.activation import activation
from giantstep.language.problem import Problem
from giantstep.theory.giant_step.semi_analytic import semi_analytic_risk
from giantstep.theory.spiked_random_features.finite_size import Blocks
from giantstep.theory.spiked_random_features.risk import spiked_risk


def spiked_layer(dim: int, spike: float, alignment: float, seed: int) -> tuple[np.ndarray, ...]:
    rng, axes = np.random.default_rng(seed), np.eye(dim)
    rows = rng.standard_normal((dim, dim))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    learned = alignment * axes[0] + np.sqrt(1 - alignment**2) * axes[5]
    return rows + spike * learned, learned, axes


@pytest.mark.parametrize(("sigma", "target"), [("tanh", "sin(h1)"), ("relu", "sin(h1) + h1*h2/2")])
def test_isotropic_rows_have_the_exact_risk(sigma: str, target: str) -> None:
    problem, dim, alignment, spike = Problem.of(target, noise=0.1), 150, 0.8, 1.2
    one = np.ones(1)
    blocks = Blocks(spike * one, one, one)
    exact = spiked_risk(
        activation(sigma),
        problem.target,
        blocks,
        alignment=alignment,
        samples_ratio=2.0,
        width_ratio=1.0,
        ridge=0.2,
        noise=0.1,
        dim=dim,
        version="spike-strength",
    )
    risks = []
    for seed in range(4):
        layer, learned, axes = spiked_layer(dim, spike, alignment, seed)
        found = semi_analytic_risk(
            *(problem, activation(sigma), layer, learned[None], axes[: problem.target.rank]),
            **{"samples": 2.0 * dim, "ridge": 0.2},
        )
        assert found.converged
        risks.append((found.test + 0.1, found.train))
    # Rows differ from draw to draw, by about two per cent.
    np.testing.assert_allclose(np.mean(risks, axis=0), (exact.test, exact.train), rtol=0.03)


def test_the_learned_direction_need_not_be_normalised() -> None:
    layer, learned, axes = spiked_layer(40, 1.0, 0.9, 0)
    arguments = {"samples": 80.0, "ridge": 0.1}
    problem, sigma = Problem.of("sin(h1)"), activation("erf2")
    one = semi_analytic_risk(problem, sigma, layer, learned[None], axes[:1], **arguments)
    two = semi_analytic_risk(problem, sigma, layer, 7 * learned[None], axes[:1], **arguments)
    assert one == pytest.approx(two)


def test_rotating_all_inputs_changes_nothing() -> None:
    layer, learned, axes = spiked_layer(40, 1.0, 0.9, 1)
    turn = np.linalg.qr(np.random.default_rng(0).standard_normal((40, 40)))[0]
    arguments = {"samples": 80.0, "ridge": 0.1}
    problem, sigma = Problem.of("sin(h1)"), activation("relu")
    one = semi_analytic_risk(problem, sigma, layer, learned[None], axes[:1], **arguments)
    two = semi_analytic_risk(
        problem, sigma, layer @ turn, learned[None] @ turn, axes[:1] @ turn, **arguments
    )
    assert one.test == pytest.approx(two.test, rel=1e-8)
