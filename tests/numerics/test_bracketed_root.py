"""Roots that say when there was no bracket."""

from __future__ import annotations

import math

import pytest

from giantstep.numerics.bracketed_root import bracketed_root


def test_finds_the_root() -> None:
    root = bracketed_root(math.cos, 1.0, 2.0)
    assert root.converged
    assert root.value == pytest.approx(math.pi / 2, rel=1e-12)


@pytest.mark.parametrize("end", [0.0, 2.0])
def test_an_end_may_be_the_root(end: float) -> None:
    assert bracketed_root(lambda x: x - end, 0.0, 2.0) == (end, True)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: 1 + x**2,
        lambda x: math.nan,
        lambda x: math.nan if x > 0 else -1.0,
        lambda x: math.nan if 0 < x < 2 else x - 1,
    ],
    ids=["same sign", "NaN", "NaN at one end", "NaN on the way"],
)
def test_no_bracket_is_no_number(function: object) -> None:
    root = bracketed_root(function, 0.0, 2.0)  # type: ignore[arg-type]
    assert math.isnan(root.value)
    assert not root.converged
