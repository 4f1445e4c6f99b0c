"""Spectra of weights and features: reference values, closed forms, drawn matrices."""

from __future__ import annotations

import numpy as np
import pytest

from giantstep.language.activations.activation import activation
from giantstep.language.problem import Problem
from giantstep.numerics.quadrature import gauss_hermite
from giantstep.theory.giant_step.risk.first_layer import FirstLayer, Neurons
from giantstep.theory.giant_step.risk.readout import Fit, Readout
from giantstep.theory.giant_step.spectra.laws import FeatureLaw, WeightLaw


def features(
    spikes: list[float] | np.ndarray,
    sigma: str = "tanh",
    *,
    bulks: np.ndarray | None = None,
    fractions: np.ndarray | None = None,
    samples: float = 2.0,
    width: float = 1.0,
    dim: float = 600.0,
) -> FeatureLaw:
    count = len(spikes)
    neurons = Neurons.of(np.ones(count), fractions)
    bulks = np.ones(count) if bulks is None else bulks
    layer = FirstLayer.isotropic(neurons, np.array(spikes)[:, None], bulks)
    readout = Readout(Problem.of("h1"), activation(sigma), layer)
    return FeatureLaw(readout, Fit(samples, width, 0.0, dim))


def weights(strength: float, ratio: float, readout: list[float], bulks: list[float]) -> WeightLaw:
    """Equal shares of rows with means proportional to the readout, at d = 1."""
    values = np.array(readout)
    spikes = strength * values / np.sqrt(ratio * np.mean(values**2))
    layer = FirstLayer.isotropic(Neurons.of(values), spikes[:, None], np.array(bulks))
    return WeightLaw(layer, ratio, 1.0)


@pytest.mark.parametrize(
    ("spikes", "values"),
    [
        ([2.0], {-0.1: 4.22835, 0.3 + 0.1j: -1.42154 + 2.44091j, 0.8 + 0.1j: -1.14045 + 0.89274j}),
        ([-1.5, 3.0], {-0.1: 4.27699, 0.3 + 0.1j: -1.46060 + 2.45358j}),
    ],
)
def test_reference_transforms(spikes: list[float], values: dict[complex, complex]) -> None:
    law = features(spikes)
    found = [law.transform(z + 1e-12j) for z in values]
    np.testing.assert_allclose(found, list(values.values()), rtol=0, atol=7e-6)


@pytest.mark.parametrize(
    ("spikes", "outliers"), [([2.0], [584.02]), ([-1.5, 3.0], [598.99, 5.399])]
)
def test_reference_outliers(spikes: list[float], outliers: list[float]) -> None:
    law = features(spikes)
    bulk = law.bulk()
    found = [outlier.value for outlier in law.outliers(bulk.high)]
    assert law.complete
    assert found == pytest.approx(outliers, rel=1e-4)
    assert np.trapezoid(bulk.density, bulk.values) == pytest.approx(1.0, abs=1e-3)
    assert np.trapezoid(bulk.density * bulk.values, bulk.values) == pytest.approx(
        law.unit, rel=1e-3
    )


@pytest.mark.parametrize(
    ("exponent", "outliers"), [(0.15, [3.85]), (0.29, [15.4]), (0.36, [37.97, 8.15])]
)
def test_spikes_of_a_gaussian_readout(exponent: float, outliers: list[float]) -> None:
    """A step n^exponent / sqrt(p) at d = p = 500, n = 1000, centred relu, y = h + He2/sqrt 2."""
    step, (readout, fractions) = 1000**exponent / np.sqrt(500), gauss_hermite(7)
    spikes = step * readout * 0.5 * np.sqrt(1 + 2 / 2)
    bulks = 1 + (step * readout) ** 2 * 2 / 2 * 0.25
    law = features(spikes, "relu(z) - 1/sqrt(2*pi)", bulks=bulks, fractions=fractions, dim=500.0)
    values = [outlier.value for outlier in law.outliers(3.55)]
    assert values == pytest.approx(outliers, rel=2.5e-3)


@pytest.mark.parametrize("samples", [0.01, 0.5, 2.0, 1e4])
def test_marchenko_pastur_of_features(samples: float) -> None:
    """Features that are pure noise of variance 2 at p = d: C = 0 exactly."""
    law = features([0.0], "He2", samples=samples, dim=1e4)
    bulk = law.bulk()
    assert law.complete
    assert bulk.high == pytest.approx(2 * (1 + np.sqrt(samples)) ** 2, rel=1e-8)
    assert bulk.low == pytest.approx(2 * (1 - np.sqrt(samples)) ** 2, rel=2e-8)
    assert np.trapezoid(bulk.density, bulk.values) == pytest.approx(min(1, samples), abs=2e-3)
    assert law.zero == max(0.0, 1 - samples)


def test_linear_features_have_rank_d() -> None:
    law = features([0.0], "z", samples=8.0, width=4.0, dim=1e4)
    bulk = law.bulk()
    assert law.zero == pytest.approx(0.75)
    assert np.trapezoid(bulk.density, bulk.values) == pytest.approx(0.25, rel=5e-3)


def test_features_against_a_drawn_matrix() -> None:
    rng, dim = np.random.default_rng(2), 300
    rows = rng.standard_normal((dim, dim))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    spikes = np.repeat([-1.5, 3.0], dim // 2)
    rows[:, 0] += spikes
    drawn = np.tanh(rng.standard_normal((2 * dim, dim)) @ rows.T)
    values, vectors = np.linalg.eigh(drawn.T @ drawn / dim)
    law = features([-1.5, 3.0], dim=dim)
    z = np.array([0.3 + 0.1j, 0.8 + 0.1j])
    measured = np.mean(1 / (values[None, :] - z[:, None]), axis=1)
    # The two outliers are not part of the bulk: 2/p of the mass.
    np.testing.assert_allclose(measured, [law.transform(at) for at in z], atol=0.06)
    first, second = law.outliers(law.bulk().high)
    assert values[-1] == pytest.approx(first.value, rel=0.03)
    assert values[-2] == pytest.approx(second.value, rel=0.06)
    blocks = np.stack([spikes < 0, spikes > 0]) / np.sqrt(dim / 2)
    overlaps = np.sum((blocks @ vectors[:, [-1, -2]]) ** 2, axis=0)
    assert overlaps == pytest.approx([law.on_kinds(first), law.on_kinds(second)], abs=0.03)


@pytest.mark.parametrize(
    ("ratio", "strength", "value", "left", "right"),
    [(1.5, 1.7132, 2.4385, 0.5465, 0.6160), (0.5, 1.2849, 1.8584, 0.6267, 0.5085)],
)
def test_closed_form_of_equal_rows(
    ratio: float, strength: float, value: float, left: float, right: float
) -> None:
    """Marchenko-Pastur, and the outlier of Benaych-Georges and Nadakuditi."""
    law = weights(strength, ratio, [1.0], [1.0])
    bulk, square = law.bulk(), strength**2
    assert np.sqrt([bulk.low, bulk.high]) == pytest.approx(
        [abs(1 - np.sqrt(ratio)), 1 + np.sqrt(ratio)], rel=1e-8
    )
    assert np.trapezoid(bulk.density, bulk.values) == pytest.approx(min(1, 1 / ratio), abs=2e-3)
    assert np.trapezoid(bulk.density * bulk.values, bulk.values) == pytest.approx(1.0, abs=2e-3)
    (outlier,) = law.outliers(bulk.high)
    assert np.sqrt(outlier.value) == pytest.approx(value, rel=1e-4)
    assert outlier.value == pytest.approx((1 + square) * (ratio + square) / square, rel=1e-8)
    exact = 1 - ratio * (1 + square) / (square * (square + ratio))
    assert np.sum(law.left(outlier) ** 2) == pytest.approx(exact, abs=1e-6)
    assert np.sum(law.left(outlier) ** 2) == pytest.approx(left, abs=1e-4)
    exact = 1 - (ratio + square) / (square * (square + 1))
    assert np.sum(law.right(outlier) ** 2) == pytest.approx(exact, abs=1e-6)
    assert np.sum(law.right(outlier) ** 2) == pytest.approx(right, abs=1e-4)


@pytest.mark.parametrize(("ratio", "strength"), [(1.5, 1.0707), (0.5, 0.7418), (1.5, 1e-3)])
def test_a_weak_spike_leaves_no_outlier(ratio: float, strength: float) -> None:
    law = weights(strength, ratio, [1.0], [1.0])
    assert law.outliers(law.bulk().high) == []


def test_unequal_kinds_against_a_matrix() -> None:
    readout, bulks, strength = [0.5, 1.0], [1.0, 1.8], 3.0
    rng, dim, ratio = np.random.default_rng(5), 500, 1.5
    width = int(ratio * dim)
    left = np.repeat(readout, width // 2)
    left /= np.linalg.norm(left)
    drawn = rng.standard_normal((width, dim)) / np.sqrt(dim)
    drawn *= np.sqrt(np.repeat(bulks, width // 2))[:, None]
    drawn[:, 0] += strength * left
    u, s, vt = np.linalg.svd(drawn, full_matrices=False)
    law = weights(strength, ratio, readout, bulks)
    bulk = law.bulk()
    (outlier,) = law.outliers(bulk.high)
    unit = np.array(readout) / np.linalg.norm(readout)
    assert s[0] == pytest.approx(np.sqrt(outlier.value), rel=0.02)
    assert (u[:, 0] @ left) ** 2 == pytest.approx((unit @ law.left(outlier)) ** 2, abs=0.03)
    assert vt[0, 0] ** 2 == pytest.approx(law.right(outlier)[0] ** 2, abs=0.03)
    assert s[1] == pytest.approx(np.sqrt(bulk.high), rel=0.02)
    assert s[-1] == pytest.approx(np.sqrt(bulk.low), abs=0.02)


def test_what_runs_away_is_not_complete(monkeypatch: pytest.MonkeyPatch) -> None:
    """Equations that give NaN, as 0/0 does, have no solution, and so no bulk."""
    law = features([0.0], "He2")
    lost = law.guess(1j)._replace(bound=np.full((1, 1), np.nan + 0j))
    monkeypatch.setattr(law.path, "_image", lambda state, z: lost)
    assert not len(law.bulk().values)
    law.outliers(12.0)
    assert not law.complete
