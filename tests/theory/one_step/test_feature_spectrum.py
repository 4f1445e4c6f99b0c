"""The features' spectrum: reference values, Marchenko-Pastur, a drawn matrix."""

from __future__ import annotations

import numpy as np
import pytest

from giantstep.activations.activation import activation
from giantstep.theory.one_step.feature_spectrum import (
    SpikedGram,
    feature_bulk_edges,
    feature_outliers,
    feature_spectrum,
    feature_stieltjes,
)
from giantstep.theory.one_step.intermediate_step import gaussian_readout_blocks
from giantstep.theory.spiked_features.finite_size import Blocks


def gram(spikes: list[float], samples: float = 2.0, width: float = 1.0) -> SpikedGram:
    ones = np.ones(len(spikes))
    blocks = Blocks(np.array(spikes), ones, ones / len(spikes))
    return SpikedGram.of(activation("tanh"), blocks, samples_ratio=samples, width_ratio=width)


@pytest.mark.parametrize(
    ("spikes", "values"),
    [
        ([2.0], {-0.1: 4.22835, 0.3 + 0.1j: -1.42154 + 2.44091j, 0.8 + 0.1j: -1.14045 + 0.89274j}),
        ([-1.5, 3.0], {-0.1: 4.27699, 0.3 + 0.1j: -1.46060 + 2.45358j}),
    ],
)
def test_reference_transforms(spikes: list[float], values: dict[complex, complex]) -> None:
    found = feature_stieltjes(gram(spikes), np.array(list(values), dtype=complex))
    np.testing.assert_allclose(found, list(values.values()), rtol=0, atol=7e-6)


@pytest.mark.parametrize(
    ("spikes", "outliers"), [([2.0], [584.02]), ([-1.5, 3.0], [598.99, 5.399])]
)
def test_reference_outliers(spikes: list[float], outliers: list[float]) -> None:
    spectrum = feature_spectrum(gram(spikes), dim=600.0)
    found = [outlier.value for outlier in spectrum.outliers]
    assert found == pytest.approx(outliers, rel=1e-4)
    assert np.trapezoid(spectrum.density, spectrum.eigenvalues) == pytest.approx(1.0, abs=1e-3)
    mean = np.trapezoid(spectrum.density * spectrum.eigenvalues, spectrum.eigenvalues)
    assert mean == pytest.approx(gram(spikes).scale, rel=1e-3)


@pytest.mark.parametrize(
    ("exponent", "outliers"), [(0.15, [3.85]), (0.29, [15.4]), (0.36, [37.97, 8.15])]
)
def test_spikes_of_a_gaussian_readout(exponent: float, outliers: list[float]) -> None:
    """A step n^exponent / sqrt(p) at d = p = 500, n = 1000, centred relu, y = h + He2/sqrt 2."""
    step, (readout, fractions) = 1000**exponent / np.sqrt(500), gaussian_readout_blocks(7)
    spikes = step * readout * 0.5 * np.sqrt(1 + 2 / 2)
    bulks = 1 + (step * readout) ** 2 * 2 / 2 * 0.25
    sigma = activation("relu(z) - 1/sqrt(2*pi)")
    found = SpikedGram.of(
        sigma, Blocks(spikes, bulks, fractions), samples_ratio=2.0, width_ratio=1.0
    )
    values = [outlier.value for outlier in feature_outliers(found, 500.0, 3.55)]
    assert values == pytest.approx(outliers, rel=2.5e-3)


@pytest.mark.parametrize("samples", [0.5, 2.0])
def test_marchenko_pastur(samples: float) -> None:
    """Features that are pure noise of variance 2 at p = d."""
    one = np.ones(1)
    flat = SpikedGram.of(
        activation("He2"), Blocks(0 * one, one, one), samples_ratio=samples, width_ratio=1.0
    )
    low, high = feature_bulk_edges(flat)
    assert high == pytest.approx(2 * (1 + np.sqrt(samples)) ** 2, rel=1e-6)
    assert low == pytest.approx(2 * (1 - np.sqrt(samples)) ** 2, rel=1e-6)
    spectrum = feature_spectrum(flat, dim=1e4)
    mass = np.trapezoid(spectrum.density, spectrum.eigenvalues)
    assert mass == pytest.approx(min(1, samples), abs=2e-3)
    assert spectrum.mass_at_zero == max(0.0, 1 - samples)


def test_against_a_drawn_matrix() -> None:
    rng, dim = np.random.default_rng(2), 300
    rows = rng.standard_normal((dim, dim))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    spikes = np.repeat([-1.5, 3.0], dim // 2)
    rows[:, 0] += spikes
    features = np.tanh(rng.standard_normal((2 * dim, dim)) @ rows.T)
    values, vectors = np.linalg.eigh(features.T @ features / dim)
    law = gram([-1.5, 3.0])
    z = np.array([0.3 + 0.1j, 0.8 + 0.1j])
    measured = np.mean(1 / (values[None, :] - z[:, None]), axis=1)
    # The two outliers are not part of the bulk: 2/p of the mass.
    np.testing.assert_allclose(measured, feature_stieltjes(law, z), atol=0.06)
    first, second = feature_outliers(law, dim, feature_bulk_edges(law)[1])
    assert values[-1] == pytest.approx(first.value, rel=0.03)
    assert values[-2] == pytest.approx(second.value, rel=0.06)
    blocks = np.stack([spikes < 0, spikes > 0]) / np.sqrt(dim / 2)
    overlaps = np.sum((blocks @ vectors[:, [-1, -2]]) ** 2, axis=0)
    assert overlaps == pytest.approx([first.overlap, second.overlap], abs=0.03)
