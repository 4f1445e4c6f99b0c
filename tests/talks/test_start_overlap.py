"""Wu's wide networks: some neuron starts far above d^(-1/2), but only as (log p)^(1/2)."""

from __future__ import annotations

import numpy as np
from scipy import integrate, stats

import giantstep as gs

DIM, SEEDS = 1000, 80


def largest_start(width: int) -> float:
    """The mean of the largest of so many cosines of random directions, over d^(-1/2)."""

    def some_is_beyond(size: float) -> float:
        return 1 - (2 * stats.norm.cdf(size) - 1) ** width

    return float(integrate.quad(some_is_beyond, 0, 10)[0])


def test_the_largest_start_overlap_grows_with_the_logarithm_of_the_width() -> None:
    settings = gs.GiantStep(dim=DIM, width="256", readout="sign", samples="10", steps=1)
    cosines = gs.simulate(settings, "h1", seeds=SEEDS).arrays["cosines"][:, 0, :, 0]
    means = []
    for width in (8, 256):
        largest = np.abs(cosines[:, :width]).max(axis=1) * DIM**0.5
        error = stats.sem(largest)
        assert error < 0.05 * largest.mean()
        allowed = stats.t.ppf(1 - 0.5e-4, SEEDS - 1) * error
        assert abs(largest.mean() - largest_start(width)) < allowed
        means.append(largest.mean())
    # 32 times the neurons: not even twice the overlap, (2 log p)^(1/2) at most.
    assert 1.3 * means[0] < means[1] < np.sqrt(2 * np.log(256)) < 2 * means[0]
