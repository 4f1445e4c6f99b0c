"""The grand staircase: published examples, exponents, and what a lattice would get wrong."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose

from giantstep.channels.label_law.functions import label_waves
from giantstep.channels.label_law.law import label_moments
from giantstep.language.targets import Target
from giantstep.theory.learnability.grand_staircase import (
    grand_staircase,
)
from giantstep.theory.learnability.staircase import leap_staircase

S = math.sqrt(0.5)
E1, E2, E3 = np.eye(3)
ALL = np.eye(3)
PLUS, MINUS = [S, S], [S, -S]

STAIRS = {
    "He3(h1)": [(1, [[1.0]])],
    "He4(h1)": [(2, [[1.0]])],
    "h1**2*exp(-h1**2)": [(4, [[1.0]])],
    "h1 + He2(h1) + h2 - He2(h2)": [(1, [PLUS, MINUS])],
    "h1 + He2(h1) + h2 + He2(h2)": [(1, [PLUS]), (2, [MINUS])],
    "h1 + h1*h2 + h1*h3": [(1, [E1, (E2 + E3) * S])],
    "h1 + h1*h2 + He3(h1)*h3": [(1, ALL)],
    "h1 + He3(h1)*h2 + He3(h2)*h3": [(1, ALL)],
    "sign(h1*h2)": [(2, [PLUS, MINUS])],
    "h1*h2": [(2, [PLUS, MINUS])],
    "h1*h2*h3": [(2, ALL)],
    "sign(h1*h2*h3)": [(3, ALL)],
    "h1 + abs(h2)": [(1, [[1.0, 0.0]]), (2, [[0.0, 1.0]])],
    "He2(h1) + sign(h1*h2*h3)": [(2, [E1]), (2, [E2, E3])],
    "He4(h1) + sign(h1*h2*h3)": [(2, [E1]), (2, [E2, E3])],
    "sign(h1) + sign(h2)": [(1, [PLUS]), (2, [MINUS])],
    "h1*z1": [(2, [[1.0]])],
    # Sums, of whose exponentials products are integrated.
    "abs(h1) - h1**2/sqrt(2*pi) + abs(h2) - h2**2/sqrt(2*pi) + h3": [(1, [E3]), (2, [E1, E2])],
    "+".join(f"h{i}**2*exp(-h{i}**2)" for i in (1, 2, 3)): [(4, ALL)],
}


def projector(rows: object) -> np.ndarray:
    rows = np.array(rows)
    return rows.T @ rows


@pytest.mark.parametrize("text", STAIRS)
def test_stairs(text: str) -> None:
    found = grand_staircase(Target(text)).stairs
    assert [stair.leap for stair in found] == [leap for leap, _ in STAIRS[text]]
    for stair, (_, rows) in zip(found, STAIRS[text], strict=True):
        assert np.linalg.norm(projector(stair.directions) - projector(rows), 2) < 2e-2


def test_strength_of_a_parity() -> None:
    """Each direction of sign(h1 h2 h3) carries a third of the correlation (2/pi)^3."""
    (stair,) = grand_staircase(Target("sign(h1*h2*h3)")).stairs
    np.testing.assert_allclose(stair.strengths, (2 / math.pi) ** 3 / 3, rtol=1e-9)


def test_directions_outside_of_the_used_subspace_never_show() -> None:
    (stair,) = grand_staircase(Target("(h1 + h2 + h3)**8")).stairs
    assert stair.leap == 2
    np.testing.assert_allclose(stair.directions, np.full((1, 3), 1 / math.sqrt(3)), atol=1e-9)


#: lambda_k^2 = E[E[He_k | y]^2] / k! of one direction.
CORRELATIONS = {
    "He3(h1)": {1: 0.66783, 2: 0.62305, 3: 1.0},
    "He4(h1)": {1: 0.0, 2: 0.775374},
    "He5(h1)": {1: 0.60262, 2: 0.69735},
    "h1**2*exp(-h1**2)": {2: 0.0, 4: 0.229958},
    "h1**2": {2: 1.0},
    "abs(h1)": {2: 1.0},
}


def label_correlations(target: Target, noise: float = 0.0, degree: int = 8) -> np.ndarray:
    """lambda_k^2 for k = 0..degree: how much of He_k(h) the label of one direction tells."""
    law = label_moments(target, noise, degree)
    replicas, squares = len(law.moments), law.moments.sum(axis=0) ** 2
    if replicas > 1:
        squares = (squares - (law.moments**2).sum(axis=0)) / (replicas - 1)
    norms = [math.factorial(k) for k in range(law.moments.shape[2])]
    return (squares / replicas / law.mass[:, None]).sum(axis=0) / norms


@pytest.mark.parametrize("text", CORRELATIONS)
def test_correlations_of_one_direction(text: str) -> None:
    found = label_correlations(Target(text))
    for k, value in CORRELATIONS[text].items():
        assert found[k] == pytest.approx(value, abs=1e-5)
    assert found[0] == pytest.approx(1.0)
    assert np.all(found <= 1 + 1e-7)


def test_a_vanishing_correlation_vanishes() -> None:
    assert label_correlations(Target("h1**2*exp(-h1**2)"))[2] < 1e-11


def test_sampled_and_exact_correlations_agree() -> None:
    """The same law in two spellings: one is sampled on lines, the other has preimages."""
    sampled = label_correlations(Target("He4(h1) + 0*z1 + 1e-9*z1"), degree=2)
    assert sampled[2] == pytest.approx(0.775374, abs=5e-3)


@pytest.mark.parametrize("text", ["He3(h1)", "sin(h1)", "abs(h1)", "He4(h1)", "h1**2*exp(-h1**2)"])
def test_a_label_shows_no_less_than_its_correlations(text: str) -> None:
    target = Target(text)
    assert grand_staircase(target).first_leap <= leap_staircase(target).first_leap


def test_noise_hides_but_does_not_destroy() -> None:
    clean, noisy = (label_correlations(Target("He3(h1)"), noise) for noise in (0.0, 0.5))
    assert np.all(noisy[1:4] < clean[1:4])
    assert grand_staircase(Target("He3(h1)"), 0.5).first_leap == 1
    assert [s.leap for s in grand_staircase(Target("sign(h1*h2*h3)"), 0.5).stairs] == [3]
    assert [s.leap for s in grand_staircase(Target("h1*h2"), 0.3).stairs] == [2]


def test_the_same_seed_gives_the_same_staircase() -> None:
    target = Target("h1 + He2(h1) + h2 + He2(h2)")
    one, two = (grand_staircase.__wrapped__(target, seed=3) for _ in range(2))
    for left, right in zip(one.stairs, two.stairs, strict=True):
        np.testing.assert_array_equal(left.directions, right.directions)


CHAIN = "h1 + h1*h2 + h2*h3 + h3*h4 + h4*h5 + h5*h6"


@pytest.mark.parametrize("seed", [0, 1, 2, 17])
def test_a_chain_of_six_is_one_stair_for_every_seed(seed: int) -> None:
    """A quadratic label: linear algebra finds all six directions at once, exactly."""
    found = grand_staircase(Target(CHAIN), seed=seed)
    (stair,) = found.stairs
    assert stair.leap == 1
    assert not found.sampled
    np.testing.assert_allclose(projector(stair.directions), np.eye(6), atol=1e-9)


@pytest.mark.parametrize("seed", [0, 3])
def test_a_chain_that_is_no_quadratic_form_keeps_its_directions(seed: int) -> None:
    found = grand_staircase(Target("h1 + h1*h2 + h2*h3 + h3*h4 + He3(h4)*h5"), seed=seed)
    assert found.stairs[0].leap == 1
    np.testing.assert_allclose(projector(found.subspace), np.eye(5), atol=1e-9)


def test_a_summand_of_noise_alone_is_as_one_of_a_direction_not_asked_for() -> None:
    noisy, known = (label_waves(Target(f"sin(h1) + {x}**2"), 3) for x in ("z1", "h2"))
    assert noisy is not None
    assert known is not None
    for j in range(4):
        assert_allclose(noisy.coefficients[(j,)], known.coefficients[j, 0], atol=1e-6)
    assert [s.leap for s in grand_staircase(Target("h1*tanh(z2) + z1**2")).stairs] == [2]
