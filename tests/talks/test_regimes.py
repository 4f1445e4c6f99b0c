"""Stephan's table of regimes: which of five terms a readout fits, by the orders of n and p.

Rows have spikes of order one along what was learned, h1 for n ~ d, h1 and h2 for n ~ d^2. The terms
are those of the slide, of energy 1 each, with h1 h2 h3 for He4(h1) He2(h2) h3. The activation has
its first three Hermite coefficients alike: a term that is linear in a direction that was not
learned, times He2(h1), is fitted through the third, and relu has none. The last term, quadratic in
what was not learned, times He2(h2), takes a fourth one as large.
"""

from __future__ import annotations

import numpy as np
import pytest

TERMS = 5
SPIKE, RIDGE, DIM, SEEDS = 1.5, 1e-4, 32, 3
#: For n and p of order d^2: p^2 n operations grow as d^6.
SMALL_DIM = 14


def terms(inputs: np.ndarray) -> np.ndarray:
    """h1, He2(h2), He2(h1) h2, h1 h2 h3 and He2(h2) He2(h3), of unit variance each."""
    h1, h2, h3 = inputs[:, :3].astype(float).T
    squares = [(h * h - 1) / np.sqrt(2) for h in (h1, h2, h3)]
    return np.stack([h1, squares[1], squares[0] * h2, h1 * h2 * h3, squares[1] * squares[2]], 1)


def shares(
    dim: int, samples: int, width: int, learned: int, seed: int, quartic: float = 0.0
) -> np.ndarray:
    """The coefficient of each term in the fitted network: 1 where it is fitted, 0 where not."""
    rng = np.random.default_rng([dim, samples, width, seed])
    rows = rng.standard_normal((width, dim))
    rows[:, :learned] = 0
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    rows[:, :learned] = SPIKE * rng.standard_normal((width, learned))
    biases = rng.standard_normal(width)

    def features(inputs: np.ndarray) -> np.ndarray:
        z = inputs @ rows.T + biases
        square = z * z
        fourth = quartic * (square * square - 6 * square + 3) / np.sqrt(24)
        lower = z + (square - 1) / np.sqrt(2) + z * (square - 3) / np.sqrt(6)
        return (lower + fourth) / np.sqrt(width)

    inputs, fresh = rng.standard_normal((samples, dim)), rng.standard_normal((6000, dim))
    phi = features(inputs)
    gram = phi.T @ phi + RIDGE * samples * np.eye(width)
    readout = np.linalg.solve(gram, phi.T @ terms(inputs).sum(axis=1))
    return np.linalg.lstsq(terms(fresh), features(fresh) @ readout, rcond=None)[0]


@pytest.mark.parametrize(
    ("samples", "width", "learned", "fitted"),
    [
        (64 * DIM, 24, 1, [0]),
        (64 * DIM, 8 * DIM, 1, [0, 2]),
        (4 * DIM**2, 60, 2, [0, 1, 2]),
        (4 * DIM**2, 16 * DIM, 2, [0, 1, 2, 3]),
    ],
)
def test_terms_are_fitted_where_the_slide_says(
    samples: int, width: int, learned: int, fitted: list[int]
) -> None:
    found = np.mean([shares(DIM, samples, width, learned, seed) for seed in range(SEEDS)], axis=0)
    rest = [term for term in range(TERMS) if term not in fitted]
    assert found[fitted].min() > 0.5
    assert np.abs(found[rest]).max() < 0.3


def test_the_last_term_is_fitted_where_n_and_p_are_of_order_d_squared() -> None:
    dim, samples = SMALL_DIM, 16 * SMALL_DIM**2
    many, few = (
        np.mean([shares(dim, samples, width, 2, seed, 1.0) for seed in range(2)], axis=0)
        for width in (8 * dim**2, 8 * dim)
    )
    assert many.min() > 0.75
    assert few[-1] < 0.35
