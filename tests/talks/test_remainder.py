"""Moniri's features F = F_l + Delta: the spectral norm of Delta over sqrt(n) falls with n.

Taken literally from the slides: a ~ N(0, 1/N), f = a . sigma(W x). The network's own output F_0 a
is then of order 1, and beta = X^T (y - F_0 a)/n; with X^T y/n as printed nothing falls.
"""

from __future__ import annotations

import numpy as np

from giantstep.numerics.scaling import power_fit_of_samples

DIMS = np.array([100, 200, 400])
RUNS = 16
#: Hermite coefficients c_1, c_2 of the centred relu.
COEFFICIENTS = (0.5, 0.5 / np.sqrt(2 * np.pi))


def remainders(dim: int, alpha: float, seed: int) -> tuple[float, float, float]:
    """|F - F_1| and |F - F_2| over sqrt(n), and |F - F_1| with beta as printed."""
    rng, count = np.random.default_rng([dim, seed]), 3 * dim // 2
    readout = rng.standard_normal(dim) / np.sqrt(dim)
    weights = rng.standard_normal((dim, dim)) / np.sqrt(dim)
    inputs, fresh = rng.standard_normal((2, count, dim))
    labels = inputs[:, 0] + (inputs[:, 0] ** 2 - 1) / np.sqrt(2)
    fields, step = inputs @ weights.T, count**alpha
    residual = labels - _relu(fields) @ readout
    gradient = (residual[:, None] * readout * (fields > 0)).T @ inputs / count
    rest = _relu(fresh @ (weights + step * gradient).T) - _relu(fresh @ weights.T)
    projection, printed = (fresh @ (inputs.T @ each) / count for each in (residual, labels))
    one, two = COEFFICIENTS
    first = rest - one**2 * step * np.outer(projection, readout)
    second = first - one**2 * two * step**2 * np.outer(projection**2, readout**2)
    as_printed = rest - one**2 * step * np.outer(printed, readout)
    norms = [np.linalg.norm(each, 2) / np.sqrt(count) for each in (first, second, as_printed)]
    return norms[0], norms[1], norms[2]


def _relu(fields: np.ndarray) -> np.ndarray:
    return np.maximum(fields, 0) - 1 / np.sqrt(2 * np.pi)


def test_the_remainder_falls_where_the_theorem_says_so() -> None:
    small = np.array([[remainders(d, 0.2, seed) for seed in range(RUNS)] for d in DIMS])
    falls = power_fit_of_samples(DIMS, small[..., 0])
    assert falls.slope + 3 * falls.sem < 0
    # alpha = .2 is l = 1: a second spike changes nothing.
    np.testing.assert_allclose(small[..., 1].mean(1), small[..., 0].mean(1), rtol=0.1)
    # With beta as printed a spike of the network's own output stays.
    assert small[-1, :, 2].mean() > 1.4 * small[-1, :, 0].mean()
    assert power_fit_of_samples(DIMS, small[..., 2]).slope > falls.slope + 0.15
    # alpha = .3 is l = 2: one spike leaves a remainder that does not fall, two do better.
    large = np.array([[remainders(d, 0.3, seed) for seed in range(RUNS)] for d in DIMS])
    assert (
        power_fit_of_samples(DIMS, large[..., 0]).slope
        > power_fit_of_samples(DIMS, large[..., 1]).slope + 0.05
    )
    assert large[-1, :, 1].mean() < 0.8 * large[-1, :, 0].mean()
