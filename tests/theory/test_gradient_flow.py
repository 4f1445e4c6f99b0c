"""Population flows: reference values, closed forms, and what cannot start or never arrives."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import ndtr

from giantstep.errors import GiantstepError
from giantstep.language.activations.activation import activation
from giantstep.language.problem import Problem
from giantstep.language.targets import Target
from giantstep.numerics.hermite import hermite_values
from giantstep.settings.gradient_flow import GradientFlow
from giantstep.theory.gradient_flow.hitting_times import hitting_time
from giantstep.theory.gradient_flow.link_series import ScaledMoments, alignment_speed
from giantstep.theory.gradient_flow.population_flows import Spike, spherical_flow
from giantstep.theory.gradient_flow.prediction import predict
from giantstep.theory.gradient_flow.random_start import start_exponent, start_overlap

MIXED = "0.8*He2(h1)/sqrt(2) + 0.6*He3(h1)/sqrt(6)"
START = {"start_spike_overlap": 0.3, "start_target_overlap": 0.4}
#: geometry -> (m, b, omega) at t = 0.3, theta = 8, c = 1/2, relu; handbook, checked there by
#: a flow on a million samples.
AT_TIME = {
    "spherical": (0.1581, 0.4012, 0.5447),
    "normalised": (0.5101, 0.6000, 0.8684),
    "preconditioned": (None, None, 0.79283),
}
#: exponent of the spike -> time of omega = 1/2 along the normalised flow, -He4, d = 1000.
HITTING = {0.3: 9.9365, 0.5: 0.76411, 0.7: 0.042324}
#: start -> time of omega = 0.9 along the preconditioned flow, relu(z-1) and He3.
HITTING_HE3 = {0.05: 34.26844, 0.1: 17.31178, 0.2: 8.70311}


def flow(target: str, inputs: str = "gaussian", **settings: Any) -> Any:
    return predict(Problem(target, inputs=inputs), GradientFlow(**settings))


@pytest.mark.parametrize("geometry", AT_TIME)
def test_overlaps_at_a_time(geometry: str) -> None:
    law = flow(MIXED, "spiked:8,alignment=0.5", geometry=geometry, times=0.3, **START)
    names = ("spike_overlap", "target_overlap", "overlap")
    for name, expected in zip(names, AT_TIME[geometry], strict=True):
        if expected is not None:
            assert law.metrics[name] == pytest.approx(expected, abs=1e-4)
    assert law.status == "theorem"


@pytest.mark.parametrize("exponent", HITTING)
def test_the_normalised_flow_arrives_where_the_spherical_one_is_repelled(exponent: float) -> None:
    options = {"dim": 1000, "start_spike_overlap": 1000**-0.5, "until": 0.5}
    law = flow("-He4(h1)/sqrt(24)", f"spiked:d^{exponent}", geometry="normalised", **options)
    assert law.metrics["time"] == pytest.approx(HITTING[exponent], rel=1e-4)
    repelled = flow("-He4(h1)/sqrt(24)", f"spiked:d^{exponent}", geometry="spherical", **options)
    assert repelled.metrics["time"] == math.inf
    assert abs(repelled.metrics["overlap"]) < 1e-6
    assert "does not reach" in repelled.notes[-1]


def test_a_quadratic_link_stalls_on_the_sphere() -> None:
    law = flow("He2(h1)/sqrt(2)", "spiked:d^0.5", dim=1000, geometry="spherical", times=50)
    assert law.metrics["spike_overlap"] == pytest.approx(0.072791, abs=1e-5)
    assert law.metrics["overlap"] == pytest.approx(0.38477, abs=1e-4)


@pytest.mark.parametrize(
    ("link", "expected"),
    [("He2(h1)/sqrt(2)", 5.1881), ("0.6*He2(h1)/sqrt(2) - 0.8*He4(h1)/sqrt(24)", -9.5363)],
)
def test_the_rate_at_the_equator(link: str, expected: float) -> None:
    rate = spherical_flow(activation("relu"), Target(link), Spike(1000**0.5, 1.0))
    small = 1e-7
    assert rate(np.array([[small], [small], [1.0]]))[0, 0] / small == pytest.approx(
        expected, abs=1e-4
    )


@pytest.mark.parametrize("start", HITTING_HE3)
@pytest.mark.parametrize("inputs", ["gaussian", "spiked:strength=8,alignment=0.5"])
def test_hitting_times_of_the_preconditioned_flow(start: float, inputs: str) -> None:
    law = flow("He3(h1)/sqrt(6)", inputs, activation="relu(z-1)", start_overlap=start, until=0.9)
    assert law.metrics["time"] == pytest.approx(HITTING_HE3[start], rel=1e-5)


def test_shifted_relu_has_its_constant() -> None:
    zeta = alignment_speed(activation("relu(z-1)"), Target("He3(h1)/sqrt(6)"))
    exact = math.exp(-0.5) / math.sqrt(2 * math.pi) * math.sqrt(6) / 2
    np.testing.assert_allclose(zeta, [0, 0, exact], atol=1e-12)
    assert exact == pytest.approx(0.296352, abs=1e-6)


def clock(order: int, overlap: float) -> float:
    """The primitive of 1/(o^(k-1)(1 - o^2))."""
    if order <= 2:
        return math.atanh(overlap) if order == 1 else math.log(overlap / math.sqrt(1 - overlap**2))
    return clock(order - 2, overlap) - overlap ** (2 - order) / (order - 2)


@pytest.mark.parametrize("order", [1, 2, 3, 4, 5])
def test_hitting_times_of_one_degree(order: int) -> None:
    exact = quad(lambda o: 1 / (o ** (order - 1) * (1 - o**2)), 0.1, 0.9, epsabs=0, epsrel=1e-12)[0]
    assert clock(order, 0.9) - clock(order, 0.1) == pytest.approx(exact, rel=1e-8)
    zeta = np.zeros(order)
    zeta[-1] = 0.3
    assert hitting_time(zeta, 0.1, 0.9) == pytest.approx(exact / 0.6, rel=1e-8)


def test_a_zero_of_the_speed_is_never_passed() -> None:
    assert hitting_time(np.array([0.0, 0.2, -0.5]), 0.1, 0.9) == math.inf
    assert hitting_time(np.array([0.0, 0.2, -0.5]), 0.1, 0.3) < math.inf


@pytest.mark.parametrize("bias", [-1.0, 0.7])
def test_moments_of_relu_have_their_closed_form(bias: float) -> None:
    general = ScaledMoments(activation(f"relu(z+({bias}))"), 6, 30.0)
    q = np.array([1.0, 1.7, 5.0, 29.0])
    beta = bias / np.sqrt(q)
    density, mass = np.exp(-(beta**2) / 2) / math.sqrt(2 * math.pi), ndtr(beta)
    beyond = density * hermite_values(-beta, 4)
    exact = np.sqrt(q) * np.concatenate([[beta * mass + density, mass], beyond])
    moments, slope = general.at(q)
    np.testing.assert_allclose(moments, exact, atol=1e-11)
    np.testing.assert_allclose(slope, mass, atol=1e-11)


@pytest.mark.parametrize(("exponent", "expected"), [(0.1, 0.0104), (0.4, 0.0353), (0.8, 0.327)])
def test_a_random_neuron_sees_little(exponent: float, expected: float) -> None:
    law = flow(
        *("He3(h1)/sqrt(6)", f"spiked:strength=d^{exponent},alignment=d^-0.25"),
        **{"dim": 10_000, "activation": "relu(z-1)", "times": 0.01},
    )
    assert law.metrics["initial_overlap"] == pytest.approx(expected, rel=0.02)
    assert law.status == "heuristic"
    # The power of d, by two dimensions at which the regime is the same.
    low, high = (start_overlap(d, d**exponent, d**-0.25) for d in (1e10, 1e12))
    assert -math.log10(high / low) / 2 == pytest.approx(start_exponent(0.25, exponent), abs=0.03)


@pytest.mark.parametrize(
    ("target", "inputs", "settings", "words"),
    [
        ("He3(h1)", "gaussian", {"start_overlap": 0.1}, "the flow cannot start"),
        ("He3(h1) + He4(h1)", "gaussian", {"dim": 50}, "the flow cannot start"),
        ("tanh(h1)", "gaussian", {"start_overlap": 0.1}, "polynomials of h1"),
        ("h1*h2", "gaussian", {"start_overlap": 0.1}, "polynomials of h1"),
        ("He2(h1)", "gaussian", {}, "dim is missing"),
        ("He2(h1)", "spiked:d^0.5", {"start_overlap": 0.1}, "dim is missing"),
        ("He2(h1)", "sphere", {"start_overlap": 0.1}, "gaussian or spiked"),
        (
            *("He2(h1)", "spiked:8,alignment=0.5"),
            {"start_spike_overlap": 1.0, "start_target_overlap": 0.1},
            "no unit vector",
        ),
        (
            *("He2(h1)", "spiked:8,alignment=0.5"),
            {"start_overlap": 0.1, "geometry": "normalised"},
            "starts from two numbers",
        ),
        ("He2(h1)", "gaussian", {"start_overlap": 1.1}, "too large"),
        ("He2(h1)", "gaussian", {"start_overlap": 0.1, "until": 1}, "infinite time"),
        ("He2(h1)", "gaussian", {"start_overlap": 0.1, **START}, "one or the other"),
    ],
)
def test_what_has_no_flow_gets_one_line(
    target: str, inputs: str, settings: dict[str, Any], words: str
) -> None:
    with pytest.raises(GiantstepError, match=words) as caught:
        flow(target, inputs, **settings)
    assert "\n" not in str(caught.value)
