"""Spectra of weights and features after one giant step: theory against simulation."""

from __future__ import annotations

import numpy as np
import pytest

from giantstep.answer.answer import student_quantile
from giantstep.language.problem import Problem
from giantstep.learners.giant_step.spectra import (
    simulate_feature_spectrum,
    simulate_weight_spectrum,
)
from giantstep.settings.giant_step import GiantStep
from giantstep.settings.spiked_random_features import SpikedRandomFeatures
from giantstep.theory.one_step.spectra import predict_feature_spectrum, predict_weight_spectrum


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
    mass = [np.trapezoid(theory.density[theory.x <= at], theory.x[theory.x <= at]) for at in x]
    empirical = np.mean([run.cumulative(x) for run in runs], axis=0) * min(1, 1 / ratio)
    np.testing.assert_allclose(mass, empirical, atol=0.02)


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
        measured = np.mean([run.stieltjes(z) for run in runs], axis=0)
        np.testing.assert_allclose(measured, curve, atol=0.04)
