"""Free entropy: published values, its derivative, its limits, mutual information."""

from __future__ import annotations

import numpy as np
import pytest

from giantstep.language.problem import Problem
from giantstep.theory.amp.averages.population import population_of
from giantstep.theory.amp.free_entropy import (
    free_entropy_at,
    mutual_information,
)
from giantstep.theory.amp.state_evolution import state_evolution

#: Target, noise, overlap, and how well dPsi/dM = E[g g^T]/2 must hold.
IDENTITY = (
    ("h1", 0.25, [[0.4]], 1e-7),
    ("sign(h1)", 0.0, [[0.4]], 1e-7),
    ("sign(h1)", 0.3, [[0.4]], 1e-6),
    ("|h1|", 0.0, [[0.4]], 1e-6),
    ("He3(h1)", 0.0, [[0.4]], 1e-4),
    ("h1^2", 0.5, [[0.4]], 1e-5),
    ("sign(h1*h2)", 0.0, [[0.5, 0.2], [0.2, 0.3]], 1e-5),
    ("sign(h1*h2*h3)", 0.0, [[0.5, 0.1, 0.0], [0.1, 0.4, 0.0], [0.0, 0.0, 0.3]], 1e-4),
    ("h1^2 + sign(h1*h2*h3)", 0.0, [[0.5, 0, 0], [0, 0.4, 0], [0, 0, 0.4]], 1e-4),
)


@pytest.mark.parametrize(
    ("text", "noise", "overlap", "tolerance"), IDENTITY, ids=lambda v: str(v)[:22]
)
def test_derivative_of_psi_is_half_the_fisher_matrix(text, noise, overlap, tolerance) -> None:
    population = population_of(Problem.of(text, noise=noise))
    overlap, step = np.array(overlap), 1e-3
    fisher = population.fisher(overlap)
    for i in range(len(overlap)):
        for j in range(i + 1):
            if j < i and overlap[i, j] == 0:
                continue
            move = np.zeros_like(overlap)
            move[i, j] = move[j, i] = 1.0
            stencil = [population.log_partition(overlap + k * step * move) for k in (-2, -1, 1, 2)]
            slope = np.array([1, -8, 8, -1]) @ np.array(stencil) / (12 * step)
            assert slope == pytest.approx((fisher * move).sum() / 2, abs=tolerance)


def test_derivative_for_the_absolute_value_is_the_published_one() -> None:
    population = population_of(Problem.of("|h1|"))
    assert population.fisher(0.4 * np.eye(1))[0, 0] / 2 == pytest.approx(0.350535, abs=2e-6)


@pytest.mark.parametrize(("alpha", "value"), [(0.8, -0.579047), (1.0, -0.714446)])
def test_published_values_for_the_absolute_value(alpha: float, value: float) -> None:
    problem = Problem.of("|h1|")
    fixed = state_evolution(problem, alpha).overlap
    assert free_entropy_at(population_of(problem), alpha, fixed) == pytest.approx(value, abs=2e-6)


@pytest.mark.parametrize(
    ("text", "noise", "alpha"), [("|h1|", 0.0, 1.1), ("sign(h1*h2)", 0.0, 4.0), ("h1", 0.25, 1.0)]
)
def test_fixed_points_are_stationary(text: str, noise: float, alpha: float) -> None:
    problem = Problem.of(text, noise=noise)
    fixed = state_evolution(problem, alpha).overlap
    step = 1e-3 * np.eye(len(fixed))
    values = [
        free_entropy_at(population_of(problem), alpha, fixed + k * step) for k in (-2, -1, 1, 2)
    ]
    assert abs(np.array([1, -8, 8, -1]) @ values) / 12e-3 < 1e-5


def test_both_forms_agree_and_the_conjugate_is_a_minimum() -> None:
    problem, overlap = Problem.of("sign(h1*h2)"), np.array([[0.5, 0.1], [0.1, 0.4]])
    conjugate = overlap @ np.linalg.inv(np.eye(2) - overlap)

    def whole(conjugate: np.ndarray) -> float:
        """The free entropy at any conjugate, not only at that of state evolution."""
        energy = (np.trace(conjugate) - np.trace(overlap @ conjugate)) / 2
        entropy = -np.linalg.slogdet(np.eye(2) + conjugate)[1] / 2
        return energy + entropy + 3.0 * float(population_of(problem).log_partition(overlap))

    at = whole(conjugate)
    assert at == pytest.approx(free_entropy_at(population_of(problem), 3.0, overlap), abs=1e-12)
    for factor in (0.9, 1.1):
        assert whole(factor * conjugate) > at


def test_linear_targets_have_the_evidence_of_a_gaussian() -> None:
    """n labels are N(0, X X^T/d + noise): log det by the Marchenko-Pastur law, at alpha = 1."""
    noise = 0.25
    problem = Problem.of("h1", noise=noise)
    angle = (np.arange(4000) + 0.5) * np.pi / 4000
    eigenvalue = 4 * np.cos(angle / 2) ** 2
    weight = 4 * np.sin(angle) ** 2 / (2 * np.pi * eigenvalue) * np.pi / 4000
    entropy = weight @ np.log(eigenvalue + noise) / weight.sum()
    evidence = -(1 + np.log(2 * np.pi) + entropy) / 2
    fixed = state_evolution(problem, 1.0).overlap
    assert free_entropy_at(population_of(problem), 1.0, fixed) == pytest.approx(evidence, abs=1e-5)
    information = (entropy - np.log(noise)) / 2
    assert mutual_information(population_of(problem), 1.0, fixed) == pytest.approx(
        information, abs=1e-5
    )


def test_perfect_recovery_of_continuous_labels_is_infinite() -> None:
    problem = Problem.of("|h1|")
    assert free_entropy_at(population_of(problem), 1.2, np.eye(1)) == np.inf
    assert mutual_information(population_of(problem), 1.2, np.eye(1)) == np.inf


def test_discrete_labels_never_tell_more_than_their_entropy() -> None:
    problem = Problem.of("sign(h1)")
    for alpha in (0.01, 1.0, 8.0):
        fixed = state_evolution(problem, alpha).overlap
        information = mutual_information(population_of(problem), alpha, fixed)
        assert 0 < information <= alpha * np.log(2)
    assert mutual_information(population_of(problem), 0.01, np.zeros((1, 1))) == pytest.approx(
        0.01 * np.log(2), rel=1e-9
    )
