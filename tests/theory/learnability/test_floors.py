"""Error floors of the second layer, exactly."""

from __future__ import annotations

import math

import pytest

from giantstep.language.targets import Target
from giantstep.theory.learnability.floors import second_layer_floors

FINAL = "h1 + He2(h2) + He2(h1)*h2 + He4(h1)*He2(h2)*h3 + He2(h2)*He2(h3)"


def table(text: str) -> dict[tuple[int, int, int], tuple[int, int, str, float]]:
    return {
        (f.sample_power, f.width_power, f.steps): (
            len(f.directions),
            f.kappa,
            f.fitted,
            f.floor.value,
        )
        for f in second_layer_floors(Target(text))
    }


def test_every_regime_of_the_published_example() -> None:
    found = table(FINAL)
    assert len(found) == 2 * 3 * 4
    two = "h1, He2(h2), He2(h1)*h2"
    expected = {
        (1, 0, 1): (1, 0, "h1", 56.0),
        (1, 1, 1): (1, 1, "h1, He2(h1)*h2", 54.0),
        (2, 0, 1): (2, 0, two, 52.0),
        (2, 1, 1): (2, 1, f"{two}, He4(h1)*He2(h2)*h3", 4.0),
        (2, 2, 1): (2, 2, "everything", 0.0),
        (1, 0, 0): (0, 0, "the mean", 57.0),
        (1, 1, 0): (0, 1, "h1", 56.0),
        (2, 2, 0): (0, 2, "h1, He2(h2)", 54.0),
        (1, 0, 2): (2, 0, two, 52.0),
        (1, 1, 2): (2, 1, f"{two}, He4(h1)*He2(h2)*h3", 4.0),
        (1, 0, 3): (3, 0, "everything", 0.0),
        (1, 1, 3): (3, 1, "everything", 0.0),
    }
    assert {key: found[key] for key in expected} == expected
    assert all(found[1, 2, step] == found[1, 1, step] for step in range(4))


def test_equal_and_opposite_links() -> None:
    opposite, equal = table("h1 + He2(h1) + h2 - He2(h2)"), table("h1 + He2(h1) + h2 + He2(h2)")
    assert opposite[1, 0, 1][3] == pytest.approx(4.0, rel=1e-12)
    assert opposite[1, 1, 1][3] == 0.0
    assert opposite[1, 0, 2][3] == 0.0
    for width, steps in [(0, 1), (1, 1), (0, 3), (1, 3)]:
        assert equal[1, width, steps][3] == pytest.approx(2.0, rel=1e-12)
    assert equal[2, 2, 0][3] == 0.0


def test_kinks_are_integrated_exactly() -> None:
    found = table("h1 + abs(h2)*h1")
    assert found[1, 0, 1][3] == pytest.approx(1 - 2 / math.pi, abs=1e-10)
    assert found[1, 0, 1][2] == "any function of h1"
    assert found[2, 2, 1][3] == pytest.approx(0.0450703, abs=1e-6)
    assert found[2, 1, 2][2] == "everything"


def test_floors_fall_with_steps_width_and_samples() -> None:
    found = table("tanh(h1) + h1*abs(h2) + sign(h2)*h3")
    for (samples, width, steps), (*_, floor) in found.items():
        for other in [(2, width, steps), (samples, 2, steps), (samples, width, 3)]:
            assert found[other][3] <= floor + 1e-9


def test_what_is_fitted_whole_leaves_nothing() -> None:
    """Rounding left 1.3e-15, which the report wrote on a bar and in a sentence."""
    everything = [row for row in table("tanh(h1) + h1*h2").values() if row[2] == "everything"]
    assert everything
    assert all(row[3] == 0.0 for row in everything)
