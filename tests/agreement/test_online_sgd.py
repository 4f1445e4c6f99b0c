"""Online SGD: equations of motion against the simulation in law."""

from __future__ import annotations

import numpy as np
import pytest

from giantstep.language.problem import Problem
from giantstep.learners.online_sgd.simulation import simulate
from giantstep.numerics.estimate import student_quantile
from giantstep.settings.online_sgd import OnlineSgd
from giantstep.theory.online_sgd.prediction import predict

SEEDS = 100
CASES = {
    "stairs": (
        *("h1 + h1*h2", 0.2),
        {"loss": "correlation", "step_size": 0.3, "start_overlap": "0.3", "times": "2,6"},
    ),
    "ahead": (
        *("He3(h1)", 0.0),
        {"loss": "correlation", "activation": "tanh", "lookahead": 0.5, "step_size": 0.2}
        | {"start_overlap": "-0.2", "times": "5,10"},
    ),
    "two neurons": (
        *("tanh(h1) + h1*h2/2", 0.1),
        {"width": 2, "readout": "2,-1", "geometry": "free", "activation": "tanh"}
        | {"start_overlap": "0.5,0.3;0.1,-0.4", "step_size": 0.4, "times": "2,6"},
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_simulations_follow_the_equations(name: str) -> None:
    text, noise, options = CASES[name]
    problem = Problem.of(text, noise=noise)
    law = predict(problem, OnlineSgd(**options))
    quantile = student_quantile(SEEDS)
    runs = {d: simulate(problem, OnlineSgd(dim=d, **options), seeds=SEEDS) for d in (250, 1000)}
    for metric in ("overlap", "norm", "test_error"):
        theory, own = law.metrics[metric], law.errors.get(metric, 0.0)
        gaps = {d: run.mean(metric) - theory for d, run in runs.items()}
        error = quantile * np.hypot(runs[1000].sem(metric), own)
        # Corrections of order 1/d: what is left at four times the size is a quarter.
        finite_size = np.abs(gaps[250] - gaps[1000]) / 3
        assert np.all(np.abs(gaps[1000]) <= error + finite_size + 1e-9), metric
        if metric == "test_error":
            # An error of five per cent would have been seen.
            assert np.all(error < 0.05 * theory)
    largest = np.abs(law.metrics["overlap"]).max(axis=1)
    assert np.all(quantile * runs[1000].sem("overlap").min(axis=1) < 0.05 * largest)
