"""Labels that tell the same get the same answer, however they are written."""

from __future__ import annotations

import numpy as np
import pytest

from giantstep.language.problem import Problem
from giantstep.settings.amp import Amp
from giantstep.settings.spectral import Spectral
from giantstep.theory.amp.phases import phases
from giantstep.theory.amp.prediction import predict
from giantstep.theory.spectral import predict as predict_spectral


@pytest.mark.parametrize("samples", ["0.8d", "1d"])
def test_a_sign_that_is_noise_leaves_the_absolute_value(samples: str) -> None:
    """A label sign(z1) h1 tells |h1|, and costs log 2 of free entropy."""
    signed, plain = (
        predict(Problem.of(text), Amp(samples=samples)) for text in ("sign(z1)*h1", "abs(h1)")
    )
    overlap = plain.metrics["overlap_squared"]
    assert signed.metrics["overlap_squared"] == pytest.approx(overlap, rel=1e-6)
    assert signed.errors["overlap_squared"] < 1e-4 * overlap
    ratio = Amp(samples=samples).samples.count(10, "samples") / 10
    lost = plain.metrics["free_entropy"] - signed.metrics["free_entropy"]
    assert lost == pytest.approx(ratio * np.log(2), abs=1e-6)
    assert signed.metrics["mutual_information"] == np.inf


def test_a_sign_that_is_noise_moves_no_transition() -> None:
    signed, plain = (phases(Problem.of(text)) for text in ("sign(z1)*h1", "abs(h1)"))
    assert [t.kind for t in signed] == [t.kind for t in plain]
    for one, other in zip(signed, plain, strict=True):
        assert one.samples_ratio == pytest.approx(other.samples_ratio, rel=1e-4)


@pytest.mark.parametrize("text", ["h1", "h1**3", "exp(h1)", "h1**2", "sign(z1)*h1"])
def test_spectral_methods_see_only_what_a_label_tells(text: str) -> None:
    """The best weight T(y) depends on E[h^2 | y], which is h^2 for all of these."""
    found, plain = (
        predict_spectral(Problem.of(target), Spectral(samples="4d")) for target in (text, "abs(h1)")
    )
    for name in ("eigenvalue", "edge", "overlap_squared"):
        assert found.metrics[name] == pytest.approx(plain.metrics[name], rel=1e-5)
        assert found.errors.get(name, 0.0) < 1e-3 * abs(plain.metrics[name])


@pytest.mark.parametrize("law", ["amp", "spectral"])
def test_noise_of_the_target_is_noise_of_the_problem(law: str) -> None:
    inside, outside = Problem.of("abs(h1) + z1/2"), Problem.of("abs(h1)", noise=0.25)
    if law == "amp":
        found, expected = (predict(problem, Amp(samples="2d")) for problem in (inside, outside))
    else:
        found, expected = (
            predict_spectral(problem, Spectral(samples="2d")) for problem in (inside, outside)
        )
    for name in set(expected.metrics) - {"test_error", "converged"}:
        assert found.metrics[name] == pytest.approx(expected.metrics[name], rel=1e-6)
