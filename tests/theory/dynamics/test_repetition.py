"""Which look ahead learns what: the table of an independent program, and rules of symmetry."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import t as student

from giantstep.learners.dynamics.first_moves import simulate
from giantstep.problem import Problem
from giantstep.settings.repetition import Repetition
from giantstep.theory.dynamics.repetition import first_moves, predict, ways_to_repeat

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
    moves = first_moves(Problem.of(text), settings)
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
    assert {way.activation for way in ways} == {"relu", "relu(z-1)"}


def test_the_best_way_comes_first() -> None:
    best = ways_to_repeat(Problem.of("He4(h1)"))[0]
    assert (best.activation, best.lookahead, best.sign) == ("relu", 0.3, -1)
    assert best.to_json()["samples"] == "d log d"
    assert best.moves.rate == pytest.approx(0.120, abs=5e-4)
    assert best.moves.step_size == pytest.approx(0.257, abs=1e-3)
    by_force = ways_to_repeat(Problem.of("He3(h1)"))[0]
    assert by_force.moves.samples == "d"


def test_measured_moves() -> None:
    problem = Problem.of("tanh(h1 + h1*h2)", noise=0.2)
    settings = Repetition(activation="tanh", lookahead=0.5, dim=4000, samples=20_000)
    run, law = simulate(problem, settings, seeds=24), predict(problem, settings)
    quantile = student.ppf(1 - 1e-4 / 2, 23)
    for name in ("force", "variance"):
        error = quantile * run.sem(name) + 2e-3 * np.abs(law.metrics[name])
        assert np.all(np.abs(run.mean(name) - law.metrics[name]) <= error), name
    assert quantile * run.sem("force")[0] < 0.05 * law.metrics["force"][0]
