"""The leap staircase: published examples, subspaces of giant steps, directions really used."""

from __future__ import annotations

import math

import numpy as np
import pytest

from giantstep.errors import SettingsError
from giantstep.language.targets import Target
from giantstep.language.targets.hermite import target_subspace
from giantstep.theory.learnability.staircase import (
    leap_staircase,
    predicted_subspaces,
)

S = math.sqrt(0.5)
E1, E2, E3 = np.eye(3)
PLUS, MINUS = np.array([S, S]), np.array([S, -S])
FINAL = "h1 + He2(h2) + He2(h1)*h2 + He4(h1)*He2(h2)*h3 + He2(h2)*He2(h3)"

#: Leap and new span of every stair, with the singular value over the standard deviation where
#: it follows by hand.
STAIRS = {
    "h1 + He2(h1) + h2 - He2(h2)": [(1, [PLUS], 1 / math.sqrt(3)), (1, [MINUS], 1 / math.sqrt(3))],
    "h1 + He2(h1) + h2 + He2(h2)": [(1, [PLUS], 1 / math.sqrt(3)), (2, [MINUS], None)],
    "h1 + h1*h2 + h1*h3": [(1, [E1], 1 / math.sqrt(3)), (1, [(E2 + E3) * S], None)],
    "h1 + h1*h2 + He3(h1)*h3": [(1, [E1], 1 / math.sqrt(8)), (1, [E2, E3], math.sqrt(3) / 4)],
    "h1 + He3(h1)*h2 + He3(h2)*h3": [
        (1, [E1], 1 / math.sqrt(13)),
        (1, [E2], math.sqrt(1.5 / 13)),
        (1, [E3], math.sqrt(1.5 / 13)),
    ],
    "sign(h1*h2*h3)": [(3, [E1, E2, E3], math.sqrt((2 / math.pi) ** 3 / 3))],
    "He2(h1) + sign(h1*h2*h3)": [(2, [E1], math.sqrt(2 / 3)), (2, [E2, E3], None)],
    "He4(h1) + sign(h1*h2*h3)": [(3, [E1, E2, E3], math.sqrt((2 / math.pi) ** 3 / 75))],
    FINAL: [(1, [E1], 1 / math.sqrt(57)), (1, [E2], None), (1, [E3], None)],
    "tanh(h1) + tanh(h2)": [(1, [PLUS], None), (2, [MINUS], None)],
    "relu(h1) + relu(h2)": [(1, [PLUS], None), (2, [MINUS], None)],
    "h1 + h2 + h1**2 + h2**2 - 2": [(1, [PLUS], None), (2, [MINUS], None)],
    "sign(h1*h2)": [(2, [PLUS, MINUS], math.sqrt(2) / math.pi)],
    "abs(h1)": [(2, [np.ones(1)], 1 / math.sqrt(math.pi - 2))],
    "He3(h1)": [(3, [np.ones(1)], 1.0)],
    "He4(h1)": [(4, [np.ones(1)], 1.0)],
    "h1**2*exp(-h1**2)": [(4, [np.ones(1)], None)],
}


def projector(rows: object) -> np.ndarray:
    rows = np.array(rows)
    return rows.T @ rows


@pytest.mark.parametrize("text", STAIRS)
def test_stairs(text: str) -> None:
    found = leap_staircase(Target(text)).stairs
    assert [stair.leap for stair in found] == [leap for leap, _, _ in STAIRS[text]]
    for stair, (_, rows, strength) in zip(found, STAIRS[text], strict=True):
        np.testing.assert_allclose(projector(stair.directions), projector(rows), atol=1e-6)
        np.testing.assert_allclose(
            stair.directions @ stair.directions.T, np.eye(len(rows)), atol=1e-12
        )
        if strength is not None:
            assert stair.strengths[0] == pytest.approx(strength, rel=1e-8)


def test_nothing_correlates_with_a_random_sign() -> None:
    assert leap_staircase(Target("h1*z1")).stairs == ()
    assert leap_staircase(Target("h1*z1")).first_leap is None
    assert leap_staircase(Target("He10(h1)")).first_leap == 10


def test_giant_steps_climb_one_stair_each() -> None:
    spaces = predicted_subspaces(Target(FINAL), 3)
    for step, space in enumerate(spaces):
        np.testing.assert_allclose(projector(space), np.diag([i < step for i in range(3)]))


def test_quadratic_samples_learn_leaps_one_and_two_at_once() -> None:
    spaces = predicted_subspaces(Target(FINAL), 2, leap=2)
    assert [len(space) for space in spaces] == [0, 2, 3]
    np.testing.assert_allclose(projector(spaces[1]), np.diag([1.0, 1.0, 0.0]), atol=1e-12)
    assert [len(u) for u in predicted_subspaces(Target("sign(h1*h2*h3)"), 2, leap=2)] == [0, 0, 0]
    assert [len(u) for u in predicted_subspaces(Target("sign(h1*h2*h3)"), 1, leap=3)] == [0, 3]


def test_an_activation_with_parity_misses_even_coefficients() -> None:
    """relu has no Hermite coefficient of odd degree above 1: it cannot use He2(h1) h2."""

    def relu(k: int) -> bool:
        return k < 2 or k % 2 == 0

    sizes = [len(u) for u in predicted_subspaces(Target("h1 + He2(h1)*h2"), 3, usable=relu)]
    assert sizes == [0, 1, 1, 1]
    sizes = [len(u) for u in predicted_subspaces(Target("h1 + He3(h1)*h2"), 3, usable=relu)]
    assert sizes == [0, 1, 2, 2]


def test_steps_and_leaps_are_checked() -> None:
    with pytest.raises(SettingsError, match="steps = -1"):
        predicted_subspaces(Target("h1"), -1)
    with pytest.raises(SettingsError, match="degree = 0"):
        leap_staircase(Target("h1"), 0)


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("h1 + h1*h2 + h1*h3", [E1, (E2 + E3) * S]),
        ("tanh(h1 + h2)*h3", [(E1 + E2) * S, E3]),
        ("He10(h1) + h2", np.eye(2)),
        ("sin(30*h2) + h1", np.eye(2)),
        ("sign(sin(40*h1)) + h2", np.eye(2)),
        ("cos(9*h1 + 12*h2)", [[0.6, 0.8]]),
        ("step(h1*(2 + sin(h2)))", [[1.0, 0.0]]),
        ("relu(h1 + h2 + h3 + h4)", [[0.5, 0.5, 0.5, 0.5]]),
        ("h1*z1", [[1.0]]),
    ],
)
def test_used_subspace(text: str, rows: list) -> None:
    found = target_subspace(Target(text))
    assert len(found) == len(rows)
    np.testing.assert_allclose(projector(found), projector(rows), atol=1e-6)


@pytest.mark.parametrize("link", ["tanh({0})", "relu({0})", "{0} + He2({0})", "{0} + He3({0})/3"])
def test_equal_links_have_no_second_stair_of_leap_one(link: str) -> None:
    """Given v, E[grad f] has no part across v: E[f(x) z | <v, x>] = 0 for z across it, by Stein."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(40)
    equal, apart = (
        Target(f"({link.format('h1')}) + {factor}*({link.format('h2')})") for factor in (1, 2)
    )
    for given in (-1.5, 0.4, 2.0):
        fields = np.stack([(given + nodes) * S, (given - nodes) * S], axis=-1)
        across, not_equal = (weights @ (t.numpy(fields) * nodes) for t in (equal, apart))
        assert abs(across) < 1e-10
        assert abs(not_equal) > 0.01
    assert [stair.leap for stair in leap_staircase(equal).stairs] == [1, 2]


def test_four_equal_links_have_no_second_stair_of_leap_one() -> None:
    """The same across (1, 1, 1, 1), along three orthogonal directions that permute the links."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(12)
    across = np.array([[1, 1, -1, -1], [1, -1, 1, -1], [1, -1, -1, 1]]) / 2
    points = np.stack(np.meshgrid(nodes, nodes, nodes), axis=-1).reshape(-1, 3)
    law = np.einsum("i,j,k->ijk", weights, weights, weights).ravel() / weights.sum() ** 3
    equal, apart = (
        Target(f"tanh(h1) + tanh(h2) + tanh(h3) + {factor}*tanh(h4)") for factor in (1, 2)
    )
    for given in (-1.5, 0.4, 2.0):
        fields = given / 2 + points @ across
        learned, beside = ((law * t.numpy(fields)) @ points for t in (equal, apart))
        assert np.abs(learned).max() < 1e-10
        assert np.abs(beside).min() > 0.01
    stairs = leap_staircase(equal).stairs
    assert [stair.leap for stair in stairs] == [1, 2]
    np.testing.assert_allclose(np.abs(stairs[0].directions), [[0.5] * 4], atol=1e-8)
