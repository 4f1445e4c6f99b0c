"""A sweep: its labels, its positions on an axis, arrays over points of different shapes."""

from __future__ import annotations

import numpy as np
import pytest

from giantstep.sweep import Positions, Sweep


def test_shapes_may_change_along_a_sweep() -> None:
    stacked = Sweep("steps", (1, 2), (np.ones((2, 1)), np.ones((3, 2)))).stack(lambda x: x)
    assert stacked.shape == (2, 3, 2)
    assert np.isnan(stacked[0]).sum() == 4
    assert not np.isnan(stacked[1]).any()


def test_a_sweep_has_a_value_for_each_point() -> None:
    for values, points in (((1, 2), (1,)), ((), ())):
        with pytest.raises(ValueError, match="points"):
            Sweep("ridge", values, points)


@pytest.mark.parametrize(
    ("values", "numbers", "label", "ticks"),
    [
        ((0.1, 10), [0.1, 10], "samples", None),
        (("0.5d", "2d"), [0.5, 2], "samples / d", None),
        (("2d^1.5", "3*d^1.5"), [2, 3], "samples / d^1.5", None),
        (("d", "d^2"), [1, 2], "samples, power of d", None),
        (("d", "2d^2"), [0, 1], "samples", ["d", "2d^2"]),
        (("gaussian", "sphere"), [0, 1], "samples", ["gaussian", "sphere"]),
    ],
)
def test_where_values_stand(
    values: tuple[object, ...], numbers: list[float], label: str, ticks: list[str] | None
) -> None:
    found = Positions("samples", values)
    assert (list(found.of.values()), found.label, found.ticks) == (numbers, label, ticks)


def test_wide_ranges_are_seen_by_decades() -> None:
    assert Positions("ridge", (1e-4, 1.0)).is_logarithmic
    assert not Positions("ridge", (0.0, 1.0)).is_logarithmic
    assert not Positions("ridge", (0.1, 1.0)).is_logarithmic
