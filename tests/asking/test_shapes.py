"""Run and Prediction have the same names and the same shapes, for every learner and metric."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from smallest import asked_by

import giantstep as gs
from giantstep.answer import Answer
from giantstep.asking.table import LEARNERS, Learner, learner_to_ask
from giantstep.asking.verbs import predict, simulate
from giantstep.errors import NoTheory

STEP = {"dim": 40, "width": "1d", "ridge": 0.1, "activation": "tanh", "readout": "ones"}
STEP |= {"samples": "4d", "readout_samples": "2d", "test_samples": 50}
rows = pytest.mark.parametrize("row", LEARNERS, ids=lambda row: row.name)


def check_one(row: Learner, text: str) -> tuple[Answer, Answer | None]:
    """What a learner measures and predicts with some options: names, shapes and places agree."""
    settings, problem = asked_by(row, text)
    run = simulate(settings, seeds=2, **problem)
    assert all(len(values) == 2 for values in run.metrics.values())
    try:
        law = predict(settings, **problem)
    except NoTheory:
        return run, None
    shared = run.metrics.keys() & law.metrics.keys()
    for metric in shared:
        assert np.shape(run.mean(metric)) == np.shape(law.metrics[metric]), metric
    # What theory knows of each neuron has the shape that a run has after its seeds.
    for array in law.arrays:
        # Kinds of neurons are the theory's own.
        if array.startswith("kind_"):
            continue
        assert np.shape(run.arrays[array])[1:] == np.shape(law.arrays[array]), array
    # The entries that both have are most of them: places agree too, not only shapes.
    places = {(entry.metric, entry.place) for entry in run.numbers()}
    assert shared == {n.metric for n in law.numbers() if (n.metric, n.place) in places}
    return run, law


@rows
def test_the_smallest_settings_give_what_the_table_lists(row: Learner) -> None:
    """Predictions are walked in test_predictions."""
    pairs = [check_one(row, text) for text in row.smallest]
    axes = {name: value.ndim - 1 for run, _ in pairs for name, value in run.metrics.items()}
    listed = {metric.name: metric for metric in row.metrics if metric.simulated}
    assert set(axes) == set(listed)
    assert all(count <= len(listed[name].axes) for name, count in axes.items())
    laws = [law for _, law in pairs if law]
    assert laws
    both = {metric.name for metric in row.metrics if metric.simulated and metric.predicted}
    assert both <= {name for law in laws for name in law.metrics}


def test_the_risk_before_the_step_is_that_of_random_features() -> None:
    settings: Any = learner_to_ask("giant-step").load("settings")(**STEP)
    law = predict(settings, "sin(h1)", noise=0.5)
    assert law.metrics["test_error"][0] == law.metrics["random_features_error"]
    noise = law.metrics["test_error_noisy"] - law.metrics["test_error"]
    np.testing.assert_allclose(noise, 0.5, rtol=1e-9)
    assert np.isnan(law.metrics["train_error"][0])
    assert not [
        e for e in law.numbers() if e.metric == "train_error" and dict(e.place)["step"] == 0
    ]


def test_pairs_of_neurons_begin_as_one() -> None:
    """With the default readout the error before the step was that of infinite d, 0.327."""
    sizes = {"dim": 60, "activation": "z*sigmoid(z)", "ridge": 5.0}
    step = gs.GiantStep(**sizes, width="1d", samples="4d", readout_samples="2d")
    features = gs.RandomFeatures(**sizes, width="0.5d", samples="2d")
    before = predict(step, "exp(h1/2)").metrics["test_error"][0]
    expected = predict(features, "exp(h1/2)").metrics["test_error"]
    assert before == pytest.approx(expected, rel=1e-9)
    assert before == pytest.approx(0.788, abs=3 * 0.014)
