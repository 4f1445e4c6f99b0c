"""Normals from bits: the quantile function itself, and the law of what it makes of random bits."""

from __future__ import annotations

import numpy as np
from scipy.special import ndtri
from scipy.stats import kstest

from giantstep.numerics.normal_quantile import BLOCK, normals_of_bits


def bits_of(seed: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(2**32, size=BLOCK, dtype=np.uint32)


def test_it_is_the_quantile_function_out_to_the_last_bit() -> None:
    everywhere, far = bits_of(0), np.arange(BLOCK, dtype=np.uint32)
    for bits in (everywhere, far, far | np.uint32(1 << 31), far << np.uint32(14)):
        tail = ((bits & np.uint32(0x7FFFFFFF)) + 0.5) / 2**32
        exact = np.where(bits >> np.uint32(31), 1, -1) * ndtri(tail)
        np.testing.assert_allclose(normals_of_bits(bits), exact, rtol=4e-7, atol=2e-7)


def test_random_bits_become_normals() -> None:
    z = np.concatenate([normals_of_bits(bits_of(seed)) for seed in range(1, 9)]).astype(float)
    assert kstest(z, "norm").pvalue > 1e-4
    assert kstest(z[np.abs(z) > 3], lambda x: _beyond_three(x)).pvalue > 1e-4
    assert abs(np.corrcoef(z[:-1], z[1:])[0, 1]) < 4 / np.sqrt(len(z))
    # Mean, variance and fourth moment to four standard errors of two million numbers.
    error = 4 / np.sqrt(len(z))
    assert abs(z.mean()) < error
    assert abs(np.mean(z**2) - 1) < np.sqrt(2) * error
    assert abs(np.mean(z**4) - 3) < np.sqrt(96) * error


def _beyond_three(x: np.ndarray) -> np.ndarray:
    """Cumulative law of a normal that is known to lie beyond 3 in absolute value."""
    from scipy.stats import norm

    side = norm.sf(3)
    return np.where(x < 0, norm.cdf(np.minimum(x, -3)), 2 * side - norm.sf(np.maximum(x, 3))) / (
        2 * side
    )
