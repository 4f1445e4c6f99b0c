"""The learner `kernel`: its fit against scikit-learn, its laws, its seeds."""

from __future__ import annotations

import numpy as np
import pytest

from giantstep.errors import SettingsError
from giantstep.language.activations.kernels import kernel
from giantstep.language.problem import Problem
from giantstep.learners.kernel import simulate
from giantstep.numerics.seeds import generator
from giantstep.settings.kernel import Kernel

PROBLEM = Problem.of("sin(2*h1) + h2", noise=0.1)
SMALL = Kernel(dim=20, samples=40, ridge=0.05, test_samples=100)


@pytest.mark.parametrize("name", ["exp", "arccos0", "arccos1", "1+t+t^2"])
def test_fit_is_that_of_scikit_learn(name: str) -> None:
    from sklearn.kernel_ridge import KernelRidge as Peer

    settings = SMALL.replace(kernel=name)
    run = simulate(PROBLEM, settings, seeds=1, seed=3)
    rng = generator("kernel", PROBLEM.to_json(), settings.to_json(), 3)
    train, test = (PROBLEM.draw(n, 20, rng) for n in (40, 100))
    shape = kernel(name)
    peer = Peer(alpha=0.05, kernel="precomputed")
    matrix = shape.matrix(train.inputs, train.inputs)
    peer.fit(matrix, train.labels)
    test_error = np.mean((peer.predict(shape.matrix(test.inputs, train.inputs)) - test.clean) ** 2)
    assert run.metrics["test_error"][0] == pytest.approx(test_error, rel=1e-8)
    residual = train.labels - peer.predict(matrix)
    assert run.metrics["train_error"][0] == pytest.approx(np.mean(residual**2), rel=1e-7)
    norm = peer.dual_coef_ @ matrix @ peer.dual_coef_ / 40
    assert run.metrics["norm"][0] == pytest.approx(norm, rel=1e-8)
    hat = np.trace(matrix @ np.linalg.inv(matrix + 0.05 * np.eye(40)))
    assert run.metrics["degrees_of_freedom"][0] == pytest.approx(hat / 40, rel=1e-8)


def test_without_ridge_it_interpolates() -> None:
    run = simulate(PROBLEM, SMALL.replace(ridge=0), seeds=2)
    assert run.metrics["train_error"] == pytest.approx(0, abs=1e-12)


def test_a_spike_makes_its_direction_easy() -> None:
    plain, spiked = (
        simulate(Problem("He2(h1)", inputs=law), SMALL, seeds=5).mean("test_error")
        for law in ("gaussian", "spiked:d^0.8")
    )
    assert spiked < 0.5 * plain


def test_a_seed_gives_the_same_run_however_many_there_are() -> None:
    few, many = (simulate(PROBLEM, SMALL, seeds=n) for n in (1, 3))
    assert many.metrics["test_error"][0] == few.metrics["test_error"][0]
    assert len(set(many.metrics["test_error"])) == 3


def test_what_a_simulation_refuses() -> None:
    with pytest.raises(SettingsError, match="needs dim"):
        simulate(PROBLEM, SMALL.replace(dim=None))
    with pytest.raises(SettingsError, match="directions"):
        simulate(Problem.of("h1*h2*h3*h4"), SMALL.replace(dim=3))
