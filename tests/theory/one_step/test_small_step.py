"""Small steps: reference values, random features as the limit, the linear floor."""

from __future__ import annotations

import math

import jax
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from proportional_features import proportional_risk
from small_step_orders import small_step_orders

from giantstep.language.activations.activation import activation
from giantstep.language.problem import Problem
from giantstep.numerics.float64 import float64
from giantstep.theory.giant_step.risk.readout import Fit
from giantstep.theory.one_step.small_step import LinearFeatures, small_step_risk

random_features = jax.jit(proportional_risk)
CENTRED = Problem.of("relu(h1) - 1/sqrt(2*pi)")
FEATURES = LinearFeatures.of(CENTRED, activation("tanh"))
FIT = Fit.of(2.0, 1.0, 0.1)


def test_reference_scalars() -> None:
    order = small_step_orders(FEATURES, FIT)
    assert order.chi == pytest.approx(3.018370, abs=1e-5)
    assert pytest.approx(0.536291, abs=1e-5) == order.V
    assert order.x == pytest.approx(1.441624, abs=1e-5)
    assert order.v1 == pytest.approx(0.268095, abs=1e-5)
    assert order.v2 == pytest.approx(1.244184, abs=1e-5)


@pytest.mark.parametrize(
    ("step", "test", "objective"),
    [
        (0.0, 0.22575, 0.12578),
        (2.0, 0.20652, 0.11520),
        (5.0, 0.18041, 0.09825),
        (math.inf, 0.16532, 0.08615),
    ],
)
def test_reference_risks(step: float, test: float, objective: float) -> None:
    gradient = math.sqrt(0.25 + FEATURES.power / 2)
    assert (0.5 / gradient) ** 2 == pytest.approx(0.594638, abs=5e-6)
    risk = small_step_risk(
        FEATURES,
        FIT,
        alignment=0.5 / gradient,
        strength=step * FEATURES.mu_1 * gradient if step else 0.0,
    )
    assert risk.test_error == pytest.approx(test, rel=1e-4)
    assert risk.objective == pytest.approx(objective, rel=1e-4)


@settings(max_examples=40)
@given(
    *(st.floats(0.3, 5.0), st.floats(0.3, 5.0), st.floats(1e-3, 10.0), st.floats(0.0, 1.0)),
    st.sampled_from([("tanh", "h1 + He2(h1)"), ("relu", "sin(h1) + 0.3"), ("erf2", "abs(h1)")]),
)
def test_without_spike_it_is_random_features(
    samples: float, width: float, ridge: float, noise: float, pair: tuple[str, str]
) -> None:
    sigma, problem = activation(pair[0]), Problem.of(pair[1], noise=noise)
    features = LinearFeatures.of(problem, sigma)
    mine = small_step_risk(features, Fit.of(samples, width, ridge))
    energy = features.linear**2
    with float64():
        other = random_features(
            samples,
            width,
            ridge,
            noise,
            linear_features=features.mu_1**2,
            nonlinear_features=features.mu_star_squared,
            linear_target=energy,
            nonlinear_target=features.power - noise - energy,
        )
    assert mine.test_error == pytest.approx(float(other.test_error), rel=1e-8)
    assert mine.train_error == pytest.approx(float(other.train_error), rel=1e-8)


def test_a_stronger_spike_helps_and_never_beats_the_linear_floor() -> None:
    strengths = np.geomspace(0.01, 100, 30)
    risks = [
        small_step_risk(FEATURES, FIT, alignment=0.8, strength=float(s)).test_error
        for s in strengths
    ]
    assert np.all(np.diff(risks) < 0)
    assert risks[-1] > FEATURES.power - FEATURES.linear**2 == pytest.approx(0.09085, abs=1e-5)


def test_the_constant_is_free_where_features_have_a_mean() -> None:
    problem = Problem.of("h1 + 3")
    assert LinearFeatures.of(problem, activation("relu")).power == pytest.approx(1.0)
    assert LinearFeatures.of(problem, activation("tanh")).power == pytest.approx(10.0)
