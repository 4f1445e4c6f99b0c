"""Predicted spectra for settings: regimes, and what the settings say."""

from __future__ import annotations

import math

import numpy as np
import pytest

from giantstep.errors import NoTheory
from giantstep.language.problem import Problem
from giantstep.settings.giant_step import GiantStep
from giantstep.settings.spiked_random_features import SpikedRandomFeatures
from giantstep.theory.giant_step.spectra.gathered_samples import bulk_sample_groups
from giantstep.theory.giant_step.spectra.laws import WeightLaw
from giantstep.theory.giant_step.spectra.prediction import (
    limit_outlier_count,
    predict_feature_spectrum,
    predict_weight_spectrum,
    stepped_rows,
)

RELU = Problem.of("relu(h1)")
STEP = GiantStep(activation="tanh", readout="normal", samples="2d", width="1.5d", step_size=1)


@pytest.mark.unchecked
def test_small_steps_without_a_dimension() -> None:
    """sqrt(p) step = 4 is step = 4/sqrt(1.5) d^-1/2."""
    spectrum = predict_weight_spectrum(RELU, STEP.replace(step_size=f"{4 / math.sqrt(1.5)}*d^-0.5"))
    assert spectrum.outliers == pytest.approx((2.4385,), rel=1e-4)
    assert spectrum.overlaps["left"] == pytest.approx((0.5465,), abs=1e-4)
    assert spectrum.overlaps["target"] == pytest.approx((0.3080,), abs=1e-4)
    assert spectrum.bulk_edges == pytest.approx((math.sqrt(1.5) - 1, math.sqrt(1.5) + 1))
    below = predict_weight_spectrum(RELU, STEP.replace(step_size=f"{2.5 / math.sqrt(1.5)}*d^-0.5"))
    assert below.outliers == ()
    assert below.overlaps["right"] == ()


@pytest.mark.unchecked
def test_critical_step() -> None:
    settings = STEP.replace(dim=1000)
    critical = predict_weight_spectrum(RELU, settings).details["critical_step_size"]
    for factor, count in ((0.99, 0), (1.05, 1)):
        spectrum = predict_weight_spectrum(RELU, settings.replace(step_size=factor * critical))
        assert len(spectrum.outliers) == count


@pytest.mark.unchecked
def test_giant_steps_have_an_infinite_outlier_in_the_limit() -> None:
    spectrum = predict_weight_spectrum(RELU, STEP)
    assert spectrum.outliers == (math.inf,)
    assert spectrum.overlaps["right"] == (1.0,)
    finite = predict_weight_spectrum(RELU, STEP.replace(dim=10_000))
    assert finite.outliers[0] == pytest.approx(finite.details["strength"], rel=0.01)
    # Every row gains variance: the bulk is wider than before the step.
    assert finite.bulk_edges[1] > 1 + math.sqrt(1.5)


def test_features_of_the_model_and_of_a_step() -> None:
    model = predict_feature_spectrum(RELU, SpikedRandomFeatures(spike="2", dim=600))
    assert model.outliers == pytest.approx((584.02,), rel=1e-5)
    assert model.overlaps["blocks"] == pytest.approx((1.0,), abs=1e-3)
    sine = Problem.of("sin(h1)")
    step = GiantStep(
        activation="tanh", readout="ones", samples="20d", step_size=3, width="1d",
        readout_samples="2d", dim=600,
    )  # fmt: skip
    rows = stepped_rows(sine, step, isotropic=True)
    found = rows.features(step)
    bulk = found.bulk()
    same = SpikedRandomFeatures(spike="1.134055509", bulk="1.0189732", dim=600)
    again = predict_feature_spectrum(sine, same)
    values = [outlier.value for outlier in found.outliers(bulk.high)]
    assert values == pytest.approx(again.outliers, rel=1e-6)
    assert (bulk.low, bulk.high) == pytest.approx(again.bulk_edges, rel=1e-5)
    np.testing.assert_allclose(bulk.density, again.density, rtol=1e-3, atol=1e-4)
    # Both ends were once found within the bulk, which then held 94 % of the eigenvalues.
    assert np.trapezoid(bulk.density, bulk.values) == pytest.approx(1.0, abs=2e-3)
    # Real rows differ from isotropic ones by little where the batch is large.
    real = predict_feature_spectrum(sine, step)
    assert real.outliers == pytest.approx(again.outliers, rel=2e-3)
    assert real.outliers != pytest.approx(again.outliers, rel=1e-5)
    assert predict_feature_spectrum(sine, step.replace(dim=None)).outliers[0] == math.inf


@pytest.mark.unchecked
def test_rows_that_are_not_isotropic_are_said_to_be_so() -> None:
    relu = STEP.replace(activation="relu", readout="ones")
    many = relu.replace(readout=",".join(f"{value}:0.1" for value in range(1, 11)))
    for settings, words in ((relu, "rows as real steps leave them"), (many, "approximate: mu_2")):
        assert any(words in note for note in predict_weight_spectrum(RELU, settings).notes)
    # Isotropic rows stand for many kinds without remark where mu_2 = 0.
    straight = predict_weight_spectrum(RELU, STEP.replace(activation="tanh"))
    assert not any("mu_2" in note or "real step" in note for note in straight.notes)


def test_a_small_step_leaves_what_isotropic_rows_have() -> None:
    """Where mu_2 and the scatter of the rows do not count both theories must agree."""
    small = STEP.replace(readout="ones", dim=400, step_size=0.3, loss="correlation", samples="400d")
    settings = small.replace(activation="1e-6*z^2 + z")
    laws = [
        WeightLaw(stepped_rows(RELU, settings, isotropic=isotropic).layer, 1.5, 400.0)
        for isotropic in (False, True)
    ]
    bent, straight = (law.outliers(law.bulk().high)[0] for law in laws)
    assert bent.value == pytest.approx(straight.value, rel=2e-4)
    for side in (WeightLaw.left, WeightLaw.right):
        lengths = [np.sum(side(*pair) ** 2) for pair in zip(laws, (bent, straight), strict=True)]
        assert lengths[0] == pytest.approx(lengths[1], rel=1e-3)
    low, high = ([law.bulk().low, law.bulk().high] for law in laws)
    assert np.sqrt(low) == pytest.approx(np.sqrt(high), abs=1e-5)


@pytest.mark.unchecked
def test_the_bulk_holds_all_that_is_not_zero() -> None:
    """Its soft end too, into which a solution without density goes on from the right."""
    settings = STEP.replace(activation="relu", readout="ones", dim=300)
    features = stepped_rows(Problem.of("sin(h1)"), settings).features(settings)
    weights = WeightLaw(stepped_rows(RELU, settings).layer, 1.5, 300.0)
    for law, end in ((features, 4.078), (weights, 2.5748**2)):
        bulk = law.bulk()
        assert bulk.high == pytest.approx(end, rel=1e-3)
        assert np.trapezoid(bulk.density, bulk.values) == pytest.approx(1 - law.zero, abs=2e-3)


def test_refusals() -> None:
    with pytest.raises(NoTheory, match="symmetric-sign"):
        predict_weight_spectrum(RELU, STEP.replace(readout="symmetric-sign", step_size="d^-0.5"))
    with pytest.raises(NoTheory, match="step_size"):
        predict_weight_spectrum(RELU, STEP.replace(step_size="d^-0.25"))


def test_steps_of_a_schedule() -> None:
    schedule = STEP.replace(readout="ones", steps=2, step_size="2/1", samples="8d/2d")
    batches = stepped_rows(RELU, schedule).layer.batches
    assert [float(batch.steps[0]) for batch in batches] == [2.0, 1.0]
    assert [1 / batch.crowding for batch in batches] == [8.0, 2.0]


def test_equal_samples_are_one_group() -> None:
    rng = np.random.default_rng(0)
    for value in rng.random(50):
        assert not bulk_sample_groups(np.full((1, 7), value), rng.random(7), 3).any()


def test_gathered_samples_tell_the_bulk_and_a_soft_end_hides_no_outlier() -> None:
    """The end is soft, since labels are not bounded: levels have a pole in its tail."""
    settings = GiantStep(activation="relu", readout="ones", width="1d", steps=2, dim=300)
    layer = stepped_rows(Problem.of("h1 + h1*h2"), settings).layer
    laws = [WeightLaw(layer, 1.0, 300.0) for _ in range(2)]
    laws[1].light = laws[1].pencil
    assert len(laws[0].light.layer.batches[1].residuals) < 400
    gathered, exact = (law.transform(1 + 0.05j) for law in laws)
    assert gathered == pytest.approx(exact, rel=5e-4)
    assert [round(outlier.value) for outlier in laws[0].outliers(4.18)] == [241]


def test_outliers_of_steps_in_powers_of_d() -> None:
    normal = GiantStep(steps=2, readout="normal")
    for step_size, words in (
        ("d^-0.4/d^-0.2", ["= 1 outliers"]),
        ("d^-0.15/d^-0.1", ["= 3 outliers"]),
        ("1/d^-0.1", []),
    ):
        found = limit_outlier_count(normal.replace(step_size=step_size))
        assert [word in note for word, note in zip(words, found, strict=True)] == [True] * len(
            words
        )
    # Powers of two readout values span two directions among the neurons.
    assert not limit_outlier_count(normal.replace(readout="sign", step_size="d^-0.15/d^-0.1"))
