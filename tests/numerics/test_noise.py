"""Normals from bits: the words of jax.random, the quantile function, and a standard normal law."""

from __future__ import annotations

import jax.extend.random
import jax.numpy as jnp
import numpy as np
from scipy.special import ndtri
from scipy.stats import kstest

from giantstep.numerics.noise import BLOCK, normal_noise, normals_of_bits, threefry

KEY = jnp.array([0x12345678, 0x9ABCDEF0], jnp.uint32)


def test_its_words_are_those_of_jax() -> None:
    counter = jnp.arange(10, dtype=jnp.uint32)
    theirs = jax.extend.random.threefry_2x32(KEY, counter)
    ours = threefry((KEY[0], KEY[1]), (counter[:5], counter[5:]))
    np.testing.assert_array_equal(jnp.concatenate(ours), theirs)


def test_the_law_is_normal_and_steps_are_independent() -> None:
    index = jnp.arange(200_000, dtype=jnp.uint32)
    first, second = (np.asarray(normal_noise(KEY, jnp.uint32(k), index)) for k in (0, 1))
    for noise in (first, second):
        assert noise.dtype == np.float32
        assert np.all(np.isfinite(noise))
        assert kstest(noise, "norm").pvalue > 1e-4
    for left, right in ((first, second), (first[1:], first[:-1]), (first**2 - 1, second**2 - 1)):
        correlation = np.corrcoef(left, right)[0, 1]
        assert abs(correlation) < 4 / np.sqrt(len(left))
    # The same place gives the same number, whatever is asked for beside it: up to rounding, which
    # may differ between a lone number and one of a vector.
    alone = normal_noise(KEY, jnp.uint32(1), index[7:9])
    np.testing.assert_allclose(alone, second[7:9], rtol=1e-5)


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
