"""The prediction of `kernel`: isotropic and spiked, best ridge, gradient, coverage."""

from __future__ import annotations

import numpy as np
import pytest

from giantstep.errors import NoTheory, SettingsError
from giantstep.language.inputs import Spiked
from giantstep.language.problem import Problem
from giantstep.settings.kernel import Kernel
from giantstep.theory.kernel import gradient, predict

CUBIC = Problem.of("(h1 + He2(h1)/sqrt(2) + He3(h1)/sqrt(6))/sqrt(3)", noise=0.01)


def with_inputs(problem: Problem, inputs: str) -> Problem:
    return Problem.of(problem, inputs=inputs)


def test_isotropic_limit() -> None:
    settings = Kernel(samples="1d", ridge=0.01)
    linear = predict(Problem.of("h1", noise=0.01), settings)
    assert linear.metrics["test_error"] == pytest.approx(0.394814, abs=1e-6)
    assert linear.status == "theorem"
    quadratic = predict(Problem.of("He2(h1)/sqrt(2)", noise=0.01), settings)
    assert quadratic.metrics["test_error"] == pytest.approx(1.237471, abs=1e-6)


def test_finite_dimension() -> None:
    settings = Kernel(samples=300, ridge=1e-3, dim=24)
    assert predict(with_inputs(CUBIC, "sphere"), settings).metrics["test_error"] == pytest.approx(
        0.4488, abs=5e-5
    )


def test_fluctuating_norms_are_mentioned() -> None:
    settings = Kernel(samples=300, ridge=1e-3, dim=24)
    found = predict(CUBIC, settings)
    assert found.metrics["test_error"] == pytest.approx(0.5894, abs=5e-5)
    assert found.status == "heuristic"
    assert any("norms of Gaussian inputs" in note for note in found.notes)
    sphere = predict(with_inputs(CUBIC, "sphere"), settings)
    assert sphere.status == "theorem"
    assert not any("norms" in note for note in sphere.notes)


def test_arc_cosine_kernel_is_the_wide_limit_of_relu() -> None:
    from giantstep.settings.random_features import RandomFeatures
    from giantstep.theory import random_features

    wide = RandomFeatures(samples="2d", width="1e7d", ridge=0.05)
    # Cho and Saul's kernel is twice that of relu neurons.
    narrow = Kernel(samples="2d", ridge=0.1, kernel="arccos1")
    found, expected = predict(CUBIC, narrow), random_features.predict(CUBIC, wide)
    assert found.metrics["test_error"] == pytest.approx(expected.metrics["test_error"], rel=1e-6)


def test_spike_at_finite_dimension() -> None:
    settings = Kernel(samples="1d", ridge=0.01, dim=300)
    found = predict(with_inputs(CUBIC, "spiked:d^0.5"), settings)
    assert found.metrics["test_error"] == pytest.approx(0.5188, rel=0.03)
    assert found.status == "heuristic"
    kinked = predict(Problem("relu(h1)", inputs="spiked:d^0.5"), settings)
    assert 0 < kinked.metrics["test_error"] < 0.091


def test_spike_in_the_limit() -> None:
    found = [
        predict(with_inputs(CUBIC, f"spiked:d^{gamma}"), Kernel(samples="1d", ridge=0.01))
        for gamma in (0.4, 0.58, 0.71)
    ]
    inflation = 1.2351
    for prediction, missed in zip(found, (2 / 3, 1 / 3, 0), strict=True):
        expected = (missed + 0.01) * inflation - 0.01
        assert prediction.metrics["test_error"] == pytest.approx(expected, abs=1e-4)


def test_spike_limit_is_reached_at_huge_dimension() -> None:
    """Also at the threshold of degree 2, where it is learned in part."""
    for strength in ("d^0.4", "2d^0.5", "d^0.62", "3"):
        limit, problem = (
            Kernel(samples="1d", ridge=0.01),
            with_inputs(CUBIC, f"spiked:{strength}"),
        )
        huge = limit.replace(dim=10**40 if strength != "3" else 10**9)
        expected, found = (predict(problem, case).metrics for case in (limit, huge))
        assert found["test_error"] == pytest.approx(expected["test_error"], rel=2e-3)
        assert found["degrees_of_freedom"] == pytest.approx(expected["degrees_of_freedom"])


@pytest.mark.parametrize("inputs", ["gaussian", "spiked:d^0.4"])
def test_optimal_ridge(inputs: str) -> None:
    noisy = Problem("h1 + He2(h1)", 5.0, inputs)
    settings = Kernel(samples="2d", dim=300)
    found = predict(noisy, settings, optimise=("ridge",))
    best = found.metrics["ridge"]
    assert 0.05 < best < 1e3
    errors = [
        predict(noisy, settings.replace(ridge=best * factor)).metrics["test_error"]
        for factor in (0.9, 1.1)
    ]
    assert found.metrics["test_error"] < min(errors)


def test_gradient_is_that_of_central_differences() -> None:
    rng = np.random.default_rng(6)
    for _ in range(20):
        alpha, ridge, noise = np.exp(rng.uniform(-1, 1, 3))

        def error(alpha: float, ridge: float, noise: float) -> float:
            settings = Kernel(samples=f"{float(alpha)!r}d", ridge=ridge)
            return predict(Problem.of("h1 + He2(h1)", noise=noise), settings).metrics["test_error"]

        settings = Kernel(samples=f"{float(alpha)!r}d", ridge=ridge)
        found = gradient(Problem.of("h1 + He2(h1)", noise=noise), settings)
        point = np.array([alpha, ridge, noise])
        for i, name in enumerate(("samples", "ridge", "noise")):
            step = 1e-4 * point[i] * np.eye(3)[i]
            wide, narrow = (
                (error(*(point + k * step)) - error(*(point - k * step))) / (2 * k * step[i])
                for k in (2, 1)
            )
            assert found[name] == pytest.approx((4 * narrow - wide) / 3, rel=1e-6, abs=1e-6)


@pytest.mark.slow
def test_gradient_with_a_spike() -> None:
    rng = np.random.default_rng(5)
    names = ("samples", "spike", "ridge", "noise")

    def case(point: np.ndarray) -> tuple[Problem, Kernel]:
        samples, spike, ridge, noise = map(float, point)
        problem = Problem(CUBIC.target, noise, Spiked(spike))
        return problem, Kernel(dim=300, samples=samples, ridge=ridge)

    def error(point: np.ndarray) -> float:
        return predict(*case(point)).metrics["test_error"]

    for _ in range(5):
        point = np.exp(rng.uniform(-0.7, 0.7, 4)) * np.array([300, 20, 0.3, 0.2])
        found = gradient(*case(point))
        steps = np.diag(1e-4 * point)
        wide, narrow = (
            np.array([(error(point + h) - error(point - h)) / (2 * h.sum()) for h in k * steps])
            for k in (2, 1)
        )
        expected = (4 * narrow - wide) / 3
        assert [found[name] for name in names] == pytest.approx(expected, rel=1e-6, abs=1e-8)


@pytest.mark.parametrize(
    ("target", "options", "error", "message"),
    [
        ("h1", {"kernel": "1+t^2"}, SettingsError, "no power 1"),
        ("He2(h1)", {"kernel": "arccos0", "samples": "d^2.5"}, SettingsError, "no power 2"),
        ("He2(h1)", {"kernel": "1+t+t^3", "inputs": "spiked:d^0.7"}, SettingsError, "no power 2"),
        ("h1", {"kernel": "1+t", "ridge": 0, "samples": "2d"}, SettingsError, "ridge = 0"),
        ("h1*h2", {"inputs": "spiked:d^0.5"}, NoTheory, "h1 alone"),
        ("h1", {"kernel": "arccos1", "inputs": "spiked:d^0.5"}, NoTheory, "norms"),
        ("h1", {"inputs": "spiked:d^1.2"}, NoTheory, "power below 1"),
        ("h1", {"inputs": "spiked:0.8d", "dim": 100}, NoTheory, "finite trace"),
        ("h1", {"kernel": "sin(t)"}, SettingsError, "cannot be read"),
        ("h1", {"kernel": "1-t"}, SettingsError, "negative"),
    ],
)
def test_settings_without_an_answer(
    target: str, options: dict[str, object], error: type[Exception], message: str
) -> None:
    problem = Problem(target, inputs=options.pop("inputs", "gaussian"))
    with pytest.raises(error, match=message) as caught:
        predict(problem, Kernel(**options))
    assert "\n" not in str(caught.value)


def test_dimension_must_be_whole() -> None:
    assert Kernel(dim="1e24").dim == 10**24
    with pytest.raises(SettingsError, match="whole"):
        Kernel(dim=3.5)
