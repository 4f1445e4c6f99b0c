"""Random features with a loss given as an expression: theory against simulated fits.

Errors of single fits are skewed, so that eight seeds now and then lie 5 of their own standard
errors off; many seeds at two sizes do not.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import t as student

from giantstep.learners.ridge.random_features import simulate
from giantstep.problem import Problem
from giantstep.settings.random_features import RandomFeatures
from giantstep.theory.ridge.random_features import predict

SEEDS = {30: 60, 120: 50}
#: Metrics that scatter little enough for a change of 5 % to be seen.
SHARP = ("train_loss", "overlap_m")


@pytest.mark.slow
@pytest.mark.parametrize("loss", ["huber(y-f)", "abs(y-f)"])
def test_simulated_fits_sit_on_the_theory(loss: str) -> None:
    problem = Problem.of("h1", noise=0.5)
    settings = RandomFeatures(
        activation="tanh", loss=loss, test_samples=1000, samples="2d", width="1d", ridge=0.1
    )
    theory = predict(problem, settings).metrics
    runs = [
        simulate(problem, settings.replace(dim=dim), seeds=seeds).metrics
        for dim, seeds in SEEDS.items()
    ]
    quantile = student.ppf(1 - 5e-5, min(SEEDS.values()) - 1)
    for name in ("test_error", "norm", "overlap_q", "overlap_v", *SHARP):
        values = [np.asarray(run[name]) / theory[name] - 1 for run in runs]
        errors = [part.std(ddof=1) / np.sqrt(len(part)) for part in values]
        # What two sizes leave of a difference that decays as 1/d.
        rest = (4 * values[1].mean() - values[0].mean()) / 3
        allowed = quantile * np.hypot(4 / 3 * errors[1], errors[0] / 3)
        assert abs(rest) < allowed, (name, rest, allowed)
        assert allowed < (0.05 if name in SHARP else 0.2), (name, allowed)
