"""Random features: theory against simulation, one setting of each kind."""

from __future__ import annotations

import pytest
from agreement.agreeing import agrees

from giantstep.language.problem import Problem
from giantstep.learners.random_features import simulate
from giantstep.settings.random_features import RandomFeatures
from giantstep.theory.random_features import predict

SQUARE = {
    "relu": (
        ("h1 + He2(h1)/sqrt(2)", 0.1),
        {"samples": "2d", "width": "1d", "ridge": 0.1, "dim": 200},
        60,
    ),
    "relu, wide, little ridge": (
        ("h1 + sin(2*h1)", 0.1),
        {"samples": "1.5d", "width": "3d", "ridge": 0.01, "dim": 100},
        80,
    ),
    "several directions": (
        ("h1 + h1*h2", 0.1),
        {"samples": "2d", "width": "1d", "ridge": 0.1, "dim": 150},
        60,
    ),
    "erf and sine": (
        ("sin(h1)", 0.2),
        {"samples": "1d", "width": "2d", "ridge": 1, "activation": "erf", "dim": 200},
        30,
    ),
    "mean, centred features": (
        ("h1 + 0.7", 0.05),
        {"samples": "2d", "width": "1.5d", "ridge": 0.1, "activation": "tanh", "dim": 150},
        40,
    ),
    "mean, weak constant mode": (
        ("h1 + 0.7", 0.05),
        {"samples": "2d", "width": "1.5d", "ridge": 1, "dim": 200, "start": "gaussian"}
        | {"activation": "z + 0.7*He2(z)"},
        40,
    ),
    "fixed spike": (
        ("sin(2*h1) + h1", 0.1, "spiked:3"),
        {"samples": "2d", "width": "1d", "ridge": 0.1, "dim": 200},
        40,
    ),
    "sphere in 24 dimensions": (
        ("(h1 + He2(h1)/sqrt(2) + He3(h1)/sqrt(6))/sqrt(3)", 0.01, "sphere"),
        {"samples": 600, "width": 100, "ridge": 1e-2, "dim": 24},
        120,
    ),
}


@pytest.mark.parametrize("name", SQUARE)
def test_square_loss(name: str) -> None:
    problem_fields, options, seeds = SQUARE[name]
    problem, settings = Problem(*problem_fields), RandomFeatures(test_samples=2000, **options)
    run, theory = simulate(problem, settings, seeds=seeds), predict(problem, settings).metrics
    assert run.metrics.keys() == theory.keys()
    for metric in ("test_error", "test_error_noisy"):
        agrees(run.metrics[metric], theory[metric])
    for metric in ("train_error", "norm"):
        agrees(run.metrics[metric], theory[metric], rest=0.01, power=None)
    assert run.mean("degrees_of_freedom") == pytest.approx(theory["degrees_of_freedom"], rel=0.02)


CLASSIFICATION = {
    "logistic": ("sign(h1)", {"ridge": 0.1, "activation": "tanh", "loss": "logistic"}),
    "hinge": ("sign(h1)", {"ridge": 0.1, "activation": "tanh", "loss": "hinge"}),
    "free intercept": (
        "sign(h1 - 0.5)",
        {"ridge": 0.05, "activation": "relu", "loss": "logistic"},
    ),
    "two directions": (
        "sign(h1 + 0.5*h2 + h1*h2)",
        {"ridge": 0.05, "activation": "relu", "loss": "logistic"},
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", CLASSIFICATION)
def test_classification(name: str) -> None:
    target, options = CLASSIFICATION[name]
    problem = Problem.of(target)
    settings = RandomFeatures(samples="3d", width="2d", dim=120, test_samples=2000, **options)
    run, theory = simulate(problem, settings, seeds=64), predict(problem, settings).metrics
    assert run.metrics.keys() == theory.keys()
    for metric, expected in theory.items():
        agrees(run.metrics[metric], expected, power=0.05 if metric == "test_error" else None)
