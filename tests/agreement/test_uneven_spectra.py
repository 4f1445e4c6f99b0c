"""Spectra after one step where rows are not isotropic: theory against simulated networks."""

from __future__ import annotations

import numpy as np
import pytest

from giantstep.answer.answer import student_quantile
from giantstep.language.problem import Problem
from giantstep.learners.giant_step.spectra import (
    SimulatedSpectrum,
    simulate_feature_spectrum,
    simulate_weight_spectrum,
)
from giantstep.settings.giant_step import GiantStep
from giantstep.theory.one_step.spectra import predict_feature_spectrum, predict_weight_spectrum
from giantstep.theory.one_step.spectrum_prediction import SpectrumPrediction

PROBLEM, DIM, DRAWS = Problem.of("relu(h1)"), 180, 40
QUANTILE = student_quantile(DRAWS)


def settings_with(readout: str) -> GiantStep:
    sizes = {"samples": "10d", "width": "1d", "readout_samples": "2d", "dim": DIM}
    return GiantStep(activation="relu", readout=readout, step_size=3, **sizes)


def cumulative(theory: SpectrumPrediction, x: np.ndarray) -> np.ndarray:
    steps = np.diff(theory.x) * (theory.density[1:] + theory.density[:-1]) / 2
    # Below the first node the density is nearly constant.
    first = theory.density[0] * (theory.x[0] - theory.bulk_edges[0])
    return np.interp(x, theory.x, first + np.concatenate([[0.0], np.cumsum(steps)]))


def check(values: np.ndarray, expected: float, power: float, apart: float = 0.0) -> None:
    """Within a quantile of standard errors, which are small enough to see ``power``."""
    allowed = QUANTILE * values.std(ddof=1) / np.sqrt(len(values))
    assert allowed < power * abs(expected)
    assert abs(values.mean() - expected) < allowed + apart


def check_spectrum(
    theory: SpectrumPrediction, runs: list[SimulatedSpectrum], outliers: float
) -> None:
    """Outliers, overlaps, and the bulk; ``outliers``: the change of one that is seen."""
    for index, expected in enumerate(theory.outliers):
        check(np.array([run.values[index] for run in runs]), expected, outliers)
        for name, overlaps in theory.overlaps.items():
            seen = np.array([run.overlaps[name][index] for run in runs])
            check(seen, overlaps[index], 0.05, apart=1 / DIM)
    x = np.linspace(*theory.bulk_edges, 6)[1:-1]
    shares = np.array([run.cumulative(x) for run in runs])
    # The spike and the directions of the target move the count of values by at most their rank.
    rank = len(theory.outliers) + 1
    for share, expected in zip(shares.T, cumulative(theory, x), strict=True):
        check(share, expected, 0.05, apart=rank / DIM)


@pytest.mark.slow
@pytest.mark.parametrize("readout", ["ones", "symmetric-sign"])
def test_weights_and_features_of_a_relu(readout: str) -> None:
    settings = settings_with(readout)
    weights = predict_weight_spectrum(PROBLEM, settings)
    runs = [simulate_weight_spectrum(PROBLEM, settings, seed) for seed in range(DRAWS)]
    assert len(weights.outliers) == 1
    check_spectrum(weights, runs, 0.06)
    # Values of the outliers scatter with the square of the gradient's length.
    features = predict_feature_spectrum(PROBLEM, settings)
    runs = [simulate_feature_spectrum(PROBLEM, settings, seed) for seed in range(DRAWS)]
    assert len(features.outliers) == (1 if readout == "ones" else 2)
    check_spectrum(features, runs, 0.15)
