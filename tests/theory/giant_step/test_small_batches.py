"""Several giant steps on batches in powers of d: exponents, prefactors, and simulations."""

from __future__ import annotations

import numpy as np
import pytest
from agreement.agreeing import agrees

from giantstep.asking.verbs import predict, simulate
from giantstep.errors import NoTheory
from giantstep.language.activations.activation import activation
from giantstep.language.problem import Problem
from giantstep.language.targets import Target
from giantstep.settings.giant_step import GiantStep
from giantstep.theory.giant_step.small_batches import (
    amplified_overlaps,
    overlap_powers,
)
from giantstep.theory.learnability.sample_complexity import small_batch_power

LEAP_TWO = GiantStep(
    samples="d^1.5",
    step_size="2d^0.25",
    steps=3,
    width="4",
    readout="sign",
    loss="correlation",
    normalise=True,
)


def powers(target: str, name: str, kappa: float, steps: int) -> np.ndarray:
    """With the largest step that does not only add noise."""
    return overlap_powers(
        Target(target),
        activation(name),
        steps=steps,
        step_power=(kappa - 1) / 2,
        samples_power=kappa,
    )


@pytest.mark.parametrize("steps", [1, 2, 3, 5])
@pytest.mark.parametrize(("target", "name"), [("He2(h1)", "relu"), ("He3(h1)", "tanh")])
def test_the_powers_reach_zero_at_the_least_batch_and_not_below(
    target: str, name: str, steps: int
) -> None:
    least = small_batch_power(int(target[2]), steps)
    assert powers(target, name, least, steps)[-1, 0] == 0
    assert powers(target, name, least - 0.02, steps)[-1, 0] < 0
    assert powers(target, name, least + 0.02, steps)[-1, 0] == 0


def test_many_steps_need_what_one_pass_does() -> None:
    assert [small_batch_power(leap, 1) for leap in (1, 2, 3, 4)] == [1, 2, 3, 4]
    assert [small_batch_power(leap, 200) for leap in (3, 4)] == pytest.approx([2, 3])
    assert np.all(powers("He3(h1)", "tanh", 1.98, 12)[-1] < -0.4)


def test_what_is_linear_given_the_learned_comes_in_the_next_step() -> None:
    found = powers("He2(h1) + He2(h1)*h2", "relu(z) + He3(z)", 1.5, 3)
    assert found[:, 0].tolist() == [-0.5, -0.25, 0.0, 0.0]
    assert found[2, 1] < 0 == found[3, 1]


def test_a_later_stair_of_leap_two_is_not_amplified() -> None:
    """Once h1 is learned its own pull is as long as the step, and h2 and h3 gain no power."""
    found = powers("He2(h1) + h1*h2*h3", "relu(z) + He3(z)", 1.5, 6)
    assert found[-1, 0] == 0
    assert np.all(found[2:, 1:] == -0.5)


@pytest.mark.parametrize("dim", [1e6, 1e12])
def test_the_amplification_is_that_of_the_closed_form(dim: float) -> None:
    """m' = A m with A = l mu_l sqrt(n/(d E[y^2] E[sigma'^2])) = 2 mu_2 sqrt(n/d) for relu, He2."""
    settings = LEAP_TWO.replace(steps=1, width="1", samples="d^1.2", step_size="1000d^0.1")
    mean, error = amplified_overlaps(Problem.of("He2(h1)"), settings, activation("relu"), dim)
    growth = 2 / np.sqrt(2 * np.pi) * dim**0.1
    # Noise along h1 is E[y^2 h1^2]/E[y^2] = 5 times larger than elsewhere, and a start has a mean
    # size of sqrt(2/(pi d)).
    expected = np.sqrt(2 / np.pi / dim) * np.sqrt(growth**2 + 5)
    assert mean[1, 0] == pytest.approx(expected, rel=5e-4, abs=5 * error[1, 0])
    assert error[1, 0] < 0.01 * expected


@pytest.mark.parametrize(
    ("target", "changes"),
    [
        ("He2(h1)", {}),
        ("He2(h1)", {"normalise": False, "steps": 2}),
        ("He2(h1)", {"samples": "d^1.3", "step_size": "2d^0.15", "readout": "symmetric-sign"}),
    ],
    ids=["normalised", "free", "twins"],
)
def test_simulations_agree_after_every_step(target: str, changes: dict[str, object]) -> None:
    settings = LEAP_TWO.replace(width="64", dim=500, **changes)
    runs = simulate(settings.replace(method="in-law"), target, seeds=80).metrics["overlap"]
    law = predict(settings, target)
    agrees(runs[:, 1:], law.metrics["overlap"][1:], error=law.errors["overlap"][1:], power=0.1)
    assert law.status == "heuristic"


def test_the_limit_keeps_what_has_power_zero() -> None:
    law = predict(LEAP_TWO, "He2(h1)")
    assert law.metrics["overlap_power"].ravel().tolist() == [-0.5, -0.25, 0, 0]
    assert law.metrics["overlap"][:2].tolist() == [[0.0], [0.0]]
    assert law.metrics["overlap"][2, 0] == law.metrics["overlap_prefactor"][2, 0]
    # At d = 10^8 the prefactors already tell the overlaps.
    far = predict(LEAP_TWO.replace(dim=10**8), "He2(h1)").metrics["overlap"]
    scaled = law.metrics["overlap_prefactor"] * 1e8 ** law.metrics["overlap_power"]
    assert scaled[:3] == pytest.approx(far[:3], rel=0.02)


@pytest.mark.parametrize(
    ("change", "remedy"),
    [
        ({"loss": "square"}, "loss correlation"),
        ({"activation": "tanh", "normalise": False}, "normalise, or relu"),
        ({"biases": "normal"}, "biases none"),
    ],
)
def test_what_is_not_covered_is_refused_with_a_remedy(
    change: dict[str, object], remedy: str
) -> None:
    with pytest.raises(NoTheory, match=remedy):
        predict(LEAP_TWO.replace(**change), "He2(h1)")
