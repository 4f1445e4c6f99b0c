"""The features' spectrum: reference values, Marchenko-Pastur, a drawn matrix."""

from __future__ import annotations

import numpy as np
import pytest

from giantstep.language.activations.activation import activation
from giantstep.numerics.quadrature import gauss_hermite
from giantstep.theory.one_step.feature_outliers import feature_outliers
from giantstep.theory.one_step.feature_spectrum import feature_bulk_edges, feature_spectrum
from giantstep.theory.one_step.feature_stieltjes import feature_stieltjes, spectral_state
from giantstep.theory.one_step.spiked_gram import SpikedGram
from giantstep.theory.spiked_random_features.finite_size import Blocks


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
    assert found.converged.all()
    np.testing.assert_allclose(found.value, list(values.values()), rtol=0, atol=7e-6)


@pytest.mark.parametrize(
    ("spikes", "outliers"), [([2.0], [584.02]), ([-1.5, 3.0], [598.99, 5.399])]
)
def test_reference_outliers(spikes: list[float], outliers: list[float]) -> None:
    spectrum = feature_spectrum(gram(spikes), dim=600.0)
    found = [outlier.value for outlier in spectrum.outliers]
    assert spectrum.complete
    assert found == pytest.approx(outliers, rel=1e-4)
    assert np.trapezoid(spectrum.density, spectrum.eigenvalues) == pytest.approx(1.0, abs=1e-3)
    mean = np.trapezoid(spectrum.density * spectrum.eigenvalues, spectrum.eigenvalues)
    assert mean == pytest.approx(gram(spikes).scale, rel=1e-3)


@pytest.mark.parametrize(
    ("exponent", "outliers"), [(0.15, [3.85]), (0.29, [15.4]), (0.36, [37.97, 8.15])]
)
def test_spikes_of_a_gaussian_readout(exponent: float, outliers: list[float]) -> None:
    """A step n^exponent / sqrt(p) at d = p = 500, n = 1000, centred relu, y = h + He2/sqrt 2."""
    step, (readout, fractions) = 1000**exponent / np.sqrt(500), gauss_hermite(7)
    spikes = step * readout * 0.5 * np.sqrt(1 + 2 / 2)
    bulks = 1 + (step * readout) ** 2 * 2 / 2 * 0.25
    sigma = activation("relu(z) - 1/sqrt(2*pi)")
    found = SpikedGram.of(
        sigma, Blocks(spikes, bulks, fractions), samples_ratio=2.0, width_ratio=1.0
    )
    values = [outlier.value for outlier in feature_outliers(found, 500.0, 3.55).found]
    assert values == pytest.approx(outliers, rel=2.5e-3)


def flat(samples: float) -> SpikedGram:
    """Features that are pure noise of variance 2 at p = d: C = 0 exactly."""
    one = np.ones(1)
    return SpikedGram.of(
        activation("He2"), Blocks(0 * one, one, one), samples_ratio=samples, width_ratio=1.0
    )


@pytest.mark.parametrize("samples", [0.01, 0.5, 2.0, 1e4])
def test_marchenko_pastur(samples: float) -> None:
    spectrum = feature_spectrum(flat(samples), dim=1e4)
    low, high, converged = spectrum.edges
    assert converged
    assert high == pytest.approx(2 * (1 + np.sqrt(samples)) ** 2, rel=1e-8)
    assert low == pytest.approx(2 * (1 - np.sqrt(samples)) ** 2, rel=1e-8)
    mass = np.trapezoid(spectrum.density, spectrum.eigenvalues)
    assert mass == pytest.approx(min(1, samples), abs=2e-3)
    assert spectrum.mass_at_zero == max(0.0, 1 - samples)


def test_what_runs_away_is_not_converged(monkeypatch: pytest.MonkeyPatch) -> None:
    """Equations that give NaN, as 0/0 does, have no solution; neither have edges or outliers."""
    law = flat(2.0)
    monkeypatch.setattr(
        SpikedGram, "image", lambda self, z, found: np.full((len(z), 2), np.nan + 0j)
    )
    assert not spectral_state(law, np.array([1.0 + 1j, -1.0])).converged.any()
    assert not feature_bulk_edges(law).converged
    assert not feature_outliers(law, 600.0, 12.0).complete


def test_states_solve_the_equations() -> None:
    """Where a state counts as converged it is a fixed point, next to edges and from any start."""
    law = gram([-1.5, 3.0])
    edge = feature_bulk_edges(law).high
    z = edge * (1 + np.array([-1e-6, -1e-9, 1e-9, 1e-6])) + 0j
    found = spectral_state(law, z)
    assert found.converged.all()
    resolvent = law.resolvent(found.unknowns)
    gap = np.abs(law.image(z, resolvent) - found.unknowns) / law.sizes(resolvent)
    assert gap.max() < 1e-12
    elsewhere = spectral_state(law, z, near=found.unknowns[0].conj())
    np.testing.assert_allclose(elsewhere.unknowns, found.unknowns, rtol=1e-6)


def test_an_edge_inside_the_bulk_hides_no_outlier() -> None:
    """Where the search for outliers runs into the bulk, chi is complex and there is none."""
    law = gram([2.0])
    edge = feature_bulk_edges(law).high
    values = [
        [outlier.value for outlier in feature_outliers(law, 600.0, share * edge).found]
        for share in (0.5, 0.98, 1.0)
    ]
    assert values[0] == pytest.approx(values[2], rel=1e-10)
    assert values[1] == pytest.approx(values[2], rel=1e-10)


def test_linear_features_have_rank_d() -> None:
    one = np.ones(1)
    law = SpikedGram.of(
        activation("z"), Blocks(0 * one, one, one), samples_ratio=8.0, width_ratio=4.0
    )
    spectrum = feature_spectrum(law, dim=1e4)
    mass = np.trapezoid(spectrum.density, spectrum.eigenvalues)
    assert spectrum.mass_at_zero == pytest.approx(0.75)
    assert mass == pytest.approx(0.25, rel=5e-3)


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
    np.testing.assert_allclose(measured, feature_stieltjes(law, z).value, atol=0.06)
    first, second = feature_outliers(law, dim, feature_bulk_edges(law).high).found
    assert values[-1] == pytest.approx(first.value, rel=0.03)
    assert values[-2] == pytest.approx(second.value, rel=0.06)
    blocks = np.stack([spikes < 0, spikes > 0]) / np.sqrt(dim / 2)
    overlaps = np.sum((blocks @ vectors[:, [-1, -2]]) ** 2, axis=0)
    assert overlaps == pytest.approx([first.overlap, second.overlap], abs=0.03)
