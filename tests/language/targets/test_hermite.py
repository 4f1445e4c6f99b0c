"""Hermite expansions: published energies, closed forms, every integration method, error bars."""

from __future__ import annotations

import math

import numpy as np
import pytest

from giantstep.errors import SettingsError
from giantstep.language.targets import Target, expansion, hermite
from giantstep.language.targets.expansion import _quadrature_expansion, target_expansion
from giantstep.language.targets.hermite import (
    conditional_target_energy,
    target_energies,
    target_moments,
    target_tail_energy,
    target_tensors,
)
from giantstep.language.targets.integration import MAX_AXES, target_block
from giantstep.numerics.hermite import (
    factorial,
    hermite_moments,
    hermite_product,
    hermite_values,
    multi_indices,
)

#: E g^2, then |P_{>l} g|^2 for l = 0..3 (Mei, Misiakiewicz, Montanari 2021 plateaus).
PLATEAUS = {
    "relu(h1)": (0.5, 0.340845, 0.090845, 0.0112676, 0.0112676),
    "abs(h1)": (1.0, 0.363380, 0.363380, 0.0450703, 0.0450703),
    "sign(h1)": (1.0, 1.0, 0.363380, 0.363380, 0.257277),
    "tanh(h1)": (0.394294, 0.394294, 0.0274153, 0.0274153, 0.0053817),
    "sin(h1)": (0.432332, 0.432332, 0.0644529, 0.0644529, 0.0031397),
    "sign(h1*h2)": (1.0, 1.0, 1.0, 0.594715, 0.594715),
    "relu(h1)*relu(h2)": (0.25, 0.224670, 0.145092, 0.0572619, 0.0174732),
    "sin(h1) + abs(h2)": (1.432332, 0.795713, 0.427833, 0.109523, 0.048210),
}


@pytest.mark.parametrize("text", PLATEAUS)
def test_plateaus(text: str) -> None:
    target = Target(text)
    found = [
        target_moments(target).second_moment,
        *(target_tail_energy(target, k).value for k in range(4)),
    ]
    np.testing.assert_allclose(found, PLATEAUS[text], rtol=0, atol=1e-6)
    assert target_tail_energy(target, 1).error < 1e-10


@pytest.mark.parametrize(
    ("text", "index", "value"),
    [
        ("relu(h1)", (0,), 1 / math.sqrt(2 * math.pi)),
        ("relu(h1)", (4,), -1 / math.sqrt(2 * math.pi)),
        ("sin(h1)", (3,), -math.exp(-0.5)),
        ("exp(h1)", (5,), math.exp(0.5)),
        ("sign(h1*h2)", (1, 1), 2 / math.pi),
        ("sign(h1*h2*h3)", (1, 1, 1), (2 / math.pi) ** 1.5),
        ("(|h1| < 1)", (2,), -2 * math.exp(-0.5) / math.sqrt(2 * math.pi)),
        ("h1**4*h2", (2, 1), 12.0),
        ("(h1**2 + h2**2 < 1)", (0, 0), 1 - math.exp(-0.5)),
        ("max(h1, h2)", (0, 0), 1 / math.sqrt(math.pi)),
        ("sign(h1 + 0.5*z1)", (1,), math.sqrt(2 / math.pi) / math.sqrt(1.25)),
        ("sign(h1*h2*h3*h4*h5)", (1, 1, 1, 1, 1), (2 / math.pi) ** 2.5),
        ("exp(h1)*z1**2", (2,), math.exp(0.5)),
    ],
)
def test_closed_forms(text: str, index: tuple[int, ...], value: float) -> None:
    assert target_expansion(Target(text)).coefficients[index] == pytest.approx(value, rel=1e-9)


@pytest.mark.parametrize("text", ["h1 + He3(h1)*h2", "(h1 + 0.3*h2)**4", "He2(h1)*h2 + h3**3"])
def test_closed_form_and_quadrature_agree(text: str) -> None:
    target = Target(text)
    exact, numerical = target_expansion(target), _quadrature_expansion(target, 8, MAX_AXES)
    assert exact.error == 0.0
    for index, value in numerical.coefficients.items():
        scale = math.sqrt(factorial(index) * exact.second_moment)
        assert value == pytest.approx(exact.coefficients.get(index, 0.0), abs=1e-10 * scale)
    assert numerical.second_moment == pytest.approx(exact.second_moment, rel=1e-11)


@pytest.mark.parametrize(
    ("several", "one"),
    [
        ("relu(h1 + h2 - 1)", "relu(sqrt(2)*h1 - 1)"),
        ("abs(h1 + h2 + h3)", "sqrt(3)*abs(h1)"),
        ("tanh(h1 + h2)", "tanh(sqrt(2)*h1)"),
        ("sign(0.6*h1 + 0.8*h2 + z1)", "sign(h1 + z1)"),
    ],
)
def test_a_function_of_one_direction_in_any_basis(several: str, one: str) -> None:
    np.testing.assert_allclose(
        target_energies(Target(several)), target_energies(Target(one)), atol=2e-9
    )


def test_tensors_are_symmetric_and_hold_the_energies() -> None:
    target = Target("sign(h1*h2) + relu(h1 + h2)")
    tensors = target_tensors(target, 4)
    for k, tensor in enumerate(tensors):
        assert tensor.shape == (2,) * k
        assert np.sum(tensor**2) / math.factorial(k) == pytest.approx(target_energies(target, 4)[k])
    np.testing.assert_allclose(tensors[3], np.transpose(tensors[3], (2, 0, 1)))


def test_in_label_noise_enters_by_the_regression_function() -> None:
    target = Target("sign(h1 + 0.5*z1)")
    found = target_expansion(target)
    regression = 2 / math.pi * math.asin(1 / 1.25)
    assert found.second_moment == pytest.approx(1.0, abs=1e-12)
    assert found.regression_moment == pytest.approx(regression, rel=1e-10)
    assert target_tail_energy(target, 1).value == pytest.approx(
        regression - target_energies(target)[1]
    )
    assert target_moments(Target("h1*z1")).variance == 1.0
    assert target_energies(Target("h1*z1")).sum() == 0.0


def test_many_variables_by_products_of_small_integrals() -> None:
    target = Target("tanh(h1) + tanh(h2) + tanh(h3) + tanh(h4) + abs(h5)")
    assert "products" in target_expansion(target).method
    expected = 4 * target_energies(Target("tanh(h1)")) + target_energies(Target("abs(h1)"))
    np.testing.assert_allclose(target_energies(target), expected, atol=1e-12)
    assert target_moments(target).second_moment == pytest.approx(4 * 0.39429449 + 1, abs=1e-7)


def test_monte_carlo_says_so_and_is_within_its_error() -> None:
    target = Target("relu(h1 + h2 + h3 + h4)")
    found = target_expansion(target)
    assert "Monte Carlo" in found.method
    assert found.error < 0.01
    expected = target_energies(Target("2*relu(h1)"), 4)
    spread = found.error * math.sqrt(70) * 2 * math.sqrt(found.second_moment)
    np.testing.assert_allclose(target_energies(target, 4), expected, atol=spread)


@pytest.mark.parametrize(
    ("text", "learned", "kappa", "value"),
    [
        ("abs(h2)*h3 + h1", [[0.0, 0.0, 1.0], [1.0, 0.0, 0.0]], 0, 1 - 2 / math.pi),
        ("abs(h2)*h3 + h1", [[0.0, 1.0, 0.0]], 0, 2.0),
        ("abs(h2)*h3 + h1", [[0.0, 1.0, 0.0]], 1, 0.0),
        ("h1*h2", [[math.sqrt(0.5), math.sqrt(0.5)]], 0, 0.5),
        ("h1*h2", [[math.sqrt(0.5), math.sqrt(0.5)]], 2, 0.0),
        ("relu(h1)*sign(z1 + h2)", [[1.0, 0.0]], 0, 0.5 / 3),
    ],
)
def test_conditional_tails(text: str, learned: list, kappa: int, value: float) -> None:
    found = conditional_target_energy(Target(text), np.array(learned), kappa)
    assert found.value == pytest.approx(value, abs=1e-9)


@pytest.mark.parametrize("text", ["tanh(h1) + tanh(h2)", "relu(h1) + relu(h2)"])
def test_conditional_tail_in_a_rotated_frame(text: str) -> None:
    """With u = (h1 + h2)/sqrt(2): E Var(g | u) = E g^2 - E g(h) g(h') for a reflected twin h'."""
    target = Target(text)
    row = np.full((1, 2), math.sqrt(0.5))
    rng = np.random.default_rng(0)
    u, v, w = rng.standard_normal((3, 1_000_000))
    one, two = ((np.stack([u + s, u - s], axis=1) / math.sqrt(2)) for s in (v, w))
    products = target.numpy(one) * target.numpy(two)
    expected = target_moments(target).second_moment - products.mean()
    sem = products.std() / 1000
    found = conditional_target_energy(target, row, 0)
    assert sem < 0.05 * found.value
    assert abs(found.value - expected) < 4 * sem


def test_conditional_energies_by_pairs_of_samples(monkeypatch: pytest.MonkeyPatch) -> None:
    """What stands in for quadrature over many directions."""
    monkeypatch.setattr(hermite, "SAMPLES", 1 << 15)
    block, frame = target_block(Target("tanh(h1 + h1*h2)")), np.eye(2)[::-1]
    exact, *_ = hermite._energy_by_quadrature(block, frame, 1, 2)
    found, error, method = hermite._energy_by_sampling(block, frame, 1, 2)
    assert method.startswith("Monte Carlo")
    assert error < 0.1 * exact.sum()
    np.testing.assert_allclose(np.cumsum(found), np.cumsum(exact), atol=4 * error)


def test_learned_directions_must_be_orthonormal() -> None:
    with pytest.raises(SettingsError, match="orthonormal"):
        conditional_target_energy(Target("h1*h2"), np.array([[1.0, 1.0]]), 0)


@pytest.mark.parametrize(("rank", "degree"), [(1, 5), (3, 6), (6, 4), (20, 2)])
def test_moments_by_halves_are_the_means_of_products(rank: int, degree: int) -> None:
    rng = np.random.default_rng(rank)
    points, weights = rng.normal(size=(9000, rank)), rng.normal(size=9000)
    values = hermite_values(points, degree)
    means = [np.mean(weights * hermite_product(values, j)) for j in multi_indices(rank, degree)]
    np.testing.assert_allclose(hermite_moments(weights, points, degree), means, atol=1e-12)


def test_twenty_directions_are_sampled(monkeypatch: pytest.MonkeyPatch) -> None:
    """One by one, their 10,626 coefficients took more than five minutes."""
    monkeypatch.setattr(expansion, "SAMPLES", 1 << 14)
    total = "+".join(f"h{i}" for i in range(1, 21))
    found = expansion._sampled_expansion(Target(f"tanh({total})"), 8)
    along = target_expansion(Target("tanh(sqrt(20)*h1)"), 3).coefficients
    for number in (1, 3):
        index = (1,) * number + (0,) * (20 - number)
        expected = along[(number,)] / math.sqrt(20) ** number
        assert abs(found.coefficients[index] - expected) < 4 * found.error
