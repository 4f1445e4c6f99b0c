"""Random features with biases: without them, with constant ones, by simulation, and their error."""

from __future__ import annotations

import pytest

from giantstep.language.problem import Problem
from giantstep.learners.random_features import simulate
from giantstep.numerics.estimate import student_quantile
from giantstep.settings.random_features import RandomFeatures
from giantstep.theory.random_features import predict
from giantstep.theory.ridge.biased_features import biased_features

QUADRATIC = Problem.of("h1 + He2(h1)/sqrt(2)", noise=0.1)


@pytest.mark.parametrize("start", ["sphere", "gaussian"])
@pytest.mark.parametrize("sigma", ["relu", "tanh", "relu(z-0.5)"])
def test_without_biases_it_is_the_theorem(sigma: str, start: str) -> None:
    settings = RandomFeatures(activation=sigma, start=start, samples="3d", width="1.5d")
    expected = predict(QUADRATIC, settings).metrics
    found = biased_features(QUADRATIC, settings)
    assert found == pytest.approx(expected, rel=1e-7)


@pytest.mark.parametrize("law", ["normal", "uniform"])
def test_laws_of_biases_converge(law: str) -> None:
    settings = RandomFeatures(biases=law, samples="3d", width="1.5d")
    found = predict(QUADRATIC, settings)
    many = biased_features(QUADRATIC, settings, 28)
    for name, value in found.metrics.items():
        assert abs(value - many[name]) <= found.errors[name] + 1e-9
        assert found.errors[name] < 1e-2 * value
    plain = predict(QUADRATIC, settings.replace(biases="none")).metrics["test_error"]
    assert abs(found.metrics["test_error"] / plain - 1) > 0.01
    assert found.status == "heuristic"


@pytest.mark.slow
def test_simulations_sit_on_it() -> None:
    """Biases raise the error by a tenth here."""
    problem, settings = (
        Problem.of("sin(h1)", noise=0.1),
        RandomFeatures(activation="tanh", ridge=0.3),
    )
    means = {}
    for dim, seeds in ((60, 120), (120, 100)):
        with_biases = settings.replace(biases="normal", dim=dim)
        run = simulate(problem, with_biases, seeds=seeds)
        theory = predict(problem, with_biases).metrics
        for name in ("test_error", "train_error"):
            means[name, dim] = run.mean(name) / theory[name], run.sem(name) / theory[name]
    without = predict(problem, settings.replace(dim=120)).metrics
    for name in ("test_error", "train_error"):
        mean, error = means[name, 120]
        noise = student_quantile(100) * error
        assert noise < 0.05 < theory[name] / without[name] - 1
        # What is left falls as 1/d: what doubling d changes.
        assert abs(mean - 1) < noise + abs(mean - means[name, 60][0])
