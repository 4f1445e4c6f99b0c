"""Sizes that are powers of d: plateaus, whole exponents, weak modes."""

from __future__ import annotations

import math

import numpy as np
import pytest

from giantstep.errors import NoTheory
from giantstep.language.problem import Problem
from giantstep.language.sizes import Size
from giantstep.language.targets import Target
from giantstep.language.targets.hermite import target_energies, target_moments
from giantstep.settings.kernel import Kernel
from giantstep.settings.random_features import RandomFeatures
from giantstep.theory import kernel, random_features
from giantstep.theory.ridge.degree_energies import DegreeEnergies
from giantstep.theory.ridge.polynomial_regime import polynomial_regime

#: |P_{>l} g|^2 for l = 0, 1, 2, 3.
PLATEAUS = {
    "relu(h1)": (0.340845, 0.090845, 0.0112676, 0.0112676),
    "abs(h1)": (0.363380, 0.363380, 0.0450703, 0.0450703),
    "sign(h1)": (1.0, 0.363380, 0.363380, 0.257277),
    "tanh(h1)": (0.394294, 0.0274153, 0.0274153, 0.0053817),
    "sin(h1)": (0.432332, 0.0644529, 0.0644529, 0.0031397),
    "sign(h1*h2)": (1.0, 1.0, 0.594715, 0.594715),
    "relu(h1)*relu(h2)": (0.224670, 0.145092, 0.0572619, 0.0174732),
    "sin(h1) + abs(h2)": (0.795713, 0.427833, 0.109523, 0.048210),
}


@pytest.mark.parametrize("text", PLATEAUS)
def test_kernel_plateaus(text: str) -> None:
    """n = d^(l + 1/2) with a kernel that has every power."""
    found = [
        kernel.predict(Problem.of(text), Kernel(samples=f"d^{degree + 0.5}")) for degree in range(4)
    ]
    errors = [prediction.metrics["test_error"] for prediction in found]
    assert errors == pytest.approx(PLATEAUS[text], abs=1e-6)


def test_the_smaller_of_samples_and_width_decides() -> None:
    text = "sin(h1) + abs(h2)"
    sizes = {("d^1.5", "d^3.5"): 1, ("d^3.5", "d^1.5"): 1, ("d^2.5", "d^2.7"): 2}
    for (samples, width), degree in sizes.items():
        settings = RandomFeatures(samples=samples, width=width, activation="relu(z-1)")
        found = random_features.predict(Problem.of(text, noise=0.3), settings)
        assert found.metrics["test_error"] == pytest.approx(PLATEAUS[text][degree], abs=1e-6)


def test_relu_never_learns_degree_three() -> None:
    settings = RandomFeatures(samples="d^3.5", width="d^4.5", activation="relu")
    found = random_features.predict(Problem.of("He3(h1)/sqrt(6) + h1"), settings)
    assert found.metrics["test_error"] == pytest.approx(1.0, abs=1e-9)


def test_whole_exponent_is_the_limit_of_finite_dimensions() -> None:
    """n = 2 d^2: the degree-2 part is learned in part."""
    problem = Problem.of("h1 + He2(h1)/sqrt(2) + He3(h1)/sqrt(6)", noise=0.1)
    limit = kernel.predict(problem, Kernel(samples="2d^2", ridge=0.1)).metrics
    finite = [
        kernel.predict(problem, Kernel(samples="2d^2", ridge=0.1, dim=dim)).metrics
        for dim in (1000, 100_000)
    ]
    for name, value in limit.items():
        assert finite[1][name] == pytest.approx(value, rel=2e-3)
        assert abs(finite[1][name] - value) < abs(finite[0][name] - value)


def test_equal_growth_has_an_interpolation_peak_between_whole_exponents() -> None:
    problem = Problem.of("h1 + He2(h1)", noise=0.1)
    sizes = RandomFeatures(samples="d^1.5", width="d^1.5", ridge=0)
    assert random_features.predict(problem, sizes).metrics["test_error"] == math.inf
    wide = random_features.predict(problem, sizes.replace(width="3d^1.5")).metrics["test_error"]
    # Features beyond degree 1 are noise of one level: the inflation is p/(p - n).
    assert wide + 0.1 == pytest.approx((2 + 0.1) * 3 / 2, rel=1e-9)


def test_weak_modes_at_higher_degrees() -> None:
    """Gaussian rows learn a missing degree k from n ~ d^(k+1) on, as exact spectra say."""
    problem = Problem.of("h1", noise=0.05)
    settings = RandomFeatures(
        samples="3d^2", width="2d^2", ridge=0.1, activation="He2(z) + 0.5*He3(z)", start="gaussian"
    )
    limit = random_features.predict(problem, settings).metrics["test_error"]
    finite = random_features.predict(problem, settings.replace(dim=20_000)).metrics["test_error"]
    assert 0.01 < limit < 0.99
    assert finite == pytest.approx(limit, rel=5e-3)
    unit = random_features.predict(problem, settings.replace(start="sphere")).metrics["test_error"]
    assert unit > 1


def test_energies_add_up() -> None:
    target = Target("sin(h1) + abs(h2)")
    energy = DegreeEnergies(target_energies(target, 8), target_moments(target).second_moment)
    powers = DegreeEnergies(1 / np.cumprod([1.0, *range(1, 12)]), math.e)
    for exponent in (0.5, 1.0, 1.5, 2.0, 3.7):
        regime = polynomial_regime(Size(2.0, exponent), None, powers, energy, weak_modes=True)
        learned = math.fsum(energy.by_degree[k] for k in range(9) if k < exponent)
        whole = regime.spectrum.energies.sum() + regime.spectrum.tail_energy + learned
        assert whole == pytest.approx(energy.total, rel=1e-12)


def test_sizes_that_do_not_grow_are_refused() -> None:
    with pytest.raises(NoTheory, match="grow with d"):
        kernel.predict(Problem.of("h1"), Kernel(samples=100))
    with pytest.raises(NoTheory, match="degree 8"):
        kernel.predict(Problem.of("h1"), Kernel(samples="d^9.5"))
