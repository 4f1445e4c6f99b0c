from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
from scipy.stats import kstest

from giantstep.learners.giant_step.draws import (
    BLOCK,
    Chunks,
    Draws,
    Role,
    draw_bartlett,
    draw_batch_ahead,
)


def test_numbers_depend_on_seed_and_path_alone() -> None:
    shape = (3, BLOCK)
    with ThreadPoolExecutor(1) as one, ThreadPoolExecutor(3) as three:
        alone = Draws([7], one).normal(shape, Role.BATCH, 1, 2, dtype="float32")
        among = Draws([5, 7, 9], three).normal(shape, Role.BATCH, 1, 2, dtype="float32")
        elsewhere = Draws([7], one).normal(shape, Role.BATCH, 2, 1, dtype="float32")
    np.testing.assert_array_equal(alone[0], among[1])
    assert abs(np.corrcoef(alone.ravel(), elsewhere.ravel())[0, 1]) < 5e-3
    blocks = alone.reshape(3, -1)
    assert np.abs(np.corrcoef(blocks) - np.eye(3)).max() < 1e-2
    assert kstest(alone.ravel()[::7].astype(float), "norm").pvalue > 1e-4


def test_bartlett_factor_has_the_gram_of_a_gaussian_matrix() -> None:
    """Q = G G^T: E Q = f I; Var Q_ij = f off the diagonal, 2 f on it."""
    rows, freedom, runs = 3, 5, 20_000
    with ThreadPoolExecutor(1) as executor:
        factors = draw_bartlett(Draws(range(runs), executor), rows, freedom, Role.BARTLETT, 0)
    gram = factors @ factors.mT
    sem = np.sqrt((freedom + freedom * np.eye(rows)) / runs)
    assert np.all(np.abs(gram.mean(axis=0) - freedom * np.eye(rows)) < 4.5 * sem)
    np.testing.assert_allclose(gram.var(axis=0), freedom * (1 + np.eye(rows)), rtol=0.08)


def test_bartlett_factor_is_trapezoidal_and_exact_in_huge_dimension() -> None:
    with ThreadPoolExecutor(1) as executor:
        draws = Draws(range(4000), executor)
        assert draw_bartlett(draws, 5, 3, Role.BARTLETT, 0).shape == (4000, 5, 3)
        assert draw_bartlett(draws, 5, 0, Role.BARTLETT, 0).shape == (4000, 5, 0)
        huge = draw_bartlett(draws, 1, 10**9, Role.BARTLETT, 0)[:, 0, 0]
    # chi of 1e9 degrees is N(sqrt(1e9), 1/2): in float32 its fluctuation would be rounded away.
    assert kstest((huge - np.sqrt(1e9)) * np.sqrt(2), "norm").pvalue > 1e-4


def test_chunks_cover_every_sample_once() -> None:
    for samples in (1, 5, 64, 1000, 4097):
        for most in (1, 3, 64, 5000):
            chunks = Chunks.of(samples, most)
            filled = [chunks.filled(i) for i in range(chunks.count)]
            assert sum(filled) == samples
            assert chunks.rows <= most
            assert min(filled) >= 1


def test_one_ahead_begins_the_next_before_the_last_is_used() -> None:
    log: list[str] = []

    def begin(index: int):
        log.append(f"begin {index}")
        return lambda: index

    for item in draw_batch_ahead(begin, 3):
        log.append(f"use {item}")
    assert log == ["begin 0", "begin 1", "use 0", "begin 2", "use 1", "use 2"]
