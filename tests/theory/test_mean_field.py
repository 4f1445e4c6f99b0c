"""Particles of a wide network, against another program and against wide networks."""

from __future__ import annotations

import numpy as np
import pytest

from giantstep.errors import NoTheory
from giantstep.language.problem import Problem
from giantstep.learners.mean_field import simulate
from giantstep.numerics.estimate import student_quantile
from giantstep.settings.mean_field import MeanField
from giantstep.theory.mean_field import limit_particle_path, predict


def test_particles_of_another_program() -> None:
    """erf2 learns tanh(2 h) from overlaps of 1e-3; their risk, on 40 nodes, is 0.6 per cent high.

    Their simulation, d = 2000 with 1e5 samples a step, has a risk of 0.1033.
    """
    settings = MeanField(activation="erf2", times="5", step=0.5, dim=10**6, width=16)
    (found,) = limit_particle_path(Problem.of("tanh(2*h1)"), settings)
    assert found.risk == pytest.approx(0.1033, abs=2e-4)
    np.testing.assert_allclose(np.abs(found.overlaps[:, 0]), 1.065, atol=3e-3)
    np.testing.assert_allclose(found.rests, 0.753, atol=2e-3)
    fine = MeanField(activation="erf2", times="5,20", step=0.05, dim=10**6, width=2)
    early, late = limit_particle_path(Problem.of("tanh(2*h1)"), fine)
    # Their steps of 0.02 against ours of 0.05: an error of first order in the step.
    for particles, overlap, rest in ((early, 1.028, 0.741), (late, 1.703, 0.363)):
        np.testing.assert_allclose(np.abs(particles.overlaps[:, 0]), overlap, atol=4e-3)
        np.testing.assert_allclose(particles.rests, rest, atol=4e-3)


def test_wide_networks_follow_the_particles() -> None:
    problem = Problem.of("tanh(2*h1) + h1*h2/2")
    settings = MeanField(activation="tanh", times="2", step=0.5, width=24, samples="40d")
    law, seeds = predict(problem, settings.replace(dim=100)), 16
    run = simulate(problem, settings.replace(dim=100, samples="400d"), seeds=seeds)
    quantile = student_quantile(seeds)
    error = quantile * run.sem("test_error") + 0.03 * law.metrics["test_error"]
    assert np.all(np.abs(run.mean("test_error") - law.metrics["test_error"]) <= error)
    assert run.mean("overlap")[0, 0] == pytest.approx(law.metrics["overlap"][0, 0], rel=0.05)


def test_a_step_that_is_too_large() -> None:
    with pytest.raises(NoTheory, match="lower step"):
        predict(Problem.of("h1"), MeanField(activation="He2", step=50.0, times="5000", width=2))
