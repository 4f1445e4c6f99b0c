"""Which look ahead learns what: the table of an independent program, and rules of symmetry."""

from __future__ import annotations

import numpy as np
import pytest

from giantstep.language.problem import Problem
from giantstep.learners.repetition import simulate
from giantstep.numerics.estimate import student_quantile
from giantstep.settings.repetition import Repetition
from giantstep.theory.repetition import (
    ACTIVATIONS,
    EVEN,
    ODD,
    expected_moves,
    predict,
    ways_to_repeat,
)

#: Target, activation, lookahead, readout: force, growth and variance, four digits.
TABLE = [
    ("He3(h1)", "tanh", 0.3, 1, -0.3016, -0.248, 1.062),
    ("He3(h1)", "tanh", -0.3, 1, -0.3016, 0.248, 1.062),
    ("He3(h1)", "tanh", 0.5, 1, -0.2942, -0.2071, 0.7914),
    ("He3(h1)", "erf2", 0.3, 1, -0.2782, -0.2405, 0.929),
    ("He3(h1)", "relu", 0.3, 1, -0.1175, 0.366, 1.808),
    ("He3(h1)", "relu", 0.3, -1, 0.1175, 0.366, 1.808),
    ("He4(h1)", "tanh", -0.3, 1, 0.0, 0.3538, 2.494),
    ("He4(h1)", "tanh", 0.3, 1, 0.0, -0.3538, 2.494),
    ("He4(h1)", "erf2", -0.3, 1, 0.0, 0.3330, 2.401),
    ("He4(h1)", "relu", 1.0, 1, 0.0, 0.6670, 8.971),
    ("He4(h1)", "relu", 0.3, -1, 0.0, 0.9355, 3.648),
    ("He4(h1)", "relu(z-1)", 0.3, -1, 0.0, 0.4862, 1.074),
    ("sign(h1*h2)", "relu", 0.0, 1, 0.0, 0.2540, 0.5),
    ("sign(h1*h2)", "relu", 0.5, 1, 0.0, 0.2391, 0.4043),
    ("sign(h1*h2)", "relu(z-1)", 0.0, 1, 0.0, 0.1540, 0.1587),
]


@pytest.mark.parametrize("row", TABLE, ids=str)
def test_first_moves(row: tuple) -> None:
    text, sigma, ahead, readout, force, growth, variance = row
    settings = Repetition(activation=sigma, lookahead=ahead, readout=readout)
    moves = expected_moves(Problem.of(text), settings)
    assert abs(moves.force[0]) == pytest.approx(abs(force), abs=1e-4)
    assert moves.growth == pytest.approx(growth, abs=6e-4)
    assert moves.variance == pytest.approx(variance, rel=1e-3)
    if text != "sign(h1*h2)":
        assert moves.force[0] == pytest.approx(force, abs=1e-4)
    else:
        np.testing.assert_allclose(np.abs(moves.direction), 0.5**0.5, atol=1e-9)


@pytest.mark.parametrize("text", ["h1**2*exp(-h1**2)", "sign(h1*h2*h3)"])
def test_hard_targets_have_neither_force_nor_growth(text: str) -> None:
    assert ways_to_repeat(Problem.of(text)) == ()
    law = predict(Problem.of(text), Repetition(activation="relu(z-1)", lookahead=1.0))
    assert law.metrics["growth"] == 0
    assert not law.metrics["force"].any()
    assert np.isnan(law.metrics["step_size"])
    assert "hard target" in law.notes[0]


def test_odd_activations_cannot_use_labels_of_one_size() -> None:
    ways = ways_to_repeat(Problem.of("sign(h1*h2)"))
    assert {way.activation for way in ways} == set(ACTIVATIONS) - set(ODD)


def test_even_activations_feel_no_force() -> None:
    ways = ways_to_repeat(Problem.of("h1 + He3(h1)*h2"))
    forced = {way.activation for way in ways if way.moves.has_force}
    assert forced == set(ACTIVATIONS) - set(EVEN)


@pytest.mark.parametrize("text", ["He4(h1)", "He3(h1)", "h1 + h1*h2"])
def test_every_way_that_is_explained_is_the_one_that_is_predicted(text: str) -> None:
    """Slopes and the symmetry of readout and look ahead, against the direct computation."""
    problem = Problem.of(text)
    ways = {(way.activation, way.lookahead, way.sign): way for way in ways_to_repeat(problem)}
    assert {key[0] for key in ways} == set(ACTIVATIONS)
    for (sigma, ahead, sign), way in ways.items():
        direct = expected_moves(
            problem, Repetition(activation=sigma, lookahead=ahead, readout=sign), fine=False
        )
        size = np.sqrt(direct.variance)
        np.testing.assert_allclose(way.moves.force, direct.force, atol=1e-9 * size)
        np.testing.assert_allclose(way.moves.matrix, direct.matrix, atol=1e-9 * size)
        assert way.moves.variance == pytest.approx(direct.variance, rel=1e-9)


def test_the_best_way_comes_first() -> None:
    ways = ways_to_repeat(Problem.of("He4(h1)"))
    assert (ways[0].activation, ways[0].lookahead, ways[0].sign) == ("abs", 0.3, -1)
    assert ways[0].to_json()["samples"] == "d log d"
    rates = [way.moves.rate for way in ways]
    assert np.all(np.diff(rates) <= 1e-8 * rates[0])
    relu = next(way for way in ways if way.activation == "relu")
    assert (relu.lookahead, relu.sign) == (0.3, -1)
    assert relu.moves.rate == pytest.approx(0.120, abs=5e-4)
    assert relu.moves.step_size == pytest.approx(0.257, abs=1e-3)
    by_force = ways_to_repeat(Problem.of("He3(h1)"))[:4]
    # Four ways are equally fast by symmetry: rounding does not decide which of them is first.
    assert [(way.lookahead, way.sign) for way in by_force] == [(1, 1), (-1, -1), (-1, 1), (1, -1)]
    assert {way.activation for way in by_force} == {"erf2"}
    assert {way.moves.samples for way in by_force} == {"d"}


def test_measured_moves() -> None:
    problem = Problem.of("tanh(h1 + h1*h2)", noise=0.2)
    settings = Repetition(activation="tanh", lookahead=0.5, dim=4000, samples=20_000)
    run, law = simulate(problem, settings, seeds=24), predict(problem, settings)
    quantile = student_quantile(24)
    for name in ("force", "variance"):
        error = quantile * run.sem(name) + 2e-3 * np.abs(law.metrics[name])
        assert np.all(np.abs(run.mean(name) - law.metrics[name]) <= error), name
    assert quantile * run.sem("force")[0] < 0.05 * law.metrics["force"][0]
