"""Spectral methods: published values, where the outlier appears, what a poorer T costs."""

from __future__ import annotations

import numpy as np
import pytest

from giantstep.errors import NoTheory, SettingsError
from giantstep.language.inputs import Spiked
from giantstep.language.problem import Problem
from giantstep.settings.spectral import Spectral
from giantstep.theory.spectral import (
    linearised_outlier,
    predict,
    spectral_outlier,
    spectral_transition,
)

EVEN = Problem.of("abs(h1)")
PARITY = Problem.of("sign(h1*h2)")


@pytest.mark.parametrize(
    ("alpha", "expected"), [(0.8, 0.1349), (1, 0.2307), (1.5, 0.4571), (2, 0.6389), (3, 0.8454)]
)
def test_overlaps_for_absolute_values(alpha: float, expected: float) -> None:
    # Unclipped but for what no number of samples can see.
    found = predict(EVEN, Spectral(samples=f"{alpha}d", clip=1e5)).metrics
    assert found["overlap_squared"] == pytest.approx(expected, abs=3e-4)
    assert found["eigenvalue"] == pytest.approx(1 / alpha, rel=2e-3)


def test_clipping_costs_little() -> None:
    found = predict(EVEN, Spectral(samples="3d", clip=50)).metrics
    assert found["overlap_squared"] == pytest.approx(0.8443, abs=2e-4)
    assert predict(EVEN, Spectral(samples="1d")).metrics["eigenvalue"] == pytest.approx(
        1.0019, abs=2e-4
    )


@pytest.mark.parametrize(
    ("alpha", "expected"), [(3, 0.1895), (4, 0.429204), (5, 0.571944), (6, 0.661753)]
)
def test_overlaps_for_the_parity_of_two(alpha: float, expected: float) -> None:
    found = predict(PARITY, Spectral(samples=f"{alpha}d")).metrics
    np.testing.assert_allclose(found["overlap_squared"], expected, atol=5e-5)
    np.testing.assert_allclose(found["eigenvalue"], 1 / alpha, rtol=1e-9)
    assert np.all(found["edge"] < found["eigenvalue"])


@pytest.mark.parametrize(
    ("target", "noise", "expected"),
    [
        ("abs(h1)", 0.0, 0.5),
        ("He4(h1)", 0.0, 0.64485),
        ("sign(h1*h2)", 0.0, np.pi**2 / 4),
        ("h1^2", 0.5, 0.57799),
        ("sign(h1*h2*h3)", 0.0, np.inf),
    ],
)
def test_transitions(target: str, noise: float, expected: float) -> None:
    found = spectral_transition(Problem.of(target, noise=noise), Spectral(clip=1e6))
    np.testing.assert_allclose(found, expected, rtol=2e-4)


def test_nothing_leaves_the_bulk_below_the_transition() -> None:
    for alpha, out in ((2.4, False), (2.6, True)):
        found = predict(PARITY, Spectral(samples=f"{alpha}d")).metrics
        assert np.all((found["overlap_squared"] > 0) == out)
        assert np.all((found["eigenvalue"] > found["edge"] + 1e-9) == out)


def test_a_poorer_preprocessing_needs_more_samples() -> None:
    best, poorer = (
        spectral_transition(EVEN, Spectral(preprocessing=text))[0]
        for text in ("optimal", "tanh(y)")
    )
    assert best < poorer < np.inf
    kept = predict(EVEN, Spectral(preprocessing="tanh(y)", samples="6d")).metrics["overlap_squared"]
    assert 0 < kept < predict(EVEN, Spectral(samples="6d")).metrics["overlap_squared"]


def test_the_outlier_solves_its_equations() -> None:
    rng = np.random.default_rng(0)
    squares = rng.chisquare(1, size=400)
    weights, t = np.full(400, 1 / 400), np.tanh(squares)
    squares = squares / squares.mean()
    found = spectral_outlier(weights, t, squares, 5.0)
    grid = np.linspace(t.max() * 1.001, 60, 2_000_000)

    def expectation(values: np.ndarray, power: int, at: np.ndarray) -> np.ndarray:
        return sum(w * v / (at - x) ** power for w, v, x in zip(weights, values, t, strict=True))

    coarse = grid[::200]
    psi = coarse * (1 / 5.0 + expectation(t, 1, coarse))
    assert found.edge == pytest.approx(psi.min(), rel=1e-5)
    phi = coarse * expectation(t * squares, 1, coarse)
    star = coarse[(phi <= psi) & (coarse >= coarse[psi.argmin()])][0]
    assert found.eigenvalue == pytest.approx(np.interp(star, coarse, psi), rel=2e-3)


def test_linearised_message_passing() -> None:
    eigenvalue, overlap = linearised_outlier(PARITY, 6.0)
    assert eigenvalue == pytest.approx(6 / (np.pi**2 / 4), rel=1e-9)
    np.testing.assert_allclose(overlap, 1 - (np.pi**2 / 4) / 6, rtol=1e-7)
    # One direction: (kappa - 1)/(kappa + alpha_c E[G^3]), for |h|: E[(h^2 - 1)^3] = 8.
    eigenvalue, overlap = linearised_outlier(EVEN, 2.0)
    assert eigenvalue == pytest.approx(4, rel=1e-5)
    assert overlap[0] == pytest.approx(3 / (4 + 0.5 * 8), rel=1e-4)
    assert linearised_outlier(PARITY, 2.0)[1].tolist() == [0, 0]
    assert predict(PARITY, Spectral(method="linearised")).status == "heuristic"


@pytest.mark.slow
def test_linearised_overlaps_do_not_depend_on_the_basis() -> None:
    turned = Problem.of("sign(h1 + h2)*sign(h1 - h2)")
    for given in (PARITY, turned):
        np.testing.assert_allclose(linearised_outlier(given, 8.0)[1], 0.691575, rtol=1e-5)
    # Four values tell both events apart: each direction has an outlier of its own size.
    both = linearised_outlier(Problem.of("3*sign(abs(h1) - 1) + sign(abs(h2) - 0.4)"), 9.0)
    alone = [linearised_outlier(Problem.of(f"sign(abs(h1) - {at})"), 9.0) for at in (1.0, 0.4)]
    assert both[0] == pytest.approx(alone[0][0], rel=1e-6)
    np.testing.assert_allclose(both[1], sorted((o[0] for _, o in alone), reverse=True), rtol=1e-5)
    assert alone[1][0] < 0.5 * alone[0][0]


def test_what_has_no_theory_says_so() -> None:
    with pytest.raises(NoTheory, match="trivial"):
        linearised_outlier(Problem.of("sign(h1)"), 2.0)
    with pytest.raises(NoTheory, match="never positive"):
        predict(EVEN, Spectral(preprocessing="-1 - y"))
    with pytest.raises(NoTheory, match="isotropic"):
        predict(Problem.of("h1", inputs=Spiked("d^0.5")), Spectral())
    with pytest.raises(SettingsError, match="preprocessing"):
        predict(EVEN, Spectral(preprocessing="foo(y)"))
    with pytest.raises(SettingsError, match="blocks"):
        predict(Problem.of("sign(h1*h2) + 3*sign(abs(h1) - 1)"), Spectral(method="blocks"))
