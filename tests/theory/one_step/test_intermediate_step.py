"""Steps between small and giant: spikes, limiting gains, the bridge at finite dimension."""

from __future__ import annotations

import math

import pytest
from small_step_orders import small_step_orders

from giantstep.errors import NoTheory, SettingsError
from giantstep.language.activations.activation import activation
from giantstep.language.problem import Problem
from giantstep.settings.giant_step import GiantStep
from giantstep.theory.giant_step.prediction import predict as predict_giant_step
from giantstep.theory.giant_step.risk.prediction import predict_risk as predict
from giantstep.theory.giant_step.risk.readout import Fit
from giantstep.theory.giant_step.start_law import limit_readout_moments
from giantstep.theory.one_step.intermediate_step import limiting_gains, spike_degrees
from giantstep.theory.one_step.small_step import LinearFeatures, small_step_risk
from giantstep.theory.one_step.stepped_network import one_step

RELU = activation("relu(z) - 1/sqrt(2*pi)")
FIRST = Problem.of("h1", noise=1.0)
SECOND = Problem.of("h1 + He2(h1)/sqrt(2)")
FIT = Fit.of(1.5, 1.0, 0.015)


@pytest.mark.parametrize(
    ("problem", "degrees", "start", "test", "train"),
    [
        (FIRST, (1,), 2.1368, 0.4183, 0.0841),
        (SECOND, (1,), 3.1368, 0.4183, 0.0841),
        (SECOND, (1, 2), 3.1368, 0.6829, 0.1335),
    ],
)
def test_reference_gains(
    problem: Problem, degrees: tuple[int, ...], start: float, test: float, train: float
) -> None:
    features = LinearFeatures.of(problem, RELU)
    assert small_step_risk(features, FIT).test_error == pytest.approx(start, rel=1e-4)
    gains = limiting_gains(problem, RELU, FIT, alignment=math.sqrt(3 / 7), degrees=degrees)
    assert gains.test == pytest.approx(test, rel=1.5e-4)
    assert gains.train == pytest.approx(train, rel=4e-4)


def test_first_gain_is_the_infinitely_strong_small_step() -> None:
    features = LinearFeatures.of(FIRST, RELU)
    before = small_step_risk(features, FIT)
    after = small_step_risk(features, FIT, alignment=0.6, strength=math.inf)
    gains = limiting_gains(FIRST, RELU, FIT, alignment=0.6, degrees=(1,))
    assert gains.test == pytest.approx(before.test_error - after.test_error, rel=1e-10)
    assert gains.train == pytest.approx(before.objective - after.objective, rel=1e-10)


@pytest.mark.parametrize(
    ("sigma", "factor"),
    [("tanh(z) + 0.1*He2(z)", 4 / 3), ("tanh(z) + 0.1*He2(z) + 0.2", 2.0)],
)
def test_extra_energy_of_the_square(sigma: str, factor: float) -> None:
    """The spike is kappa^2, not He_2: the constant it brings along costs a third, and more where
    the gradient's noise adds to it, but for features that fit a constant anyhow."""
    features, problem = activation(sigma), Problem.of("h1 + He2(h1)/2")
    one, both = (
        limiting_gains(problem, features, FIT, alignment=0.7, degrees=degrees)
        for degrees in ((1,), (1, 2))
    )
    order = small_step_orders(LinearFeatures.of(problem, features), FIT)
    expected = factor * 0.7**4 / 4
    assert both.test - one.test == pytest.approx(expected / (1 - order.v1), rel=1e-8)
    assert both.train - one.train == pytest.approx(expected / (1 + order.V), rel=1e-8)
    wider = limiting_gains(problem, features, FIT, alignment=0.7, degrees=(1, 2), spread=0.5)
    share = 1.0 if factor == 2 else 3 / (2 + 1.5**2)
    assert wider.test - one.test == pytest.approx(share * (both.test - one.test), rel=1e-8)


def test_spikes_appear_one_by_one_and_only_where_sigma_has_the_degree() -> None:
    relu, tanh = activation("relu"), activation("tanh")
    assert spike_degrees(relu, 0.2) == (1,)
    assert spike_degrees(relu, 0.3) == (1, 2)
    assert spike_degrees(relu, 0.36) == (1, 2)
    assert spike_degrees(tanh, 0.3) == (1,)
    assert spike_degrees(tanh, 0.36) == (1, 3)
    with pytest.raises(NoTheory, match="exponent"):
        spike_degrees(relu, 0.5)


def test_a_step_written_in_samples_gives_the_limiting_gains() -> None:
    settings = GiantStep(
        activation="relu(z) - 1/sqrt(2*pi)", readout="normal", samples="1.5d", width="1d",
        ridge=0.015, step_size="2*n^0.3",
    )  # fmt: skip
    assert settings.step_size.power == -0.2
    assert settings.step_size.coefficient == pytest.approx(2 * 1.5**0.3)
    found = predict(SECOND, settings).metrics
    assert found["spikes"] == 2
    assert found["test_error"] == found["random_features_error"] - found["gain_test"]
    for step in ("n^0.5", "2*n^0.7", "n^-0.1", "n"):
        with pytest.raises(SettingsError, match="0 < A < 1/2"):
            settings.replace(step_size=step)
    with pytest.raises(NoTheory, match="where spike 2 appears"):
        predict(SECOND, settings.replace(step_size="n^0.25"))
    with pytest.raises(NoTheory, match="readout = sign"):
        predict(SECOND, settings.replace(readout="sign"))


@pytest.mark.parametrize("ridge", [1.0, 0.015])
@pytest.mark.parametrize("power", [0.2, 0.3])
def test_the_limit_is_that_of_the_theory_at_a_dimension(ridge: float, power: float) -> None:
    """Without the constant that the noise adds to the second spike they are 3 % apart."""
    settings = GiantStep(
        activation="relu(z) - 1/sqrt(2*pi)", readout="normal", samples="1.5d", width="1d",
        ridge=ridge, step_size=f"2*n^{power}",
    )  # fmt: skip
    limit = predict(SECOND, settings).metrics["test_error"]
    far = predict(SECOND, settings.replace(dim=500_000_000_000_000_000)).metrics["test_error"]
    assert far == pytest.approx(limit, rel=1e-3)


@pytest.mark.parametrize("readout", ["symmetric-sign", "normal"])
def test_a_fixed_width_is_refused_with_what_would_work(readout: str) -> None:
    settings = GiantStep(step_size="2*n^0.3", ridge=0.1, readout=readout, width=20)
    with pytest.raises(NoTheory, match="width 1d readout normal; or give dim"):
        predict_giant_step(FIRST, settings)


@pytest.mark.parametrize(
    ("problem", "risks"),
    [(FIRST, (2.137, 1.908, 1.795, 1.833, 2.006)), (SECOND, (3.137, 2.894, 2.676, 2.590, 2.647))],
)
def test_bridge(problem: Problem, risks: tuple[float, ...]) -> None:
    for step, risk in zip((1e-9, 2, 5, 12, 30), risks, strict=True):
        settings = GiantStep(
            activation="relu(z) - 1/sqrt(2*pi)",
            readout="normal",
            samples="1.5d",
            readout_samples="1.5d",
            width="1d",
            step_size=step / math.sqrt(400),
            ridge=0.015,
            dim=400,
        )
        # The references stand nine nodes of Gauss and Hermite for the readout.
        step, sizes = one_step(problem, settings, version="spike-strength")
        readout, fractions = limit_readout_moments(settings, 9)
        step = step._replace(readout=readout, fractions=fractions)
        found = step.risk(RELU, problem, sizes)
        assert found.test - problem.noise == pytest.approx(risk, rel=4e-4)
