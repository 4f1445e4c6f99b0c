"""Risks after several steps: against an independent implementation, and in known limits."""

from __future__ import annotations

import numpy as np
import pytest
from stepped_readouts import ONE, PAIRS, readout_on, stepped_layer

from giantstep.language.activations.activation import activation
from giantstep.language.problem import Problem
from giantstep.numerics.quadrature import gauss_hermite
from giantstep.settings.random_features import RandomFeatures
from giantstep.theory import random_features
from giantstep.theory.giant_step.risk.batch_samples import risk_input_rule
from giantstep.theory.giant_step.risk.bounds import network_error
from giantstep.theory.giant_step.risk.first_layer import FirstLayer, Neurons, limit_frame_of_means
from giantstep.theory.giant_step.risk.readout import Fit
from giantstep.theory.giant_step.risk.solution import ReadoutRisk, readout_risk
from giantstep.theory.giant_step.start_law import limit_gaussian_readouts
from giantstep.theory.one_step.small_step import LinearFeatures, small_step_risk

G12 = "h1 + He2(h1)/sqrt(2)"
THREE = Neurons.of([-1.0, 0.5, 2.0], [0.3, 0.3, 0.4])
ON_SPHERE = Neurons.of([1.0], normalise=True)
#: Activation, target, noise; step size, n_0/d, steps; n/d, p/d, ridge; kinds; test and train error
#: of an independent implementation, at d = 1e7 and on finer grids than its own; tolerance. For
#: relu it smooths the slope's jump, and converges to ours in first order of its grid.
REFERENCES = [
    ("tanh", "sin(h1)", 0, (3, 2, 2), (2, 1, 0.05), ONE, 0.06433668, 0.02517842, 1e-6),
    ("tanh", "sin(h1)", 0, (3, 2, 1), (2, 1, 0.05), ONE, 0.12961082, 0.04717751, 1e-6),
    ("tanh", "sin(h1)", 0.1, (4, 1, 2), (2, 1, 0.05), ONE, 0.25291813, 0.11842245, 2e-6),
    ("gelu", G12, 0, (1, 20, 2), (3, 1, 0.01), ONE, 0.92902551, 0.42864816, 1e-6),
    ("sin", "sin(h1)", 0, (1, 4, 3), (4, 1, 0.02), ONE, 0.02215035, 0.01289887, 1e-6),
    ("softplus", G12, 0, (1, 20, 3), (2, 1, 0.01), ONE, 0.44674327, 0.15861186, 1e-6),
    ("relu", "relu(h1)", 0, (1, 4, 2), (4, 1, 0.02), ONE, 0.09210729, 0.04868667, 2e-6),
    ("relu", G12, 0, (0.5, 10, 2), (3, 1, 0.01), ONE, 0.94737866, 0.40733081, 3e-6),
    ("relu", G12, 0, (0.5, 10, 3), (3, 1, 0.01), ONE, 0.82984308, 0.35190132, 1e-5),
    ("relu", "h1 + h1*h2", 0, (1, 20, 2), (2, 1, 0.1), ONE, 1.49324088, 0.99266225, 2e-5),
    ("relu", "relu(h1)", 0, (2, 4, 2), (2, 1, 0.05), Neurons.of([1, -1]), 0.113056, 0.038119, 2e-5),
    ("tanh", "sin(h1)", 0, (3, 4, 2), (2, 1, 0.05), PAIRS, 0.0361928, 0.0178882, 3e-5),
]

Case = tuple[float, ...]


def stepped(
    sigma: str, target: str, noise: float, path: Case, neurons: Neurons = ONE
) -> FirstLayer:
    size, ratio, steps = path
    return stepped_layer(
        sigma, target, [(size, ratio)] * int(steps), neurons, noise, loss="square", kicks=True
    )


def risk(sigma: str, target: str, layer: FirstLayer, fit: Fit, noise: float = 0.0) -> ReadoutRisk:
    found = readout_risk(readout_on(sigma, target, layer, noise), fit)
    assert found.converged
    return found


@pytest.mark.parametrize(
    ("sigma", "target", "noise", "path", "sizes", "neurons", "test", "train", "tolerance"),
    REFERENCES,
)
def test_references(
    sigma: str, target: str, noise: float, path: Case, sizes: Case,
    neurons: Neurons, test: float, train: float, tolerance: float,
) -> None:  # fmt: skip
    layer = stepped(sigma, target, noise, path, neurons)
    found = risk(sigma, target, layer, Fit.of(*sizes, 1e7), noise)
    assert found.test - noise == pytest.approx(test, rel=tolerance)
    assert found.train == pytest.approx(train, rel=tolerance)


@pytest.mark.parametrize(
    ("sigma", "target"), [("relu", "relu(h1)"), ("gelu", "sin(h1)"), ("relu", "h1 + h1*h2")]
)
@pytest.mark.parametrize("steps", [0, 1, 2])
def test_no_movement_gives_random_features(sigma: str, target: str, steps: int) -> None:
    problem = Problem.of(target, noise=0.1)
    fit = Fit.of(2.0, 1.5, 0.05)
    expected = small_step_risk(LinearFeatures.of(problem, activation(sigma)), fit)
    layer = stepped_layer(sigma, target, [(0.0, 2.0)] * steps, noise=0.1)
    found = risk(sigma, target, layer, fit, 0.1)
    assert found.test - 0.1 == pytest.approx(expected.test_error, rel=1e-8)
    assert found.train == pytest.approx(expected.train_error, rel=1e-8)


def test_norm_and_freedom_of_the_fit_are_those_of_random_features() -> None:
    given = RandomFeatures(samples="2d", width="1.5d", activation="relu", ridge=0.05)
    known = random_features.predict(Problem.of("relu(h1)", noise=0.1), given).metrics
    layer = stepped_layer("relu", "relu(h1)", [], noise=0.1)
    found = risk("relu", "relu(h1)", layer, Fit.of(2.0, 1.5, 0.05), 0.1)
    assert found.norm * 1.5 / 2 == pytest.approx(known["norm"], rel=1e-8)
    assert found.freedom == pytest.approx(known["degrees_of_freedom"], rel=1e-8)


@pytest.mark.parametrize("start", [ONE, ON_SPHERE, Neurons.of([1.0, -0.5], normalise=True)])
def test_a_step_of_no_size_changes_nothing(start: Neurons) -> None:
    """At its end or at its beginning, and lengths of neurons are kept through it."""
    paths = [(2.0, 3.0), (0.0, 5.0)], [(2.0, 3.0)], [(0.0, 5.0), (2.0, 3.0)]
    given = "softplus(z+1)", "tanh(h1)"
    found = [risk(*given, stepped_layer(*given, path, start), Fit.of(2, 1, 0.05)) for path in paths]
    for other in (found[0], found[2]):
        assert other.test == pytest.approx(found[1].test, rel=1e-8)
        assert other.train == pytest.approx(found[1].train, rel=1e-8)


def test_a_bias_is_a_shift_of_the_activation() -> None:
    """Of one kind, and of two with equal biases."""
    fit, path = Fit.of(2, 1, 0.05), (1.5, 3, 2)
    shifted = risk("tanh(z+0.3)", "sin(h1)", stepped("tanh(z+0.3)", "sin(h1)", 0, path), fit)
    for law in (([0.3], [1.0]), ([0.3, 0.3], [0.4, 0.6])):
        layer = stepped("tanh", "sin(h1)", 0, path, Neurons.of([1.0], biases=law))
        assert risk("tanh", "sin(h1)", layer, fit).test == pytest.approx(shifted.test, rel=1e-7)


def test_many_kinds_are_integrated_over_the_directions_that_matter() -> None:
    """Eight values of a readout: two directions beside the target's, and the risk of four axes."""
    start = Neurons.of(*limit_gaussian_readouts(8))
    layer = stepped_layer("gelu", "tanh(h1)", [(1.0, 3.0)] * 2, start, loss="square")
    means, frame = limit_frame_of_means(layer.means, 1)
    assert frame.shape[1] == 3
    np.testing.assert_allclose(means @ means.T, layer.means @ layer.means.T, atol=2e-3)


def test_eight_blocks_stand_for_a_gaussian_readout() -> None:
    """Where features are smooth, as Gauss-Hermite nodes do; the means of cells are .6 % off."""
    fit, found = Fit.of(0.5, 1, 1.0, 200), []
    for law in (limit_gaussian_readouts(8), gauss_hermite(8)):
        layer = stepped("softplus", "tanh(h1)", 0, (1.3, 4, 2), Neurons.of(*law))
        found.append(risk("softplus", "tanh(h1)", layer, fit).test)
    assert found[0] == pytest.approx(found[1], rel=1e-3)


def test_equal_kinds_may_be_split() -> None:
    split = Neurons.of([1.0, 1.0, -1.0], [0.2, 0.3, 0.5])
    found = [
        risk(
            "gelu",
            "sin(h1)",
            stepped("gelu", "sin(h1)", 0, (2, 4, 2), neurons),
            Fit.of(2, 1, 0.1, 200),
        )
        for neurons in (Neurons.of([1.0, -1.0]), split)
    ]
    assert found[0].test == pytest.approx(found[1].test, rel=1e-6)


@pytest.mark.parametrize(
    ("part", "sigma", "target"),
    [
        *((part, "relu", G12) for part in ("bends", "scatters", "lengths", "crowding", "steps")),
        *((part, "softplus(z+1)", "tanh(h1)") for part in ("leans", "pushes", "memory")),
    ],
)
@pytest.mark.parametrize("which", [0, 1])
def test_the_risk_notices_each_constant_of_each_step(
    part: str, sigma: str, target: str, which: int
) -> None:
    """A change of 5 % in what one of two batches left."""
    layer = stepped(sigma, target, 0, (1.5, 3, 2))
    fit = Fit.of(2, 1, 0.05)
    right = risk(sigma, target, layer, fit).test
    batches, batch = list(layer.batches), layer.batches[which]
    if part == "pushes":
        wrong = layer._replace(pushes=tuple(1.05 * push for push in layer.pushes))
    elif part == "memory":
        memory = layer.memory.copy()
        memory[2, 1] *= 1.05
        wrong = layer._replace(memory=memory)
    else:
        batches[which] = batch._replace(**{part: 1.05 * getattr(batch, part)})
        wrong = layer._replace(batches=tuple(batches))
    assert abs(risk(sigma, target, wrong, fit).test / right - 1) > 1e-6


@pytest.mark.parametrize("part", ["lengths", "means", "before", "turns", "leans"])
def test_the_risk_notices_each_constant_of_the_sphere(part: str) -> None:
    """A change of 5 % in what rows do on their way back after the second step."""
    layer = stepped("relu", G12, 0, (1.5, 4, 2), ON_SPHERE)
    fit, (first, second) = Fit.of(2, 1, 0.05), layer.batches
    assert second.sphere is not None
    sphere = second.sphere._replace(**{part: 1.05 * getattr(second.sphere, part)})
    wrong = layer._replace(batches=(first, second._replace(sphere=sphere)))
    right = risk("relu", G12, layer, fit).test
    assert abs(risk("relu", G12, wrong, fit).test / right - 1) > 1e-3


def test_the_output_of_a_linear_network() -> None:
    """f(x) = <m, x>: m moves by R = y - f, and keeps the noise of both batches."""
    layer = stepped("identity", "h1", 0.5, (0.5, 4.0, 2))
    first = 0.5**2 / 4 * 1.5
    along = 0.5 + 0.5 * 0.5
    across = first * 0.5**2 + 0.5**2 / 4 * (0.25 + first + 0.5)
    assert network_error(readout_on("identity", "h1", layer, 0.5)) == pytest.approx(
        (1 - along) ** 2 + across, rel=1e-9
    )


def test_the_mean_row_of_a_linear_network() -> None:
    """The output pulls it back by (1 - t S), S = X^T X / n_0 of each fresh batch; no single row."""
    layer = stepped("identity", "h1", 0.5, (0.5, 4.0, 2))
    assert layer.common[0, 0] == pytest.approx((0.5**2 + 0.5**2 / 4) ** 2, rel=1e-9)
    assert layer.bulks[0, 0] == pytest.approx(1.0, rel=1e-9)


def test_lengths_of_twins_with_equal_readouts_are_one_length() -> None:
    """Two ways to one number; the sum over Hermite degrees ends at 24."""
    layer = stepped("tanh", "sin(h1)", 0, (2, 3, 2), Neurons.of([1.0, 1.0], paired=True))
    own, between = layer.batches[1].lengths[0]
    assert between == pytest.approx(own, rel=2e-3)


def test_recursion_of_means_and_bulks_of_relu() -> None:
    """The second step of three kinds, by Monte Carlo over a sample and very many neurons."""
    rng = np.random.default_rng(3)
    layer = stepped("relu", "relu(h1)", 0, (1.0, 4.0, 2), THREE)
    before = stepped("relu", "relu(h1)", 0, (1.0, 4.0, 1), THREE)
    samples, neurons = 40_000, 60
    e = rng.standard_normal((samples, before.means.shape[1]))
    z = rng.standard_normal((neurons, samples, 1))
    inner = e @ before.means.T + np.sqrt(before.variances) * z
    output = np.mean(np.maximum(inner, 0), axis=0) @ (THREE.fractions * THREE.readout)
    residual, slope = np.maximum(e[:, 0], 0) - output, np.mean(inner > 0, axis=0)
    moved = residual[:, None] * slope * e[:, :1]
    seen = (layer.means[:, 0] - before.means[:, 0]) / THREE.readout
    spread = moved.std(axis=0) / samples**0.5
    assert np.all(np.abs(seen - moved.mean(axis=0)) < 5 * spread + 0.3 / neurons)
    assert np.all(5 * spread + 0.3 / neurons < 0.2 * np.abs(seen))


@pytest.mark.parametrize("coarse", [True, False])
@pytest.mark.parametrize("directions", [2, 3, 4, 5])
def test_nodes_resolve_targets_that_oscillate(directions: int, coarse: bool) -> None:
    """With three axes the power of sin(4.5*h1) was .015: two steps left .015 of .5, not .531."""
    means = np.eye(directions)
    points, labels, weights = risk_input_rule(
        Problem.of("sin(4.5*h1)"), means, np.ones(directions), coarse=coarse
    )
    assert weights @ labels**2 == pytest.approx(0.5, rel=2e-3)
    slope = 4.5 * np.exp(-(4.5**2) / 2)
    assert weights @ (labels * points[:, 0]) == pytest.approx(slope, abs=1e-3)
