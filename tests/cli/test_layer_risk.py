"""`giantstep layer-risk`: the risk of actual first layers, its agreement and its refusals."""

from __future__ import annotations

import json

import numpy as np
import pytest
from agreement.agreeing import agrees
from typer.testing import CliRunner

from giantstep import GiantStep, layer_risk, simulate
from giantstep.cli.main import app
from giantstep.errors import GiantstepError
from giantstep.numerics.estimate import student_quantile

OPTIONS = ["--target", "relu(h1)", "--samples", "4d", "--step-size", "1.5", "--width", "1d"]
OPTIONS += ["--readout", "ones", "--ridge", "0.1", "--dim", "100"]


def test_the_command_prints_what_python_returns() -> None:
    done = CliRunner().invoke(app, ["layer-risk", *OPTIONS, "--seeds", "2", "--json"])
    assert done.exit_code == 0, done.output
    printed = json.loads(done.stdout)
    settings = GiantStep(
        samples="4d", step_size=1.5, width="1d", readout="ones", ridge=0.1, dim=100
    )
    found = layer_risk(settings, "relu(h1)", seeds=2)
    values = printed["simulation"]["test_error"]["values"]
    np.testing.assert_allclose(values, found.run.metrics["test_error"], rtol=1e-6)
    assert printed["prediction"]["test_error"] == pytest.approx(
        found.prediction.metrics["test_error"], rel=1e-6
    )
    assert "given its first layer" in found.table()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("target", "change"),
    [
        ("relu(h1)", {"step_size": 1.5, "readout": "normal"}),
        (
            "sin(h1)",
            {"steps": 2, "batches": "reused", "samples": "12d", "activation": "tanh", "dim": 80},
        ),
    ],
)
def test_simulated_fits_sit_on_the_risk_of_their_layers(
    target: str, change: dict[str, object]
) -> None:
    """Rows that are not isotropic, with Gaussian readouts; two steps on one batch, which the
    prediction does not cover."""
    settings = GiantStep(
        samples="4d", width="1d", readout="ones", ridge=0.1, dim=100, method="direct"
    ).replace(**change)
    found = layer_risk(settings, target, seeds=12)
    assert bool(found.predictions) == (settings.batches == "fresh")
    run = simulate(settings, target, seeds=60)
    fits = np.asarray(run.metrics["test_error"])[:, -1]
    gap = fits.mean() / found.mean("test_error") - 1
    error = np.hypot(
        fits.std(ddof=1) / np.sqrt(60) / fits.mean(), found.sem("test_error") / fits.mean()
    )
    allowed = student_quantile(12) * error
    assert allowed < 0.25
    # Terms of order 1/d: 2 % at d = 100.
    assert abs(gap) < allowed + 0.02, (gap, error)


@pytest.mark.slow
def test_layers_after_two_steps_sit_on_the_prediction() -> None:
    """Neither the law of the rows nor its equations are shared."""
    settings = GiantStep(
        activation="tanh", readout="ones", samples="20d", steps=2, step_size=1, width="1d",
        readout_samples="2d", ridge=0.1, dim=120,
    )  # fmt: skip
    found = layer_risk(settings, "sin(h1)", seeds=8)
    values, smaller = (
        layer.run.metrics["test_error"]
        for layer in (found, layer_risk(settings.replace(dim=60), "sin(h1)", seeds=8))
    )
    agrees(values, found.prediction.metrics["test_error"], smaller=smaller, power=0.15)


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"dim": None}, "dim"),
        ({"ridge": None}, "ridge"),
        ({"steps": 2, "readout": "normal"}, "readout"),
        ({"biases": "normal"}, "biases"),
        ({"readout_samples": "same"}, "readout_samples"),
        ({"normalise": True}, "normalise"),
    ],
)
def test_what_is_not_covered_is_said_in_one_line(change: dict[str, object], word: str) -> None:
    settings = GiantStep(ridge=0.1, dim=50, width="1d").replace(**change)
    with pytest.raises(GiantstepError, match=word) as refusal:
        layer_risk(settings, "h1")
    assert "\n" not in str(refusal.value)
