"""Losses given as expressions against their closed forms."""

from __future__ import annotations

import pytest

from giantstep.errors import SettingsError
from giantstep.language.problem import Problem
from giantstep.settings.random_features import RandomFeatures
from giantstep.theory.random_features import predict

SIZES = {"samples": "3d", "width": "2d", "ridge": 0.1}


#: The second bends where no residual is.
@pytest.mark.parametrize("loss", ["0.5*(y-f)^2", "1e4*huber((y-f)/100)"])
def test_half_the_square_equals_ridge_regression(loss: str) -> None:
    problem = Problem.of("h1 + He2(h1)/2", noise=0.3)
    settings = RandomFeatures(activation="tanh", **SIZES)
    known = predict(problem, settings).metrics
    found = predict(problem, settings.replace(loss=loss)).metrics
    assert found["test_error"] == pytest.approx(known["test_error"], rel=1e-6)
    assert found["norm"] == pytest.approx(known["norm"], rel=1e-6)
    assert 2 * found["train_loss"] == pytest.approx(known["train_error"], rel=1e-6)


@pytest.mark.parametrize(
    ("loss", "words"),
    [
        ("y*f^3", "not convex"),
        ("step(y-f)", "not convex"),
        ("huber(y-x)", "'x' is unknown: write y and f"),
        ("abs(y-g)", "'g' is unknown: write y and f"),
        ("abs(y)", "does not depend on the output f"),
        ("log(f)", "not finite"),
    ],
)
def test_bad_losses_are_refused_in_one_line(loss: str, words: str) -> None:
    with pytest.raises(SettingsError, match=words) as error:
        RandomFeatures(loss=loss)
    assert "\n" not in str(error.value)
