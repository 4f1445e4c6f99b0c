"""Monotone pieces: turning points by the derivative, saturation, and what is flat."""

from __future__ import annotations

import numpy as np

from giantstep.numerics.pieces import monotone_pieces


def test_a_derivative_finds_turning_points_to_rounding() -> None:
    pieces = monotone_pieces(np.cos, [], lambda z: -np.sin(z))
    np.testing.assert_allclose(pieces.low[1:], np.pi * np.arange(-2, 3), atol=1e-14)
    # A slope of exactly zero in the middle of the scan is a turning point too.
    np.testing.assert_allclose(
        monotone_pieces(np.square, [], lambda z: 2 * z).low, [-9, 0], atol=1e-14
    )


def test_what_saturates_in_float64_still_rises() -> None:
    steep = monotone_pieces(lambda z: np.tanh(5 * z), [], lambda z: 5 / np.cosh(5 * z) ** 2)
    assert len(steep) == 1
    assert not steep.flat.any()
    root = steep.roots(np.array([0.5]))[0, 0]
    np.testing.assert_allclose(root, np.arctanh(0.5) / 5, rtol=1e-12)


def test_what_is_level_from_kink_to_kink_is_flat() -> None:
    relu = monotone_pieces(lambda z: np.maximum(z, 0), [0.0], lambda z: np.where(z > 0, 1.0, 0.0))
    assert relu.flat.tolist() == [True, False]
    assert np.isnan(relu.roots(np.array([0.0]))[0, 0])
