"""Spans of equal spikes in Gaussian noise at finite dimension: theory against simulation."""

from __future__ import annotations

import math

import numpy as np
import pytest

from giantstep.numerics.estimate import student_quantile
from giantstep.theory.three_layer.many_spikes import many_spikes_span


def simulated(spikes: int, dim: int, strength: float, draws: int) -> tuple[float, float]:
    """Mean span and its error, for as many spikes of either sign."""
    rng = np.random.default_rng([spikes, dim, 16])
    noise = rng.standard_normal((draws, dim, dim))
    matrices = (noise + noise.transpose(0, 2, 1)) / math.sqrt(2 * dim)
    places = np.arange(spikes)
    matrices[:, places, places] += math.sqrt(strength) * np.resize([1, -1], spikes)
    values, vectors = np.linalg.eigh(matrices)
    top = np.argsort(-np.abs(values), axis=1)[:, :spikes]
    held = np.take_along_axis(vectors[:, :spikes, :], top[:, None, :], axis=2) ** 2
    spans = held.sum(axis=(1, 2)) / spikes
    return float(spans.mean()), float(spans.std(ddof=1) / math.sqrt(draws))


@pytest.mark.parametrize(
    ("sizes", "strength", "draws"),
    [
        # Few spikes far beyond the bulk, which scatter; many, near it and in it.
        (((2, 20), (2, 40)), 4.0, 3000),
        (((4, 32), (8, 64)), 2.0, 400),
        (((4, 32), (8, 64)), 1.2, 400),
    ],
)
def test_spans_agree_and_the_limit_of_one_spike_does_not(
    sizes: tuple[tuple[int, int], ...], strength: float, draws: int
) -> None:
    quantile = student_quantile(draws)
    gaps, sems, misses = [], [], []
    for spikes, dim in sizes:
        alone = 1 - (1 - spikes / dim) / strength
        mean, sem = simulated(spikes, dim, strength, draws)
        gaps.append(abs(mean - many_spikes_span(alone, spikes, dim)))
        misses.append(abs(mean - alone))
        sems.append(sem)
    # What is left beyond order 1/d is at least halved when the dimension is doubled.
    allowed = quantile * sems[1] + (gaps[0] + quantile * sems[0]) / 2
    assert gaps[1] <= allowed, (gaps, sems)
    assert gaps[1] < misses[1] / 2


def test_spikes_in_the_bulk_go_over_into_spikes_beyond_it() -> None:
    overlaps = np.linspace(-4, 0.99, 120)
    spans = np.array([many_spikes_span(q, 8, 64) for q in overlaps])
    assert np.all(np.diff(spans) > 0)
    # No step is larger than those of the overlap itself.
    assert np.max(np.diff(spans)) < 1.5 * (overlaps[1] - overlaps[0])
    assert many_spikes_span(-math.inf, 8, 64) == 8 / 64
    assert many_spikes_span(0.5, 8, 8) == 1
    assert many_spikes_span(0.5, 1000, 10**6) == pytest.approx(0.5, abs=1e-4)
