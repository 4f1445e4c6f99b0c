"""Quadrature split at kinks: surfaces of any shape, one axis inside the other."""

from __future__ import annotations

import math

import numpy as np
import pytest

from giantstep.numerics.grids import aligned_grid, grid_split_at_surfaces, hermite_grid


def test_moments_of_a_smooth_function() -> None:
    grid = hermite_grid(2, 20)
    h = grid.points()
    table = grid.contract(h[..., 0] ** 3 * h[..., 1], [4, 2])
    assert table[3, 1] == pytest.approx(6.0)
    assert table[1, 1] == pytest.approx(3.0)
    assert table[2, 1] == pytest.approx(0.0, abs=1e-12)


def test_axes_left_pointwise() -> None:
    grid = aligned_grid([(), (0.0,)], 3.0, 16)
    h = grid.points()
    given_first = grid.contract(h[..., 0] * np.abs(h[..., 1]), [None, 0])[..., 0]
    np.testing.assert_allclose(given_first, h[:, 0, 0] * math.sqrt(2 / math.pi), atol=1e-12)


def test_a_disc_is_integrated_although_its_edge_is_curved() -> None:
    grid = grid_split_at_surfaces([[], [lambda h: h[..., 0] ** 2 + h[..., 1] ** 2 - 2]], 1.67, 24)
    h = grid.points()
    inside = h[..., 0] ** 2 + h[..., 1] ** 2 < 2
    assert grid.average(1.0 * inside) == pytest.approx(1 - math.exp(-1), abs=1e-11)


def test_the_largest_of_three_normals() -> None:
    surfaces = [
        [],
        [lambda h: h[..., 0] - h[..., 1]],
        [lambda h: h[..., 0] - h[..., 2], lambda h: h[..., 1] - h[..., 2]],
    ]
    grid = grid_split_at_surfaces(surfaces, 3.34, 16)
    assert grid.average(grid.points().max(axis=-1)) == pytest.approx(
        1.5 / math.sqrt(math.pi), abs=1e-9
    )
