"""Principal components against the transition of Baik et al."""

from __future__ import annotations

import numpy as np
import pytest

from giantstep.asking.verbs import predict, simulate
from giantstep.language.problem import Problem
from giantstep.numerics.estimate import student_quantile
from giantstep.settings.pca import Pca

SEEDS = 32
METRICS = ("overlap_squared", "target_overlap_squared", "eigenvalue", "test_error")


def test_above_the_threshold() -> None:
    """Finite-size terms of order 1/d, from d and d/2."""
    problem = Problem("(h1 + He2(h1)/sqrt(2))/sqrt(2)", inputs="spiked:4,alignment=0.8")
    small, large = (Pca(dim=dim, samples="4d", degree=4) for dim in (80, 160))
    law = predict(large, problem)
    runs = [simulate(each, problem, seeds=SEEDS) for each in (small, large)]
    quantile = student_quantile(SEEDS)
    for name in METRICS:
        means, sems = (
            [float(getattr(run, part)(name)) for run in runs] for part in ("mean", "sem")
        )
        allowed = quantile * sems[1]
        finite = max(abs(means[0] - means[1]) - quantile * np.hypot(*sems), 0.0)
        assert abs(means[1] - law.metrics[name]) <= allowed + finite, name
        if name != "test_error":
            assert allowed < 0.05 * law.metrics[name], name
    # The squares of a quadratic label fluctuate: here an error of 15 % would be caught.
    assert quantile * runs[1].sem("test_error") < 0.15 * law.metrics["test_error"]


def test_below_the_threshold_the_component_is_blind() -> None:
    problem = Problem("He2(h1)/sqrt(2)", inputs="spiked:0.3")
    law = predict(Pca(dim=200, samples="4d"), problem)
    run = simulate(Pca(dim=200, samples="4d", degree=3), problem, seeds=6)
    assert law.metrics["overlap_squared"] == 0
    assert law.metrics["eigenvalue"] == pytest.approx(2.25)
    assert run.mean("overlap_squared") < 0.2
    assert run.mean("eigenvalue") == pytest.approx(2.25, rel=0.05)


def test_what_the_fit_costs() -> None:
    """Along a strong spike all of the error is the fit's: coefficients and unit of length."""
    problem = Problem("(h1 + He2(h1)/sqrt(2))/sqrt(2)", inputs="spiked:200", noise=1.0)
    settings = Pca(dim=60, samples="4d", degree=2, ridge=0.0)
    run = simulate(settings, problem, seeds=200)
    allowed = student_quantile(200) * float(run.sem("test_error"))
    law = predict(settings, problem).metrics["test_error"]
    assert abs(float(run.mean("test_error")) - law) <= allowed + law * 0.02
    # Three coefficients cost 3 noise/n: without them the gap would be seen.
    assert allowed < 0.5 * 3 / 240


def test_a_high_degree_does_not_pay_for_projections_that_no_sample_has() -> None:
    """Degree 8 on 800 samples: an expansion in 1/n said 1.53, more than the label's variance."""
    problem = Problem("tanh(2*h1)", inputs="spiked:strength=3,alignment=0.8")
    settings = Pca(samples="2d", dim=400, degree=8)
    law = predict(settings, problem)
    run = simulate(settings, problem, seeds=8, seed=100)
    t = student_quantile(8)
    found, error = law.metrics["test_error"], law.errors["test_error"]
    assert abs(float(run.mean("test_error")) - found) <= t * float(run.sem("test_error")) + error
    assert abs(found - 0.155) < 0.01
