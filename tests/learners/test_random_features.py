"""The learner `random-features`: its fits, its laws, its seeds."""

from __future__ import annotations

import numpy as np
import pytest

from giantstep.errors import SettingsError
from giantstep.language.losses import loss_from_text
from giantstep.language.problem import Problem
from giantstep.learners.convex_fit import train_classifier_readout, trained_susceptibility
from giantstep.learners.random_features import simulate
from giantstep.settings.random_features import RandomFeatures

SMALL = RandomFeatures(dim=30, samples="2d", width="1d", test_samples=200)
NOISY = Problem.of("h1 + h1*h2", noise=0.1)


def test_a_seed_gives_the_same_run_however_many_there_are() -> None:
    few, many = (simulate(NOISY, SMALL, seeds=n) for n in (2, 4))
    later = simulate(NOISY, SMALL, seeds=2, seed=2)
    for name, values in many.metrics.items():
        assert np.array_equal(values[:2], few.metrics[name])
        assert np.array_equal(values[2:], later.metrics[name])


def test_progress_counts_the_runs() -> None:
    seen: list[float] = []
    simulate(NOISY, SMALL, seeds=4, progress=seen.append)
    assert seen == [0.25, 0.5, 0.75, 1.0]


def test_without_ridge_wide_features_interpolate() -> None:
    run = simulate(NOISY, SMALL.replace(ridge=0, width="4d"), seeds=2)
    assert run.metrics["train_error"] == pytest.approx(0, abs=1e-12)
    assert run.metrics["degrees_of_freedom"] == pytest.approx(1)
    added = run.metrics["test_error_noisy"] - run.metrics["test_error"]
    assert added == pytest.approx(0.1)


@pytest.mark.parametrize("biases", ["normal", "uniform"])
def test_biases_let_relu_learn_the_third_degree(biases: str) -> None:
    """relu without biases has no third Hermite coefficient."""
    problem = Problem("He3(h1)/sqrt(6)", inputs="sphere")
    settings = RandomFeatures(dim=3, samples=800, width=200, ridge=1e-3, test_samples=500)
    plain = simulate(problem, settings, seeds=2).mean("test_error")
    biased = simulate(problem, settings.replace(biases=biases), seeds=2).mean("test_error")
    assert biased < 0.1 * plain


def test_laws_of_the_inputs() -> None:
    rng = np.random.default_rng(0)
    sphere = Problem("h1 + 0*h2 + h2", 0.25, "sphere").draw(50, 20, rng)
    assert np.sum(sphere.inputs**2, axis=1) == pytest.approx(20)
    assert np.array_equal(sphere.latent, sphere.inputs[:, :2])
    problem = Problem("h1 + 0*h2 + h2", 0.25, "spiked:d^0.5")
    spiked = problem.draw(20_000, 16, rng)
    assert np.var(spiked.inputs[:, 0]) == pytest.approx(5, rel=0.05)
    assert np.var(spiked.inputs[:, 1]) == pytest.approx(1, rel=0.05)
    assert np.var(spiked.latent, axis=0) == pytest.approx([1, 1], rel=0.05)
    assert spiked.clean == pytest.approx(spiked.latent.sum(axis=1))
    assert np.var(spiked.labels - spiked.clean) == pytest.approx(0.25, rel=0.05)


@pytest.mark.parametrize("loss", ["logistic", "hinge"])
def test_classifiers_minimise_our_objective(loss: str) -> None:
    rng = np.random.default_rng(1)
    features = rng.standard_normal((80, 30)) / 30**0.5
    labels = np.sign(features[:, 0] + 0.1 * rng.standard_normal(80))
    ridge = 0.05

    def objective(a: np.ndarray) -> float:
        losses = loss_from_text(loss).numpy(labels, features @ a)
        return float(losses.sum() + ridge / 2 * a @ a)

    best = train_classifier_readout(loss, features, labels, ridge)
    for _ in range(20):
        nearby = best + 0.02 * rng.standard_normal(30)
        assert objective(best) < objective(nearby)


def test_susceptibility_is_the_response_of_the_fit() -> None:
    """V by the Hessian, against refits with one more sample pulling at the readout."""
    from scipy.optimize import minimize

    rng = np.random.default_rng(2)
    features = rng.standard_normal((60, 10)) / 10**0.5
    labels = np.sign(features[:, 0])
    ridge = 0.3
    best = train_classifier_readout("logistic", features, labels, ridge)
    fresh = rng.standard_normal((5, 10)) / 10**0.5

    def pulled(phi: np.ndarray, pull: float) -> np.ndarray:
        def objective(a: np.ndarray) -> float:
            total = np.logaddexp(0.0, -labels * (features @ a)).sum()
            return total + ridge / 2 * a @ a - pull * phi @ a

        return minimize(objective, best, tol=1e-12).x

    centred = fresh - fresh.mean(axis=0)
    responses = [phi @ (pulled(phi, 0.01) - pulled(phi, -0.01)) / 0.02 for phi in centred]
    loss = loss_from_text("logistic")
    found = trained_susceptibility(loss, features, labels, features @ best, ridge, fresh)
    assert found == pytest.approx(np.mean(responses), rel=1e-3)


def test_what_a_simulation_refuses() -> None:
    with pytest.raises(SettingsError, match="needs dim"):
        simulate(NOISY, SMALL.replace(dim=None))
    with pytest.raises(SettingsError, match="labels -1 and 1"):
        simulate(NOISY, SMALL.replace(loss="hinge"))
    with pytest.raises(SettingsError, match="directions"):
        simulate(Problem.of("h1*h2*h3*h4"), SMALL.replace(dim=3))
