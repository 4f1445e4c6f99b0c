"""The equations' solution: the right one of several, found from anywhere, or reported missing."""

from __future__ import annotations

import functools
import math

import numpy as np
import pytest

from giantstep.activations.activation import activation
from giantstep.numerics.complex_step import anderson, newton
from giantstep.problem import Problem
from giantstep.settings.giant_step import GiantStep
from giantstep.theory.one_step.any_activation import risk as risk_module
from giantstep.theory.one_step.any_activation.equations import Fit, SteppedNetwork, next_state
from giantstep.theory.one_step.any_activation.network import Start, network_after_step
from giantstep.theory.one_step.any_activation.prediction import predict_any_activation
from giantstep.theory.one_step.any_activation.risk import admissible, any_activation_risk
from giantstep.theory.one_step.any_activation.unknowns import State

#: Few samples and a small ridge, where wrong roots are near: one of them has a negative risk.
HARD = Fit(samples_ratio=0.5, width_ratio=1.0, penalty=1e-3, dim=200.0)


def network(sigma: str, start: Start | None = None) -> SteppedNetwork:
    return network_after_step(
        Problem.of("sin(h1)"),
        activation(sigma),
        start or Start.of([1.0]),
        step_size=3,
        samples_ratio=2,
    )


@pytest.fixture
def too_few_iterations(monkeypatch: pytest.MonkeyPatch) -> None:
    for method in (anderson, newton):
        short = functools.partial(method, max_iterations=2)
        monkeypatch.setattr(risk_module, method.__name__, short)


@pytest.mark.parametrize("sigma", ["tanh", "relu", "gelu"])
def test_the_root_is_admissible_where_wrong_ones_are_near(sigma: str) -> None:
    given = network(sigma)
    found = any_activation_risk(given, HARD)
    assert found.converged
    assert found.residual < 1e-9
    assert found.state is not None
    assert admissible(found.state, given, HARD)
    for now, then in zip(found.state, next_state(found.state, given, HARD), strict=True):
        np.testing.assert_allclose(then, now, rtol=0, atol=1e-8 * np.max(np.abs(now)) + 1e-10)
    assert found.test > 0
    assert 0 < found.train < 0.01 * found.test
    if sigma == "tanh":
        assert found.test == pytest.approx(0.344157, abs=1e-5)


@pytest.mark.parametrize("sigma", ["tanh", "relu"])
def test_bad_neighbours_do_not_mislead(sigma: str) -> None:
    given = network(sigma)
    found = any_activation_risk(given, HARD)
    assert found.state is not None
    bound, energy, coupling = found.state
    for near in (
        State(-bound, energy, coupling),
        State(bound, -3 * energy, coupling),
        State(1e-3 * bound, energy, -coupling),
        State(np.nan * bound, energy, coupling),
    ):
        assert any_activation_risk(given, HARD, near=near).test == pytest.approx(
            found.test, rel=1e-7
        )


def test_inadmissible_states_are_refused() -> None:
    given = network("relu")
    state = any_activation_risk(given, HARD).state
    assert state is not None
    assert not admissible(state._replace(bound=-state.bound), given, HARD)
    assert not admissible(state._replace(coupling=-5 * state.coupling), given, HARD)
    assert not admissible(state._replace(energy=np.full((2, 2), np.nan)), given, HARD)


@pytest.mark.parametrize("start", [Start.of([1.0]), Start.of([1.0, -1.0], paired=True)])
def test_the_fit_improves_on_its_samples_as_the_ridge_falls(start: Start) -> None:
    """Also at n = p, where the ridge alone keeps the risk finite."""
    given = network("relu", start)
    found = [any_activation_risk(given, Fit(1.0, 1.0, ridge, 200.0)) for ridge in (1.0, 1e-2, 1e-4)]
    assert all(risk.converged and risk.test > 0 for risk in found)
    train = [risk.train for risk in found]
    assert train[0] > train[1] > train[2] > 0


@pytest.mark.usefixtures("too_few_iterations")
def test_a_risk_that_is_not_found_is_reported() -> None:
    found = any_activation_risk(network("relu"), HARD)
    assert not found.converged
    assert math.isnan(found.test)
    assert math.isnan(found.train)
    assert found.state is None


def test_numbers_that_are_none_are_reported() -> None:
    assert not any_activation_risk(network("relu"), HARD._replace(samples_ratio=math.nan)).converged


@pytest.mark.usefixtures("too_few_iterations")
def test_a_prediction_without_a_solution_says_so() -> None:
    settings = GiantStep(
        activation="relu", readout="ones", samples="2d", step_size=3, width="1d",
        readout_samples="0.5d", ridge=1e-3,
    )  # fmt: skip
    found = predict_any_activation(Problem.of("sin(h1)"), settings)
    assert math.isnan(found.metrics["test_error"])
    assert math.isnan(found.metrics["train_error"])
    assert not found.errors
    assert any("did not converge" in note for note in found.notes)
