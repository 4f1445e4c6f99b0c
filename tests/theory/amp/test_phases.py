"""Transitions: where they are, of which kind, and what happens at each."""

from __future__ import annotations

import numpy as np
import pytest

from giantstep.language.problem import Problem
from giantstep.settings.amp import Amp
from giantstep.theory.amp.averages.population import population_of
from giantstep.theory.amp.free_entropy import free_entropy_at
from giantstep.theory.amp.phases import linear_threshold, phases, predict_phases

THRESHOLDS = {
    ("h1^2", 0.0): 0.5,
    ("h1^2", 0.1): 0.51807,
    ("h1^2", 1.0): 0.64659,
    ("|h1|", 0.0): 0.5,
    ("|h1|", 0.5): 1.08310,
    ("He4(h1)", 0.0): 0.64485,
    ("cos(h1)", 0.0): 0.50910,
    ("(|h1| < 1)", 0.0): 0.924958,
    ("sign(h1*h2)", 0.0): np.pi**2 / 4,
    ("sign(h1*h2)", 0.1): 2.47337,
    ("sign(h1*h2)", 1.0): 4.48292,
    ("h1^2 + sign(h1*h2*h3)", 0.0): 0.575166,
    ("He4(h1) + sign(h1*h2*h3)", 0.0): 0.687853,
    ("sign(h1*h2*h3)", 0.0): np.inf,
    ("h1^2*exp(-h1^2)", 0.0): np.inf,
    ("He3(h1)", 0.0): 0.0,
    ("relu(h1)", 0.0): 0.0,
}


@pytest.mark.parametrize(("given", "alpha"), THRESHOLDS.items(), ids=str)
def test_linear_thresholds(given: tuple[str, float], alpha: float) -> None:
    found = linear_threshold(Problem.of(given[0], noise=given[1]))
    assert found == pytest.approx(alpha, rel=2e-5)


def kinds(text: str) -> list[tuple[str, float]]:
    return [(t.kind, t.samples_ratio) for t in phases(Problem.of(text))]


@pytest.mark.parametrize("text", ["|h1|", "h1^2"])
def test_phase_retrieval(text: str) -> None:
    """Weak at 1/2, contained in the data from 1 on, found by a jump between 1.12 and 1.13."""
    weak, information, jump = phases(Problem.of(text))
    assert (weak.kind, information.kind, jump.kind) == (
        "weak recovery",
        "information",
        "perfect recovery",
    )
    assert weak.samples_ratio == pytest.approx(0.5, abs=1e-5)
    assert information.samples_ratio == pytest.approx(1.0, abs=1e-9)
    assert 1.12 < jump.samples_ratio < 1.13
    assert jump.before[0] < 0.85
    assert jump.after[0] == 1.0


def test_sign_is_trivial_and_never_perfect() -> None:
    (only,) = phases(Problem.of("sign(h1)"))
    assert (only.kind, only.samples_ratio) == ("trivial", 0.0)


def test_relu_needs_twice_as_many_samples_as_a_linear_target() -> None:
    """Half of its labels are 0 and tell next to nothing: perfect recovery is possible from 2 on."""
    found = {t.kind: t for t in phases(Problem.of("relu(h1)"))}
    assert found["trivial"].samples_ratio == 0.0
    assert kinds("h1")[-1] == ("perfect recovery", 1.0)
    assert found["perfect recovery"].samples_ratio >= 1.0


def test_third_hermite_is_trivial_then_jumps_to_perfect_recovery() -> None:
    found = kinds("He3(h1)")
    assert found[0] == ("trivial", 0.0)
    assert found[-1][0] == "perfect recovery"
    assert 1.0 <= found[-1][1] < 1.5


def test_parity_of_two_has_one_continuous_transition() -> None:
    (only,) = phases(Problem.of("sign(h1*h2)"))
    assert only.kind == "weak recovery"
    assert only.samples_ratio == pytest.approx(np.pi**2 / 4, abs=1e-6)


def test_generative_exponent_four_is_hard() -> None:
    information, hard = phases(Problem.of("h1^2*exp(-h1^2)"))
    assert (hard.kind, hard.samples_ratio) == ("hard", np.inf)
    assert information.kind == "information"
    assert information.samples_ratio == pytest.approx(1.0, abs=1e-6)


@pytest.mark.slow
def test_parity_of_three_is_hard_but_in_the_data() -> None:
    information, hard = phases(Problem.of("sign(h1*h2*h3)"))
    assert (hard.kind, hard.samples_ratio) == ("hard", np.inf)
    assert information.kind == "information"
    assert 2.5 < information.samples_ratio < 20
    assert information.after.min() > 0.5


@pytest.mark.slow
def test_grand_staircase_has_two_stairs_and_a_jump_between() -> None:
    first, hidden, jump, second = phases(Problem.of("h1^2 + sign(h1*h2*h3)"), largest_ratio=3.0)
    assert first.kind == second.kind == "weak recovery"
    assert first.samples_ratio == pytest.approx(0.575167, abs=1e-5)
    # d noiseless labels determine h1; message passing needs 1.4 d of them.
    assert hidden.kind == "information"
    assert hidden.samples_ratio == pytest.approx(1.0, abs=0.01)
    assert jump.kind == "perfect recovery"
    assert jump.samples_ratio == pytest.approx(1.4001, abs=1e-3)
    assert second.samples_ratio == pytest.approx(np.pi**2 / 4, rel=1e-3)
    assert first.after[1] < 1e-4 < second.after[1]


def test_prediction_and_text() -> None:
    law = predict_phases(Problem.of("|h1|"), Amp(phases=True))
    np.testing.assert_allclose(law.metrics["transitions"][:2], [0.5, 1.0], atol=1e-5)
    assert law.metrics["overlap_squared_before"].shape == (3, 1)
    assert [note.split(": ")[1].split(";")[0] for note in law.notes] == [
        "the overlap leaves zero",
        "the data contain more than message passing finds",
        "perfect recovery begins",
    ]


def test_the_information_transition_next_to_a_flat_peak() -> None:
    """The free entropies of both branches cross at 1.8618, well before the jump at 1.9525."""
    problem = Problem.of("sin(2*h1)", noise=0.1)
    trivial, information, jump = phases(problem)
    assert (trivial.kind, information.kind, jump.kind) == ("trivial", "information", "jump")
    assert information.samples_ratio == pytest.approx(1.8618, abs=5e-4)
    assert jump.samples_ratio == pytest.approx(1.9525, abs=5e-4)
    assert information.before[0] < jump.before[0] < information.after[0] < jump.after[0]
    low, high = (
        free_entropy_at(population_of(problem), information.samples_ratio, np.diag(side))
        for side in (information.before, information.after)
    )
    assert low == pytest.approx(high, abs=1e-6)


@pytest.mark.parametrize("text", ["sign(h1)", "sign(h1*h2)", "h1^2*exp(-h1^2)", "h1"])
def test_no_transition_leads_from_nothing_to_nothing(text: str) -> None:
    for transition in phases(Problem.of(text)):
        before, _, after = str(transition).rpartition("overlap_squared")[2].partition("->")
        assert before.strip() != after.strip()
