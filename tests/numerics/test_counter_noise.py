"""Noise computed from its place: the words of jax.random, and a standard normal law."""

from __future__ import annotations

import jax.extend.random
import jax.numpy as jnp
import numpy as np
from scipy.stats import kstest

from giantstep.numerics.counter_noise import normal_noise, threefry

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
