"""Quadrature and polynomials on the sphere."""

from __future__ import annotations

import math

import numpy as np
import pytest

from giantstep.numerics.gegenbauer import (
    coordinate_rule,
    even_moment_on_sphere,
    gaussian_radii,
    harmonic_dimension,
    orthonormal_gegenbauer,
)


@pytest.mark.parametrize("dim", [3, 4, 10, 24, 1000, 10**6, 10**24])
def test_polynomials_are_orthonormal(dim: int) -> None:
    t, weights = coordinate_rule(dim)
    p = orthonormal_gegenbauer(t, 12, dim)
    assert (p * weights) @ p.T == pytest.approx(np.eye(13), abs=1e-9)


@pytest.mark.parametrize("dim", [3, 10, 300])
def test_value_at_one_is_the_root_of_the_multiplicity(dim: int) -> None:
    p = orthonormal_gegenbauer(np.array([1.0]), 6, dim)[:, 0]
    multiplicities = [
        math.comb(dim + k - 1, k) - (math.comb(dim + k - 3, k - 2) if k > 1 else 0)
        for k in range(7)
    ]
    assert p**2 == pytest.approx(multiplicities, rel=1e-10)
    found = [harmonic_dimension(k, dim) for k in range(7)]
    assert found == pytest.approx(multiplicities, rel=1e-12)


def test_kinks_split_the_rule() -> None:
    t, weights = coordinate_rule(50, [0.1])
    exact = np.polynomial.legendre.leggauss(400)
    nodes = 0.1 + (exact[0] + 1) * 0.45
    density = (1 - nodes**2) ** 23.5
    norm = math.gamma(25) / (math.gamma(24.5) * math.sqrt(math.pi))
    expected = norm * 0.45 * (exact[1] * density) @ (nodes - 0.1)
    assert weights @ np.maximum(t - 0.1, 0) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("dim", [3, 30, 10**6])
def test_moments(dim: int) -> None:
    t, weights = coordinate_rule(dim)
    for m in (0, 2, 4, 6):
        assert weights @ t**m == pytest.approx(even_moment_on_sphere(m, dim), rel=1e-10)
    radii, masses = gaussian_radii(dim, 8)
    assert masses.sum() == pytest.approx(1)
    assert masses @ radii**2 == pytest.approx(dim)
    assert masses @ radii**6 == pytest.approx(dim * (dim + 2) * (dim + 4))
