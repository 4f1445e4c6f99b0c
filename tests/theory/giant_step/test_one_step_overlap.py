from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from giantstep.errors import NoTheory
from giantstep.language.activations.activation import activation
from giantstep.language.problem import Problem
from giantstep.settings.giant_step import GiantStep
from giantstep.theory.giant_step.one_step_overlap import one_step_overlap
from giantstep.theory.giant_step.prediction import giant_step_subspaces, predict


def test_leap_one_closed_form() -> None:
    """cos = eta c / sqrt(1 + eta^2 c^2 + eta^2 (d/n) E[y^2 sigma'^2]), c = mu_1 E[y h]."""
    eta, ratio, noise = 2.0, 4.0, 0.3
    signal = (eta * 0.5) ** 2
    expected = np.sqrt(signal / (1 + signal + eta**2 / ratio * (1 + noise) * 0.5))
    found = one_step_overlap(
        Problem.of("h1", noise=noise),
        activation("relu"),
        step_size=eta,
        samples=ratio * 1e18,
        dim=1e18,
    )
    assert found[0] == pytest.approx(expected, abs=1e-12)


def test_leap_two_is_an_average_over_the_start() -> None:
    """With w.w* = xi/sqrt(d): signal 4 mu_2 2 xi, noise 16 E[y^2] E[sigma'^2]."""
    slope = 4 * 2 / np.sqrt(2 * np.pi)
    squared, _ = quad(
        lambda x: norm.pdf(x) * (slope * x) ** 2 / (1 + 16 + (slope * x) ** 2), -10, 10
    )
    law = predict(Problem.of("He2(h1)"), GiantStep(step_size="4d^0.5", samples="d^2"))
    # 24 Gauss-Hermite nodes for the rational function of the start.
    assert law.metrics["overlap"][1, 0] == pytest.approx(np.sqrt(squared), rel=2e-3)


@pytest.mark.parametrize(("samples", "learned"), [("d", True), ("d^1.5", True), ("d^0.5", False)])
def test_the_limit_knows_its_phase_transition(samples: str, learned: bool) -> None:
    law = predict(Problem.of("h1"), GiantStep(samples=samples, step_size=4))
    assert (law.metrics["overlap"][1, 0] > 0.1) == learned


@pytest.mark.parametrize(
    ("target", "sizes", "kept"),
    [
        ("h1*h2", {"samples": "2d"}, [False, False]),
        ("h1*h2", {"samples": "2d", "step_size": "d^0.5"}, [False, False]),
        ("h1*h2", {"samples": "d^2", "step_size": "d^0.5"}, [True, True]),
        ("h1 + h1*h2", {"samples": "2d"}, [True, False]),
        ("He3(h1)", {"samples": "d^3", "step_size": "d", "activation": "relu"}, [False]),
        ("He3(h1)", {"samples": "d^3", "step_size": "d", "activation": "tanh"}, [True]),
        ("He3(h1)", {"samples": "d^3", "step_size": "d", "biases": "normal"}, [True]),
    ],
)
def test_overlaps_that_vanish_in_the_limit_are_zero(
    target: str, sizes: dict[str, str], kept: list[bool]
) -> None:
    """Cosines of d = 10^12 decay with d where the limit says 0, and stay where it does not."""
    problem, settings = Problem.of(target), GiantStep(**sizes)
    limit = predict(problem, settings).metrics["overlap"][1]
    assert [bool(value) for value in limit] == kept
    near, far = (
        predict(problem, settings.replace(dim=d)).metrics["overlap"][1] for d in (10**10, 10**12)
    )
    np.testing.assert_array_equal(far > near / 2, kept)


def test_relu_without_bias_cannot_see_an_even_coefficient() -> None:
    problem = Problem.of("h1 + He2(h1)*h2")
    blind, notes = giant_step_subspaces(problem, GiantStep(steps=2))
    assert [len(space) for space in blind] == [0, 1, 1]
    assert "biases normal" in notes[0]
    sighted, notes = giant_step_subspaces(problem, GiantStep(steps=2, biases="normal"))
    assert [len(space) for space in sighted] == [0, 1, 2]
    assert notes == []


def test_what_is_not_covered_says_so() -> None:
    for options in (
        {"steps": 3, "batches": "reused", "step_size": "d^0.5"},
        {"detrend": True},
        {"steps": 2, "step_size": "d^0.5"},
        {"steps": 2, "samples": "d^2"},
    ):
        with pytest.raises((NoTheory, ValueError), match=r".{20}"):
            predict(Problem.of("h1"), GiantStep(**options))


def test_many_directions_are_refused_before_memory_is_taken() -> None:
    """Twenty factors asked for a tensor of 20^8 entries; a report of them was killed."""
    product = Problem.of("*".join(f"h{i}" for i in range(1, 21)))
    with pytest.raises(NoTheory, match="at most 8"):
        one_step_overlap(product, activation("relu"), step_size=1.0, samples=400, dim=100)
