"""What message passing and spectral methods claim of their numbers: statuses, noise, errors."""

from __future__ import annotations

import pytest

from giantstep.answer import STATUSES
from giantstep.asking.verbs import predict, simulate
from giantstep.language.problem import Problem
from giantstep.settings.amp import Amp
from giantstep.settings.spectral import Spectral
from giantstep.theory.amp.prediction import predict as predict_amp
from giantstep.theory.spectral import predict as predict_spectral

#: A noiseless target without a closed form: labels get noise of 1 % of its variance, which is 1.
ALTERED = "h1*h2"


def test_an_altered_problem_is_at_most_heuristic_and_says_its_noise() -> None:
    """The same for message passing: a path of the walk over all predictions."""
    settings = Spectral(samples="2d")
    law = predict(settings, ALTERED)
    assert all(STATUSES.index(s) >= STATUSES.index("heuristic") for s in law.statuses.values())
    said = law.to_json()
    assert said["settings"]["channel_noise"] == pytest.approx(0.01, rel=0.05)
    assert said["problem"]["noise"] == 0
    run = simulate(settings.replace(dim=20), ALTERED, seeds=1)
    assert run.to_json()["settings"]["channel_noise"] == said["settings"]["channel_noise"]


def test_noise_that_the_problem_has_alters_nothing() -> None:
    law = predict(Spectral(samples="2d"), "abs(h1)", noise=0.1)
    assert law.status == "theorem"
    assert "channel_noise" not in law.to_json()["settings"]


@pytest.mark.parametrize(("noise", "threshold"), [(0.1, 0.60429), (1.0, 1.76206)])
def test_quoted_errors_of_transitions_hold(noise: float, threshold: float) -> None:
    """abs(h1) under noise, where the threshold is known to five digits (chapter A, section 3)."""
    law = predict_spectral(Problem.of("abs(h1)", noise=noise), Spectral(phases=True))
    (found,), (error,) = law.metrics["transitions"], law.errors["transitions"]
    assert abs(found - threshold) <= error + 5e-6
    assert error < 1e-2 * threshold


def test_every_number_from_quadrature_has_an_error() -> None:
    for settings, target in (
        (Amp(samples="2d"), "sign(h1)"),
        (Spectral(samples="2d"), "abs(h1)"),
        (Spectral(samples="6d", method="linearised"), "sign(h1*h2)"),
    ):
        told = predict(settings, target).to_json()
        counted = {"expected_iterations", "converged"}
        assert set(told["errors"]) == set(told["metrics"]) - counted
    exact = predict_amp(Problem.of("h1", noise=0.25), Amp(samples="1d"))
    assert not exact.errors


def test_the_free_entropy_of_several_directions_is_replica() -> None:
    one = predict_amp(Problem.of("sign(h1)"), Amp(samples="2d")).statuses
    two = predict_amp(Problem.of("sign(h1*h2)"), Amp(samples="4d")).statuses
    assert (one["free_entropy"], one["mutual_information"]) == ("theorem", "theorem")
    assert (two["free_entropy"], two["mutual_information"]) == ("replica", "replica")
    assert one["overlap_squared"] == two["overlap_squared"] == "theorem"
