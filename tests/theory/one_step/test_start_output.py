"""What the start output leaves in the rows, and what that does to the risk."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import t as student

from giantstep.language.activations.activation import activation
from giantstep.language.problem import Problem
from giantstep.settings.giant_step import GiantStep
from giantstep.theory.giant_step.risk.prediction import predict_risk as predict
from giantstep.theory.one_step.stepped_network import one_step
from giantstep.theory.spiked_random_features.component_groups import spiked_component_groups
from giantstep.theory.spiked_random_features.finite_size import Blocks
from giantstep.theory.spiked_random_features.risk import spiked_risk

SINE = Problem.of("sin(h1)")
TANH = GiantStep(
    activation="tanh", readout="ones", samples="20d", step_size=1, width="1d",
    readout_samples="4d", ridge=0.1, dim=200,
)  # fmt: skip


def cosines_of_neurons(settings: GiantStep, draws: int) -> np.ndarray:
    """p times the mean cosine of two neurons across b, by their readouts; one matrix per draw."""
    sigma, dim = activation(settings.activation), settings.dim
    samples, width = settings.samples.count(dim, "samples"), settings.width.count(dim, "width")
    values, fractions = (np.array(part) for part in settings.readout_support())
    kinds = np.repeat(np.arange(len(values)), np.round(fractions * width).astype(int))
    readout, members = values[kinds], np.equal.outer(np.arange(len(values)), kinds) * 1.0
    mean = float(sigma.hermite(0)[0]) * readout.mean() if settings.loss == "square" else 0.0
    found = []
    for seed in range(draws):
        rng = np.random.default_rng([seed, 3])
        rows = rng.standard_normal((width, dim))
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        inputs = rng.standard_normal((samples, dim))
        labels, fields = np.sin(inputs[:, 0]), inputs @ rows.T
        output = sigma.numpy(fields) @ readout / width if settings.loss == "square" else 0.0
        pulls = (labels - output)[:, None] * sigma.numpy_derivative(fields)
        rows = rows + settings.step_size.at(dim) * readout[:, None] * (pulls.T @ inputs) / samples
        learned = (labels - mean) @ inputs
        learned /= np.linalg.norm(learned)
        bulk = rows - np.outer(rows @ learned, learned)
        sums = members @ bulk
        own = np.diag(members @ np.sum(bulk**2, axis=1))
        counts = members.sum(axis=1)
        pairs = np.outer(counts, counts) - np.diag(counts)
        lengths = np.sqrt(np.diag(own) / counts)
        found.append(width * (sums @ sums.T - own) / pairs / np.outer(lengths, lengths))
    return np.array(found)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("changes", "draws"),
    [
        ({"samples": "4d", "step_size": 1.5}, 60),
        ({"samples": "1d", "step_size": 2.5, "width": "2d"}, 60),
        ({"samples": "2d", "step_size": 1.5, "readout": "-1:0.5,2:0.5"}, 60),
        ({"samples": "1d", "step_size": 2.5, "width": "2d", "loss": "correlation"}, 100),
        ({"samples": "4d", "step_size": 2.0, "activation": "softplus"}, 60),
        ({"samples": "2d", "step_size": 2.0, "activation": "relu"}, 60),
    ],
)
def test_neurons_of_real_steps_are_correlated_as_predicted(
    changes: dict[str, object], draws: int
) -> None:
    settings = TANH.replace(dim=100).replace(**changes)
    step, sizes = one_step(SINE, settings)
    expected = step.blocks(sizes).correlation
    found = cosines_of_neurons(settings, draws)
    mean, error = found.mean(axis=0), found.std(axis=0, ddof=1) / np.sqrt(draws)
    # Of relative order 1/d: 3 % of the braces' largest term.
    pull = step.signal.mu_1**2 * sizes.step_sizes[0] * np.abs(np.outer(step.readout, step.readout))
    rest = 0.03 * 2 * np.max(pull) if settings.loss == "square" else 0.01
    assert np.all(np.abs(mean - expected) < rest + student.ppf(1 - 5e-5, draws - 1) * error)


def test_term_by_term_against_the_handbook() -> None:
    """Correlated neurons alone, rows as in the limit: 0.07439; without them 0.07652."""
    step, sizes = one_step(SINE, TANH)
    limit = (
        step._replace(version="limit")
        .blocks(sizes)
        ._replace(length_tilt=step.blocks(sizes).length_tilt)
    )
    # The bulk of the limit, without what the neuron's own output takes.
    correlation = step.blocks(sizes).correlation
    alignment = float(step._replace(version="limit").alignment(sizes))

    def risk(blocks: Blocks) -> float:
        return float(
            spiked_risk(
                activation("tanh"), SINE.target, blocks, alignment=alignment, samples_ratio=4.0,
                width_ratio=1.0, ridge=0.1, dim=200.0, version="second-chaos",
            ).test
        )  # fmt: skip

    independent, correlated = risk(limit), risk(limit._replace(correlation=correlation))
    assert independent == pytest.approx(0.07652, abs=6e-6)
    assert correlated == pytest.approx(0.07439, abs=6e-6)
    assert risk(limit._replace(correlation=0 * correlation)) == pytest.approx(
        independent, rel=1e-12
    )


@pytest.mark.parametrize(
    ("samples", "corrected"), [("1d", 0.09758), ("2d", 0.08471), ("4d", 0.07415), ("8d", 0.06802)]
)
def test_corrected_risks_of_the_handbook(samples: str, corrected: float) -> None:
    """The references end the expansion in a neuron's component early: 0.2 % at d = 200."""
    found = predict(SINE, TANH.replace(readout_samples=samples)).metrics["test_error"]
    assert found == pytest.approx(corrected, rel=2e-3)


def test_simulated_risks_of_the_handbook() -> None:
    for loss, mean, error in (("square", 0.07428, 0.0003), ("correlation", 0.07638, 0.00031)):
        found = predict(SINE, TANH.replace(loss=loss)).metrics["test_error"]
        assert abs(found - mean) < 2 * error


def test_the_start_output_fades_with_the_dimension() -> None:
    """Its share of the risk is of order 1/d."""
    shares = []
    for dim in (4000, 40_000):
        square, correlation = (
            predict(SINE, TANH.replace(dim=dim, loss=loss)).metrics["test_error"]
            for loss in ("square", "correlation")
        )
        shares.append(square / correlation - 1)
    assert shares[0] / shares[1] == pytest.approx(10, rel=0.1)


def test_groups_converge_and_become_one_function_in_the_limit() -> None:
    blocks = Blocks(0.9 * np.ones(1), np.ones(1), np.ones(1), length_tilt=-0.5 * np.ones(1))

    def risk(dim: float, groups: int) -> float:
        chosen = spiked_component_groups(blocks, dim, groups) if groups else blocks
        sizes = {"samples_ratio": 2.0, "width_ratio": 1.0, "ridge": 0.1, "alignment": 0.9}
        found = spiked_risk(
            activation("tanh"), SINE.target, chosen, **sizes, dim=dim, version="second-chaos"
        )
        return float(found.test)

    assert risk(50.0, 3) == pytest.approx(risk(50.0, 5), rel=2e-4)
    gaps = [risk(dim, 3) / risk(dim, 0) - 1 for dim in (1000.0, 10_000.0)]
    assert gaps[0] / gaps[1] == pytest.approx(10, rel=0.05)
