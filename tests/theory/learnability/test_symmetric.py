"""Faint correlations, tied directions and high leaps: what `explain` once got wrong."""

from __future__ import annotations

import math
import tracemalloc

import numpy as np
import pytest

from giantstep.channels.label_law.functions import label_powers
from giantstep.explanation.explain import explain
from giantstep.language.targets import Target
from giantstep.language.targets.expansion import target_expansion
from giantstep.language.targets.symmetry import symmetrised_by_target
from giantstep.theory.learnability.grand_staircase import grand_staircase
from giantstep.theory.learnability.staircase import (
    _visible_leap_axes,
    leap_hermite_family,
    leap_staircase,
    visible_at_leap,
)
from giantstep.theory.learnability.thresholds import easy_thresholds
from giantstep.theory.repetition import _predicted_reach


@pytest.mark.parametrize(
    ("text", "exponent"),
    [("sin(5*h1)", 1), ("sin(6*h1)", 1), ("sin(7*h1)", 1), ("cos(2*pi*h1)", 2)],
)
def test_faint_correlations_count(text: str, exponent: int) -> None:
    """E[sin(6 h) h] = 6 exp(-18) is 1e-7, and not zero."""
    assert leap_staircase(Target(text)).first_leap == exponent
    assert grand_staircase(Target(text)).first_leap == exponent


@pytest.mark.parametrize("text", ["h1**2*exp(-h1**2)", "cos(3*h1)", "sign(h1*h2*h3)", "He4(h1)"])
def test_rounding_does_not(text: str) -> None:
    expected = {"h1**2*exp(-h1**2)": 4, "cos(3*h1)": 2, "sign(h1*h2*h3)": 3, "He4(h1)": 4}
    assert leap_staircase(Target(text)).first_leap == expected[text]


#: Sums and products whose directions symmetry makes equal, with thresholds in closed form.
TIED = [
    # E[h h^T | y] = (y/5) I with y of chi-square law: alpha = 1/E[(y/5 - 1)^2] = 5/2.
    ("h1**2 + h2**2 + h3**2 + h4**2 + h5**2", 2.5),
    ("h1*h2 + h3*h4 + h5*h6", None),
    ("(h1*h2*h3 > 1)", None),
]


@pytest.mark.parametrize(("text", "alpha"), TIED)
def test_symmetric_directions_have_one_threshold(text: str, alpha: float | None) -> None:
    target = Target(text)
    first, second = (easy_thresholds(target, seed=seed) for seed in (0, 1))
    for (found,) in (first, second):
        assert len(found.directions) == target.rank
        assert found.alpha is not None
        if alpha is not None:
            assert abs(found.alpha.value - alpha) < 3 * found.alpha.error
            assert found.alpha.error < 0.03 * alpha
    one, two = first[0].alpha, second[0].alpha
    assert abs(one.value - two.value) < 3 * math.hypot(one.error, two.error)


def test_directions_of_one_stair_may_have_two_thresholds() -> None:
    """sign(h1*h2*h3)*h1 is |h1| sign(h2*h3): phase retrieval, then a product of two signs."""
    first, second = easy_thresholds(Target("sign(h1*h2*h3)*h1"))
    assert first.alpha.value == pytest.approx(0.5, abs=1e-7)
    assert second.alpha.value == pytest.approx(math.pi**2 / 4, abs=1e-6)
    np.testing.assert_allclose(np.abs(second.directions), np.eye(3)[1:], atol=1e-12)


@pytest.mark.parametrize("text", ["*".join(f"h{i}" for i in range(1, 11)), "He10(h1)"])
def test_leaps_beyond_dense_tensors(text: str) -> None:
    (stair,) = leap_staircase(Target(text)).stairs
    assert (stair.leap, len(stair.directions)) == (10, Target(text).rank)


def test_powers_of_a_long_product_end_early() -> None:
    """The sixth power of twelve directions has 4^12 terms: explaining them took over 1.5 GB."""
    found = label_powers(Target("*".join(f"h{i}" for i in range(1, 13))), 2)
    assert found is not None
    assert found.coefficients[2, *[0] * 11].shape == (1, 1)


def test_symmetries_of_many_directions_take_little_memory() -> None:
    """All edges of their graph at once were 4.2 GB for twenty directions, .22 GB for twelve."""
    target = Target("*".join(f"h{i}" for i in range(1, 13)))
    tracemalloc.start()
    mean = symmetrised_by_target(target, np.random.default_rng(0).normal(size=(12,) * 4))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 2e7
    # Changes of sign leave pairs of equal slots, exchanges make all of them equal.
    assert mean[0, 1, 0, 1] == mean[5, 9, 5, 9] != 0
    assert mean[0, 1, 2, 1] == mean[0, 0, 0, 1] == 0


def test_a_direction_that_uses_every_axis_may_end_a_staircase() -> None:
    """It was a ValueError where tensors are too large, as for the largest of twenty directions."""
    every = "+".join(f"h{i}" for i in range(1, 21))
    found = leap_staircase(Target(f"{every} + h1*h2*h3*h4*h5*h6*h7*h8"))
    assert [(stair.leap, len(stair.directions)) for stair in found.stairs] == [(1, 1)]


def test_coefficients_alone_show_what_tensors_show() -> None:
    target = Target("h1 + 2*He2(h1)*h2*h3 + He3(h2)*h1 - h2*h3 + h3*He2(h2)/2")
    found, tensors = leap_hermite_family(target, 8)
    for learned, leap in ((np.zeros((0, 3)), 2), (np.eye(3)[:1], 1), (np.eye(3)[:1], 2)):
        dense = visible_at_leap(found, tensors, learned, leap)
        sparse = _visible_leap_axes(target_expansion(target, 8), learned, leap)
        np.testing.assert_allclose(sparse.strengths, dense.strengths, rtol=1e-10)


def test_fewer_ways_never_reach_more_directions() -> None:
    found = explain("sign(h1)*h2**2 + h1")
    ways = found.repetition
    assert ways
    assert "-" not in found.samples["repetition"]
    for count in range(1, len(ways)):
        assert _predicted_reach(ways[:count], len(ways)) <= _predicted_reach(ways, len(ways))
