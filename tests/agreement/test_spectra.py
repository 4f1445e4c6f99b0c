"""Spectra of weights and features after giant steps: theory against simulation."""

from __future__ import annotations

import numpy as np
import pytest
from agreement.agreeing import agrees

from giantstep.language.problem import Problem
from giantstep.learners.giant_step.spectra import (
    SimulatedSpectrum,
    simulate_feature_spectrum,
    simulate_weight_spectrum,
)
from giantstep.numerics.estimate import student_quantile
from giantstep.settings.giant_step import GiantStep
from giantstep.settings.spiked_random_features import SpikedRandomFeatures
from giantstep.theory.giant_step.spectra.prediction import (
    SpectrumPrediction,
    predict_feature_spectrum,
    predict_weight_spectrum,
)

PROBLEM, DIM, DRAWS = Problem.of("relu(h1)"), 180, 40
QUANTILE = student_quantile(DRAWS)


def cumulative(theory: SpectrumPrediction, x: np.ndarray) -> np.ndarray:
    steps = np.diff(theory.x) * (theory.density[1:] + theory.density[:-1]) / 2
    # Below the first node the density is nearly constant.
    first = theory.density[0] * (theory.x[0] - theory.bulk_edges[0])
    return np.interp(x, theory.x, first + np.concatenate([[0.0], np.cumsum(steps)]))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("ratio", "step", "loss"),
    [(1.5, 4.0, "correlation"), (0.5, 3.0, "correlation"), (1.0, 4.0, "square")],
)
def test_weight_spectrum(ratio: float, step: float, loss: str) -> None:
    problem, dim, draws = Problem.of("relu(h1)"), 300, 12
    settings = GiantStep(
        activation="tanh", readout="sign", samples="2d", width=f"{ratio}d", dim=dim,
        step_size=step / np.sqrt(ratio * dim), loss=loss,
    )  # fmt: skip
    theory = predict_weight_spectrum(problem, settings)
    runs = [simulate_weight_spectrum(problem, settings, seed) for seed in range(draws)]
    pairs = [([run.values[0] for run in runs], theory.outliers[0])] + [
        ([run.overlaps[name][0] for run in runs], overlap[0])
        for name, overlap in theory.overlaps.items()
    ]
    quantile = student_quantile(draws)
    for measured, expected in pairs:
        error = np.std(measured, ddof=1) / np.sqrt(draws)
        assert error < 0.03
        assert abs(np.mean(measured) - expected) < 0.01 + quantile * error
    # The largest value of the bulk stays below the edge by about d^(-2/3).
    second = np.mean([run.values[1] for run in runs])
    assert 0.96 < second / theory.bulk_edges[1] < 1.005
    x = np.linspace(*theory.bulk_edges, 9)[1:-1]
    empirical = np.mean([run.cumulative(x) for run in runs], axis=0) * min(1, 1 / ratio)
    np.testing.assert_allclose(cumulative(theory, x), empirical, atol=0.02)


@pytest.mark.slow
def test_feature_spectrum() -> None:
    problem = Problem.of("sin(h1)")
    model = SpikedRandomFeatures(activation="tanh", spike="-1.5:0.5,3:0.5", dim=400)
    step = GiantStep(
        activation="tanh", readout="-1:0.5,2:0.5", samples="8d", step_size=2, width="1d",
        readout_samples="2d", dim=400,
    )  # fmt: skip
    for settings in (model, step):
        theory = predict_feature_spectrum(problem, settings)
        runs = [simulate_feature_spectrum(problem, settings, seed) for seed in range(3)]
        for index, outlier in enumerate(theory.outliers):
            measured = np.mean([run.values[index] for run in runs])
            assert measured == pytest.approx(outlier, rel=0.04)
            blocks = np.mean([run.overlaps["blocks"][index] for run in runs])
            assert blocks == pytest.approx(theory.overlaps["blocks"][index], abs=0.03)
        after = np.mean([run.values[len(theory.outliers)] for run in runs])
        assert after < 1.05 * theory.bulk_edges[1]
        z = np.array([0.3 + 0.1j, 0.8 + 0.1j])
        curve = np.array([np.trapezoid(theory.density / (theory.x - at), theory.x) for at in z])
        measured = [np.mean([1 / (run.values - at) for run in runs]) for at in z]
        np.testing.assert_allclose(measured, curve, atol=0.04)


@pytest.mark.slow
def test_after_two_steps() -> None:
    """Bulk and outlier at two dimensions, by the pencil of two batches."""
    problem, draws = Problem.of("sin(h1)"), 16
    base = GiantStep(
        activation="tanh", readout="ones", samples="4d", steps=2, step_size=1.5, width="1d",
        readout_samples="2d", dim=300,
    )  # fmt: skip
    for predict, simulate in (
        (predict_weight_spectrum, simulate_weight_spectrum),
        (predict_feature_spectrum, simulate_feature_spectrum),
    ):
        theory = predict(problem, base)
        runs, small = (
            [simulate(problem, base.replace(dim=dim), seed) for seed in range(draws)]
            for dim in (300, 150)
        )
        (outlier,) = theory.outliers
        unit = 2 if simulate is simulate_feature_spectrum else 2**0.5
        agrees(
            [run.values[0] for run in runs],
            outlier,
            smaller=[unit * run.values[0] for run in small],
            power=0.1,
        )
        name = "left" if simulate is simulate_weight_spectrum else "blocks"
        agrees([run.overlaps[name][0] for run in runs], theory.overlaps[name][0])
        second = np.mean([run.values[1] for run in runs])
        assert 0.94 < second / theory.bulk_edges[1] < 1.005
        x = np.linspace(*theory.bulk_edges, 7)[1:-1]
        measured = np.mean([run.cumulative(x) for run in runs], axis=0)
        np.testing.assert_allclose(cumulative(theory, x), measured, atol=0.02)


def settings_with(readout: str) -> GiantStep:
    sizes = {"samples": "10d", "width": "1d", "readout_samples": "2d", "dim": DIM}
    return GiantStep(activation="relu", readout=readout, step_size=3, **sizes)


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
