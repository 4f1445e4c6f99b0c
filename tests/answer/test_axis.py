"""An axis: its labels, and where its values stand."""

from __future__ import annotations

import pytest

from giantstep.answer import Axis
from giantstep.language.sizes import Size, StepInSamples


def size(text: str) -> Size:
    return Size.parse(text)


@pytest.mark.parametrize(
    ("values", "numbers", "title", "ticks"),
    [
        ((0.1, 10), (0.1, 10), "samples", None),
        ((size("100"), size("4096")), (100, 4096), "samples", None),
        ((size("0.5d"), size("2d")), (0.5, 2), "samples / d", None),
        ((size("2d^1.5"), size("3*d^1.5")), (2, 3), "samples / d^1.5", None),
        ((size("d"), size("d^2")), (1, 2), "samples, power of d", None),
        ((size("d"), size("2d^2")), (0, 1), "samples", ["d", "2*d^2"]),
        (("gaussian", "sphere"), (0, 1), "samples", ["gaussian", "sphere"]),
        ((StepInSamples(1.0, 0.25),), (0,), "samples", ["n^0.25"]),
    ],
)
def test_where_values_stand(
    values: tuple[object, ...], numbers: tuple[float, ...], title: str, ticks: list[str] | None
) -> None:
    found = Axis("samples", values)
    assert (found.numbers, found.title, found.ticks) == (numbers, title, ticks)


def test_wide_ranges_are_seen_by_decades() -> None:
    assert Axis("ridge", (1e-4, 1.0)).is_logarithmic
    assert not Axis("ridge", (0.0, 1.0)).is_logarithmic
    assert not Axis("ridge", (0.1, 1.0)).is_logarithmic
