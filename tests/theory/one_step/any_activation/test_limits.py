"""Limits in which the risk for any activation is known: isotropic rows, no step, small steps."""

from __future__ import annotations

import numpy as np
import pytest

from giantstep.activations.activation import activation
from giantstep.problem import Problem
from giantstep.settings.giant_step import GiantStep
from giantstep.theory.one_step.any_activation.equations import Fit, SteppedNetwork
from giantstep.theory.one_step.any_activation.features import features
from giantstep.theory.one_step.any_activation.finite_size_ratio import fit_of
from giantstep.theory.one_step.any_activation.network import Start, network_after_step
from giantstep.theory.one_step.any_activation.risk import any_activation_risk
from giantstep.theory.one_step.small_step import LinearFeatures, small_step_risk, usable_power
from giantstep.theory.one_step.stepped_network import one_step
from giantstep.theory.spiked_features.conditional_features import LIMIT
from giantstep.theory.spiked_features.finite_size import Blocks
from giantstep.theory.spiked_features.risk import Prepared, spiked_risk

NOISE = 0.1
FIT = Fit(samples_ratio=2.0, width_ratio=1.5, penalty=0.05 * 1.5, dim=LIMIT)
SIZES = {"samples_ratio": 2.0, "width_ratio": 1.5, "ridge": 0.05}
G12 = "h1 + He2(h1)/sqrt(2)"


def network(
    sigma: str, target: str, start: Start, step_size: float, samples: float
) -> SteppedNetwork:
    problem = Problem.of(target, noise=NOISE)
    return network_after_step(
        problem, activation(sigma), start, step_size=step_size, samples_ratio=samples
    )


def isotropic(
    sigma: str, target: str, step_size: float, samples: float, *, tilted: bool
) -> tuple[float, float]:
    """The theory of isotropic rows; ``tilted``: their lengths follow the learned direction."""
    settings = GiantStep(
        activation=sigma, readout="ones", loss="correlation", samples=f"{samples:.0f}d",
        step_size=step_size, width="1.5d", readout_samples="2d", ridge=0.05,
    )  # fmt: skip
    problem = Problem.of(target, noise=NOISE)
    step, sizes = one_step(problem, settings)
    assert fit_of(sizes, LIMIT) == FIT
    step = step._replace(tilted=tilted)
    risk = step.risk(step.prepared(activation(sigma), problem, sizes), sizes)
    assert risk.converged
    return float(risk.test), float(risk.train)


@pytest.mark.parametrize(
    ("sigma", "target"), [("relu", "relu(h1)"), ("gelu", G12), ("tanh", "h1 + h1*h2")]
)
def test_isotropic_rows_have_the_isotropic_risk(sigma: str, target: str) -> None:
    """Rows of which the batch left only the spike: s v plus a vector on the sphere."""
    given, start = network(sigma, target, Start.of([1.0]), 2.0, 2.0), Start.of([1.0])
    none = np.zeros(1)
    rows = given.rows._replace(
        turns=none, scatters=none, bulks=np.eye(1), lengths=np.zeros((1, 1)), leans=np.zeros((2, 1))
    )
    prepared = Prepared.of(
        activation(sigma), Problem.of(target).target,
        alignment=rows.alignment, spikes=rows.spikes, bulks=np.ones(1),
    )  # fmt: skip
    seen = features(activation(sigma), rows, start.biases, prepared.grid.kappa)
    labels = prepared.labels
    bare = given._replace(
        rows=rows, features=seen, labels=labels, power=labels.power + NOISE,
        weights=prepared.grid.weights,
    )  # fmt: skip
    expected = spiked_risk(
        prepared, Blocks(rows.spikes, np.ones(1), np.ones(1)), noise=NOISE, **SIZES
    )
    found = any_activation_risk(bare, FIT)
    assert found.test == pytest.approx(float(expected.test), rel=1e-7)
    assert found.train == pytest.approx(float(expected.train), rel=1e-7)
    assert abs(any_activation_risk(given, FIT).test / found.test - 1) > 0.01


@pytest.mark.parametrize("target", ["sin(h1)", G12])
def test_a_linear_activation_leaves_isotropic_rows(target: str) -> None:
    """mu_2 = 0 and nothing beyond: both theories are exact for any batch."""
    expected = isotropic("identity", target, 2.0, 2.0, tilted=False)
    found = any_activation_risk(network("identity", target, Start.of([1.0]), 2.0, 2.0), FIT)
    assert (found.test, found.train) == pytest.approx(expected, rel=1e-8)


def test_an_odd_activation_after_a_step_on_many_samples() -> None:
    """mu_2 = 0: what is left is the spike and, by mu_3, the lengths' tilt along it."""
    gaps = []
    for samples in (1e2, 1e4, 1e6):
        test, _ = isotropic("tanh", "sin(h1)", 3.0, samples, tilted=True)
        found = any_activation_risk(network("tanh", "sin(h1)", Start.of([1.0]), 3.0, samples), FIT)
        gaps.append(abs(found.test - test))
    assert gaps[2] < 1e-7
    # The noise of the batch's T counts as d/n_0, and at a hundred samples it can be seen.
    assert gaps[0] > 30 * gaps[1] > 30 * gaps[2]
    untilted, _ = isotropic("tanh", "sin(h1)", 3.0, 1e6, tilted=False)
    assert abs(found.test - untilted) > 1e-4


@pytest.mark.parametrize(
    ("sigma", "target"),
    [("relu", "relu(h1)"), ("gelu", "sin(h1)"), ("tanh", G12), ("relu", "h1 + h1*h2")],
)
def test_no_step_gives_random_features(sigma: str, target: str) -> None:
    problem = Problem.of(target, noise=NOISE)
    expected = small_step_risk(LinearFeatures.of(problem, activation(sigma)), **SIZES)
    for step_size in (0.0, 1e-12):
        found = any_activation_risk(network(sigma, target, Start.of([1.0]), step_size, 2.0), FIT)
        assert found.test - NOISE == pytest.approx(expected.test, rel=1e-8)
        assert found.train == pytest.approx(expected.train, rel=1e-8)
    moved = any_activation_risk(network(sigma, target, Start.of([1.0]), 0.5, 2.0), FIT)
    assert abs(moved.test - NOISE - expected.test) > 1e-3


@pytest.mark.parametrize(
    ("sigma", "target", "readout"),
    [
        ("tanh", G12, [1.0]),
        ("relu", "relu(h1)", [1.0, -1.0]),
        ("relu", "relu(h1)", [0.5, 2.0]),
        ("gelu", "sin(h1)", [1.0]),
    ],
)
def test_steps_of_order_one_over_root_d(sigma: str, target: str, readout: list[float]) -> None:
    """The closed form of small steps, with the spikes that a network can use.

    Neurons with the mean output mu_0 != 0 fit the target's mean, so the sum of their readouts is
    taken: what fits along the learned direction is the spread of spikes around their mean.
    """
    # In larger dimensions the means of two blocks agree to all digits but a few.
    dim = 1e10
    problem, step_size = Problem.of(target, noise=NOISE), 2 / np.sqrt(dim)
    given = network(sigma, target, Start.of(readout), step_size, 2.0)
    spikes = given.rows.spikes * np.sqrt(dim)
    shares = np.full(len(spikes), 1 / len(spikes))
    power = usable_power(activation(sigma), spikes, shares)
    expected = small_step_risk(
        LinearFeatures.of(problem, activation(sigma)),
        alignment=given.rows.alignment,
        strength=float(np.sqrt(SIZES["width_ratio"] * power)),
        **SIZES,
    )
    found = any_activation_risk(given, FIT._replace(dim=dim))
    # What is left is of the order of the step.
    assert found.test - NOISE == pytest.approx(expected.test, rel=2 * step_size)
    assert found.train == pytest.approx(expected.train, rel=2 * step_size)


@pytest.mark.parametrize(("sigma", "target"), [("tanh", "sin(h1)"), ("relu", "relu(h1)")])
def test_small_steps_of_pairs(sigma: str, target: str) -> None:
    """Half as many neurons that stay, and differences that only the ridge holds."""
    dim = 1e8
    problem, step_size = Problem.of(target, noise=NOISE), 2 / np.sqrt(dim)
    given = network(sigma, target, Start.of([1.0, -1.0], paired=True), step_size, 2.0)
    expected = small_step_risk(
        LinearFeatures.of(problem, activation(sigma)),
        alignment=given.rows.alignment,
        pair_spike=float(given.rows.spikes[0] * np.sqrt(dim)),
        **{**SIZES, "width_ratio": SIZES["width_ratio"] / 2},
    )
    found = any_activation_risk(given, FIT._replace(dim=dim))
    assert found.test - NOISE == pytest.approx(expected.test, rel=2 * step_size)
    assert found.train == pytest.approx(expected.train, rel=2 * step_size)
