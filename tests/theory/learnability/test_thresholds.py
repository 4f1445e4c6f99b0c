"""Sample thresholds: published values, closed forms, later stairs, honest errors."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import k0, k1, ndtr

from giantstep.errors import NoTheory
from giantstep.language.targets import Target
from giantstep.language.targets.integration import target_block
from giantstep.theory.learnability.later_thresholds import (
    _ConditionalLaw,
    _next_overlap,
    later_threshold,
)
from giantstep.theory.learnability.thresholds import easy_thresholds, weak_recovery_threshold

SIGN2 = math.pi**2 / 4

#: Target, noise variance, alpha_c: to 1e-4, by exact routes.
EXACT = [
    ("h1**2", 0.0, 0.5),
    ("abs(h1)", 0.0, 0.5),
    ("h1**2", 0.1, 0.51807),
    ("h1**2", 0.5, 0.57799),
    ("h1**2", 1.0, 0.64659),
    ("abs(h1)", 0.1, 0.60429),
    ("abs(h1)", 0.5, 1.08310),
    ("abs(h1)", 1.0, 1.76206),
    ("He4(h1)", 0.0, 0.64485),
    ("He4(h1)", 0.1, 0.6671025),
    ("cos(h1)", 0.0, 0.50910),
    ("cos(3*h1)", 0.0, 50.000),
    ("(|h1| < 1)", 0.0, 0.924958),
    ("sign(h1*h2)", 0.0, SIGN2),
    ("sign(h1*h2)", 0.1, 2.47337),
    ("sign(h1*h2)", 1.0, 4.48292),
    ("h1*h2", 0.0, 0.593751),
    ("h1**2 + sign(h1*h2*h3)", 0.0, 0.575166),
    ("He2(h1) + sign(h1*h2*h3)", 0.0, 0.575166),
    ("He4(h1) + sign(h1*h2*h3)", 0.0, 0.687853),
    ("(h1 + h2 + h3)**8", 0.0, 0.5),
    ("abs(h1 - h2)", 0.0, 0.5),
]


@pytest.mark.parametrize(("text", "noise", "value"), EXACT)
def test_exact_thresholds(text: str, noise: float, value: float) -> None:
    found = weak_recovery_threshold(Target(text), noise)
    assert found.value == pytest.approx(value, rel=1e-4)
    assert found.error < 1e-4 * value


#: Sampled labels: the bar is 1.5 %, what the lines reach is a good deal better.
SAMPLED = [
    ("h1*h2*h3", 2.56518, 5e-3),
    ("h1**2 + h2**2", 1.0, 1e-3),
]


@pytest.mark.parametrize(("text", "value", "bar"), SAMPLED)
def test_sampled_thresholds(text: str, value: float, bar: float) -> None:
    found = easy_thresholds(Target(text))[0].alpha
    assert "Monte Carlo" in found.method
    assert found.value == pytest.approx(value, rel=bar)
    assert 0 < found.error < bar * value


def test_product_of_two_by_its_own_integral() -> None:
    integral, _ = quad(lambda y: y**2 * k1(y) ** 2 / k0(y), 0, 60)
    found = weak_recovery_threshold(Target("h1*h2"))
    assert found.value == pytest.approx(math.pi / (2 * integral), rel=1e-4)


@pytest.mark.parametrize("edge", [0.4, 1.0, 1.7])
def test_a_window_in_closed_form(edge: float) -> None:
    """alpha_c = p (1 - p) / (2 t phi(t))^2 for the label 1{|h| < t}."""
    density = math.exp(-(edge**2) / 2) / math.sqrt(2 * math.pi)
    p = math.erf(edge / math.sqrt(2))
    found = weak_recovery_threshold(Target(f"(|h1| < {edge})"))
    assert found.value == pytest.approx(p * (1 - p) / (2 * edge * density) ** 2, rel=1e-9)


def test_noise_raises_the_threshold() -> None:
    values = [weak_recovery_threshold(Target("cos(h1)"), v).value for v in (0.0, 0.01, 0.1)]
    assert values == sorted(values)
    assert len(set(values)) == 3


def test_trivial_and_hard_targets_have_no_threshold() -> None:
    assert weak_recovery_threshold(Target("He3(h1)")).value == 0.0
    with pytest.raises(NoTheory, match="not easy"):
        weak_recovery_threshold(Target("sign(h1*h2*h3)"))


@pytest.mark.parametrize("first", ["h1**2", "He2(h1)", "He4(h1)"])
def test_second_stair_is_a_sign_of_two(first: str) -> None:
    _, later = easy_thresholds(Target(f"{first} + sign(h1*h2*h3)"))
    assert later.alpha.value == pytest.approx(SIGN2, rel=1e-6)
    np.testing.assert_allclose(
        later.directions.T @ later.directions, np.diag([0.0, 1.0, 1.0]), atol=2e-2
    )


def test_state_evolution_of_the_first_direction() -> None:
    """Overlaps of h1 in h1^2 + sign(h1 h2 h3) while h2, h3 are at zero; jump to 1 before 1.4."""
    law = _ConditionalLaw.of(
        target_block(Target("h1**2 + sign(h1*h2*h3)")), np.eye(3)[:1], np.eye(3)[1:]
    )
    channel = law.channel()
    for alpha, expected in {0.8: 0.11846, 1.0: 0.27917}.items():
        overlap = 0.2
        for _ in range(60):
            overlap = _next_overlap(channel, overlap, alpha)
        assert overlap == pytest.approx(expected, rel=0.03)
    assert not law.recovers(1.2)
    assert law.recovers(1.5)


def test_a_bound_across_a_kink() -> None:
    """step(h1) step(h2) is 1 where |v| < u, with u, v = (h1 +- h2)/sqrt(2).

    Given u > 0 the label is 1 with probability p = 2 Phi(u) - 1, and E[v^2 - 1; y = 1 | u] is
    -2 u phi(u); for u < 0 it tells nothing.
    """

    def rate(u: float) -> float:
        density = math.exp(-(u**2) / 2) / math.sqrt(2 * math.pi)
        inside, outside = 1 - 2 * ndtr(-u), 2 * ndtr(-u)
        return density * (2 * u * density) ** 2 / (inside * outside)

    integral, _ = quad(rate, 0, 12, epsabs=1e-13)
    (only,) = easy_thresholds(Target("step(h1)*step(h2)"))
    assert only.alpha is None
    assert only.above.value == pytest.approx(2.8616673, abs=1e-5)
    assert only.above.value == pytest.approx(1 / integral, rel=1e-7)
    assert f"above {1 / integral:.5g}" in only.reason


@pytest.mark.parametrize(
    ("text", "noise", "reason"),
    [
        ("h1 + abs(h2)", 0.0, "continuous"),
        ("h1**2 + sign(h1*h2)", 0.1, "noise"),
    ],
)
def test_unknown_thresholds_say_why(text: str, noise: float, reason: str) -> None:
    found = later_threshold(Target(text), np.eye(2)[:1], np.eye(2)[1:], noise)
    assert found.alpha is None
    assert reason in found.reason


def test_weaker_directions_of_the_same_stair_are_kept_apart() -> None:
    strong, weak = easy_thresholds(Target("h1**2 + 0.3*h2**2"))
    np.testing.assert_allclose(strong.directions, [[1.0, 0.0]], atol=1e-2)
    np.testing.assert_allclose(np.abs(weak.directions), [[0.0, 1.0]], atol=1e-2)
    assert weak.alpha is None
    assert 0.5 < strong.alpha.value < 1.0
