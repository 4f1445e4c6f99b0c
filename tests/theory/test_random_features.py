"""The prediction of `random-features`: interface, coverage, best ridge, gradient."""

from __future__ import annotations

import math

import numpy as np
import pytest

import giantstep as gs
from giantstep.errors import NoTheory, SettingsError
from giantstep.language.inputs import Spiked
from giantstep.language.problem import Problem
from giantstep.settings.random_features import RandomFeatures
from giantstep.theory.convex.convex_loss import convex_risk
from giantstep.theory.random_features import gradient, predict
from giantstep.theory.ridge import spectral_case

QUADRATIC = Problem.of("h1 + He2(h1)/sqrt(2)", noise=0.1)
SIGN = Problem.of("sign(h1)")
LOGISTIC = RandomFeatures(samples="3d", width="2d", ridge=0.1, activation="tanh", loss="logistic")


def test_square_loss() -> None:
    found = predict(QUADRATIC, RandomFeatures(samples="2d", width="1d", ridge=0.1))
    assert list(found.metrics) == [
        *("test_error", "test_error_noisy", "train_error", "norm", "degrees_of_freedom")
    ]
    assert found.metrics["test_error"] == pytest.approx(2.095686, abs=1e-6)
    assert found.metrics["test_error_noisy"] == pytest.approx(2.195686, abs=1e-6)
    assert found.metrics["train_error"] == pytest.approx(0.868393, abs=1e-6)
    assert found.metrics["norm"] == pytest.approx(1.707282, abs=1e-6)
    assert found.status == "theorem"
    assert any("1908.05355" in reference for reference in found.references)


@pytest.mark.parametrize(
    ("target", "sigma", "start", "sizes", "noise", "expected"),
    [
        ("h1 + h1*h2", "relu", "sphere", ("2d", "1d", 0.1), 0.1, 2.095686),
        ("sin(h1)", "erf", "sphere", ("1d", "2d", 0.01), 0.2, 0.597801),
        ("relu(h1) - 1/sqrt(2*pi)", "tanh", "gaussian", ("3d", "1.5d", 0.1), 0.0, 0.168639),
        ("h1 + 0.7", "tanh", "sphere", ("2d", "1.5d", 0.1), 0.05, 0.97343),
        ("h1 + 0.7", "z + 0.7*He2(z)", "gaussian", ("2d", "1.5d", 0.1), 0.05, 1.82699),
        ("h1 + 0.7", "z + 0.7*He2(z)", "sphere", ("2d", "1.5d", 0.1), 0.05, 2.39842),
    ],
)
def test_any_target_activation_and_start(
    target: str,
    sigma: str,
    start: str,
    sizes: tuple[str, str, float],
    noise: float,
    expected: float,
) -> None:
    samples, width, ridge = sizes
    settings = RandomFeatures(
        samples=samples, width=width, ridge=ridge, activation=sigma, start=start
    )
    found = predict(Problem.of(target, noise=noise), settings)
    assert found.metrics["test_error"] == pytest.approx(expected, abs=6e-6)


def test_the_mean_costs_nothing_when_the_features_have_one() -> None:
    settings = RandomFeatures(activation="relu")
    shifted = predict(Problem.of("h1 + 3"), settings).metrics["test_error"]
    assert shifted == pytest.approx(predict(Problem.of("h1"), settings).metrics["test_error"])


def test_peak_is_flagged() -> None:
    found = predict(QUADRATIC, RandomFeatures(samples="2d", width="2d", ridge=0))
    assert found.metrics["test_error"] == math.inf
    assert any("peak" in note for note in found.notes)
    answer = gs.predict(RandomFeatures(samples="2d", width="2d", ridge=0), QUADRATIC)
    assert answer.to_json()["metrics"]["test_error"] == "inf"
    near = predict(QUADRATIC, RandomFeatures(samples="2d", width="2.01d", ridge=1e-4))
    assert any("peak" in note for note in near.notes)


@pytest.mark.parametrize(
    ("samples", "width", "ridge", "risk"),
    [("2d", "1d", 0.910, 1.776787), ("2d", "2d", 0.514, 1.666040), ("1.5d", "3d", 0.404, 1.673671)],
)
def test_optimal_ridge(samples: str, width: str, ridge: float, risk: float) -> None:
    settings = RandomFeatures(samples=samples, width=width)
    found = predict(QUADRATIC, settings, optimise=("ridge",))
    assert found.metrics["test_error"] == pytest.approx(risk, abs=1.5e-6)
    assert found.metrics["ridge"] == pytest.approx(ridge, rel=5e-3)
    assert found.settings["ridge"] == found.metrics["ridge"]
    best = settings.replace(ridge=found.metrics["ridge"])
    assert gradient(QUADRATIC, best)["ridge"] == pytest.approx(0, abs=1e-9)


def test_optimal_ridge_at_the_end_of_its_range() -> None:
    """Nothing to learn at n ~ d: the more ridge the better."""
    found = predict(Problem.of("He2(h1)", noise=1.0), RandomFeatures(), optimise=("ridge",))
    assert np.isnan(found.metrics["ridge"])
    assert found.settings["ridge"] == pytest.approx(1e6)
    assert any("no optimum inside" in note for note in found.notes)


def test_gradient_is_that_of_central_differences() -> None:
    rng = np.random.default_rng(3)
    names = ("samples", "width", "ridge", "noise")
    for _ in range(20):
        point = dict(zip(names, np.exp(rng.uniform(-1.5, 1.5, 4)).tolist(), strict=True))

        def error(shift: dict[str, float], point: dict[str, float] = point) -> float:
            at = {name: value + shift.get(name, 0.0) for name, value in point.items()}
            settings = RandomFeatures(
                samples=f"{at['samples']!r}d", width=f"{at['width']!r}d", ridge=at["ridge"]
            )
            problem = Problem.of("h1 + He2(h1) + 0.4", noise=at["noise"])
            return predict(problem, settings).metrics["test_error"]

        settings = RandomFeatures(
            samples=f"{point['samples']!r}d", width=f"{point['width']!r}d", ridge=point["ridge"]
        )
        found = gradient(Problem.of("h1 + He2(h1) + 0.4", noise=point["noise"]), settings)
        for name, value in point.items():
            steps = [1e-4 * value * k for k in (2, 1)]
            wide, narrow = ((error({name: h}) - error({name: -h})) / (2 * h) for h in steps)
            assert found[name] == pytest.approx((4 * narrow - wide) / 3, rel=1e-6, abs=1e-6)


def test_finite_dimension_tends_to_the_limit() -> None:
    settings = RandomFeatures(samples="2d", width="1d", ridge=0.1)
    limit = predict(QUADRATIC, settings).metrics
    for inputs in ("gaussian", "sphere"):
        near, far = (
            predict(Problem.of(QUADRATIC, inputs=inputs), settings.replace(dim=dim)).metrics
            for dim in (100, 10_000)
        )
        for name in limit:
            assert far[name] == pytest.approx(limit[name], rel=1e-3)
            assert abs(near[name] - limit[name]) > abs(far[name] - limit[name])


def test_a_fixed_spike_helps_the_linear_part() -> None:
    settings = RandomFeatures(samples="2d", width="1d", ridge=0.1)
    plain = predict(QUADRATIC, settings).metrics["test_error"]
    weak, strong = (
        predict(Problem.of(QUADRATIC, inputs=Spiked(strength)), settings).metrics["test_error"]
        for strength in (1e-9, 5)
    )
    assert weak == pytest.approx(plain, abs=1e-8)
    assert strong < plain


def test_classification() -> None:
    found = predict(SIGN, LOGISTIC)
    assert list(found.metrics) == [
        *("test_error", "train_loss", "norm", "overlap_q", "overlap_m", "overlap_v", "intercept")
    ]
    assert found.metrics["test_error"] == pytest.approx(0.204747, abs=1e-6)
    assert found.metrics["overlap_v"] == pytest.approx(1.488643, abs=1e-6)
    assert found.metrics["norm"] == pytest.approx(2.952736 * 2 / 3, abs=1e-6)
    assert found.status == "replica"
    at_dim = predict(SIGN, LOGISTIC.replace(samples=300, width=200, dim=100))
    assert at_dim.metrics["test_error"] == pytest.approx(0.204747, abs=1e-6)


def test_label_noise_inside_the_target() -> None:
    noisy = predict(Problem.of("sign(h1 + 0.5*z1)"), LOGISTIC)
    floor = math.atan(0.5) / math.pi
    clean = predict(SIGN, LOGISTIC)
    assert noisy.metrics["test_error"] > max(floor, clean.metrics["test_error"])
    assert isinstance(noisy.metrics["overlap_m"], float)


@pytest.mark.slow
@pytest.mark.parametrize("loss", ["logistic", "hinge"])
def test_gradient_of_a_classification_loss(loss: str) -> None:
    rng = np.random.default_rng(2)
    problem = Problem.of("sign(h1 - 0.5)")

    def settings(point: np.ndarray) -> RandomFeatures:
        alpha, psi, ridge = map(float, point)
        return RandomFeatures(samples=f"{alpha}d", width=f"{psi}d", ridge=ridge, loss=loss)

    def error(point: np.ndarray) -> float:
        return predict(problem, settings(point)).metrics["test_error"]

    for _ in range(4):
        point = np.exp(rng.uniform(-0.7, 0.9, 3)) * np.array([2.0, 1.0, 0.3])
        found = list(gradient(problem, settings(point)).values())
        steps = np.diag(1e-4 * point)
        wide, narrow = (
            np.array([(error(point + h) - error(point - h)) / (2 * h.sum()) for h in k * steps])
            for k in (2, 1)
        )
        assert found == pytest.approx((4 * narrow - wide) / 3, rel=1e-6, abs=1e-6)


@pytest.mark.slow
def test_optimal_ridge_of_the_logistic_loss() -> None:
    found = predict(SIGN, LOGISTIC, optimise=("ridge",))
    best = found.metrics["ridge"]
    around = [
        predict(SIGN, LOGISTIC.replace(ridge=best * factor)).metrics["test_error"]
        for factor in (0.8, 1.25)
    ]
    assert found.metrics["test_error"] < min(around)
    assert gradient(SIGN, LOGISTIC.replace(ridge=best))["ridge"] == pytest.approx(0, abs=1e-7)


def test_numbers_do_not_recompile() -> None:
    gradient(QUADRATIC, RandomFeatures())
    predict(SIGN, LOGISTIC)
    before = spectral_case._slopes._cache_size(), convex_risk._cache_size()
    for ridge in (0.02, 0.7):
        gradient(Problem.of("sin(h1)", noise=0.3), RandomFeatures(samples="3d", ridge=ridge))
        predict(SIGN, LOGISTIC.replace(samples="1.7d", ridge=ridge, activation="erf"))
    assert (spectral_case._slopes._cache_size(), convex_risk._cache_size()) == before


@pytest.mark.parametrize(
    ("problem", "options", "error", "message"),
    [
        (QUADRATIC, {"activation": "identity", "ridge": 0, "width": "3d"}, SettingsError, "ridge"),
        (
            QUADRATIC,
            {"activation": "identity", "ridge": 0, "width": "3d", "dim": 50},
            SettingsError,
            "ridge",
        ),
        (QUADRATIC, {"loss": "hinge"}, SettingsError, "labels -1 and 1"),
        (Problem.of("sign(h1)", noise=0.1), {"loss": "hinge"}, SettingsError, "labels -1 and 1"),
        (QUADRATIC, {"samples": 100}, NoTheory, "grow with d"),
        (SIGN, {"biases": "normal", "loss": "hinge"}, NoTheory, "biases"),
        (Problem.of(QUADRATIC, inputs="spiked:d^0.5"), {}, NoTheory, "spike of fixed size"),
        (Problem.of(SIGN, inputs="spiked:2"), {"loss": "hinge"}, NoTheory, "inputs = spiked:2"),
        (SIGN, {"loss": "hinge", "samples": "d^2"}, SettingsError, "proportional"),
    ],
)
def test_settings_without_an_answer(
    problem: Problem, options: dict[str, object], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message) as caught:
        predict(problem, RandomFeatures(**options))
    assert "\n" not in str(caught.value)


def test_a_linear_activation_with_few_neurons_is_fine() -> None:
    settings = RandomFeatures(activation="identity", ridge=0, samples="2d", width="0.5d")
    assert predict(Problem.of("h1"), settings).metrics["test_error"] == pytest.approx(2 / 3)


def test_settings_that_contradict_themselves() -> None:
    with pytest.raises(SettingsError, match="ridge above 0"):
        RandomFeatures(loss="hinge", ridge=0)
    with pytest.raises(SettingsError, match="only"):
        predict(QUADRATIC, RandomFeatures(), optimise=("width",))
