"""Random features with a loss given as an expression, on real labels: theory against fits."""

from __future__ import annotations

import numpy as np
import pytest

from giantstep.language.problem import Problem
from giantstep.learners.random_features import simulate
from giantstep.numerics.estimate import student_quantile
from giantstep.settings.random_features import RandomFeatures
from giantstep.theory.random_features import predict

SEEDS = {40: 24, 120: 60}
#: The change of each metric that would be seen. Errors of single fits scatter by a fifth.
SEEN = {"train_loss": 0.05, "overlap_m": 0.08, "test_error": 0.12}


@pytest.mark.slow
@pytest.mark.parametrize("loss", ["abs(y-f)", "huber(y-f)"])
def test_simulated_fits_sit_on_the_theory(loss: str) -> None:
    problem = Problem.of("h1", noise=0.2)
    settings = RandomFeatures(
        activation="tanh", loss=loss, test_samples=1000, samples="4d", width="1d", ridge=0.3
    )
    theory = predict(problem, settings).metrics
    small, large = (
        simulate(problem, settings.replace(dim=dim), seeds=seeds).metrics
        for dim, seeds in SEEDS.items()
    )
    quantile = student_quantile(SEEDS[120])
    for name, seen in SEEN.items():
        values = np.asarray(large[name]) / theory[name] - 1
        allowed = quantile * values.std(ddof=1) / np.sqrt(len(values))
        assert allowed < seen, (name, allowed)
        # A difference that decays as 1/d is twice as large between these sizes as at the larger.
        finite_size = abs(np.mean(small[name]) / theory[name] - 1 - values.mean()) / 2
        assert abs(values.mean()) < allowed + finite_size, (name, values.mean(), allowed)
