"""Run and Prediction have the same names and the same shapes, for every learner and metric."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from giantstep.twins.table import TWINS, twin
from giantstep.twins.verbs import predict, simulate

STEP = {"dim": 40, "width": "1d", "ridge": 0.1, "activation": "tanh", "readout": "ones"}
STEP |= {"samples": "4d", "readout_samples": "2d", "test_samples": 50}
NEURONS = {"dim": 40, "width": 3, "readout": "1,-1,0.5", "steps": 2, "activation": "tanh"}
#: Settings that both cover, small enough to run at once; every shared metric occurs in one.
CASES: list[tuple[str, dict[str, Any], str | None]] = [
    ("giant-step", STEP, "sin(h1)"),
    ("giant-step", {"dim": 40, "width": 4}, "h1 + h1*h2"),
    ("giant-step", NEURONS, "h1 + h1*h2"),
    ("giant-step", NEURONS | {"batches": "reused", "samples": "2d"}, "h1 + h1*h2"),
    ("spiked-random-features", {"dim": 20}, "sin(h1)"),
    ("random-features", {"dim": 20, "test_samples": 20}, "h1"),
    ("random-features", {"dim": 20, "test_samples": 20, "loss": "logistic"}, "sign(h1 + h2)"),
    ("kernel", {"dim": 20, "test_samples": 20}, "h1"),
    ("amp", {"dim": 20, "iterations": 2}, "sign(h1)"),
    ("amp", {"dim": 20, "iterations": 2}, "sign(h1*h2)"),
    ("spectral", {"dim": 20}, "abs(h1)"),
    ("spectral", {"dim": 20, "samples": "6d"}, "sign(h1*h2)"),
    ("power-law", {"samples": 20, "width": 10}, None),
    ("online-sgd", {"dim": 20, "times": "1,2", "until": 0.9, "test_samples": 20}, "h1"),
    ("online-sgd", {"dim": 20, "times": "1,2", "width": 2, "test_samples": 20}, "h1 + h1*h2"),
    ("mean-field", {"dim": 20, "times": "0.2,0.4", "width": 4}, "h1"),
    ("repetition", {"dim": 20, "samples": 100}, "He3(h1)"),
    ("gradient-flow", {"dim": 20, "test_samples": 20}, "He2(h1)"),
    ("pca", {"dim": 20, "test_samples": 20, "inputs": "spiked:3"}, "h1"),
    ("three-layer", {"dim": 25, "samples": 400, "width": 20, "test_samples": 20}, "tree-he2"),
    ("langevin", {"dim": 20, "test_samples": 20, "inputs": "hypercube"}, "sign(h1*h2)"),
]


@pytest.mark.parametrize(("name", "given", "target"), CASES)
def test_names_and_shapes_agree(name: str, given: dict[str, Any], target: str | None) -> None:
    given = dict(given)
    problem = {"inputs": given.pop("inputs")} if "inputs" in given else {}
    settings: Any = twin(name).load("settings")(**given)
    run, law = simulate(settings, target, seeds=2, **problem), predict(settings, target, **problem)
    shared = run.metrics.keys() & law.metrics.keys()
    assert shared
    for metric in shared:
        assert np.shape(run.mean(metric)) == np.shape(law.metrics[metric]), metric
    # What theory knows of each neuron has the shape that a run has after its seeds.
    for array in law.arrays:
        assert np.shape(run.arrays[array])[1:] == np.shape(law.arrays[array]), array
    assert name not in ("online-sgd", "mean-field") or law.arrays
    # The entries that both have are most of them: places agree too, not only shapes.
    places = {(entry.metric, entry.place) for entry in run.entries()}
    assert shared == {metric for metric, place, *_ in law.entries() if (metric, place) in places}


def test_the_risk_before_the_step_is_that_of_random_features() -> None:
    settings: Any = twin("giant-step").load("settings")(**STEP)
    law = predict(settings, "sin(h1)", noise=0.5)
    assert law.metrics["test_error"][0] == law.metrics["random_features_error"]
    noise = law.metrics["test_error_noisy"] - law.metrics["test_error"]
    np.testing.assert_allclose(noise, 0.5, rtol=1e-9)
    assert np.isnan(law.metrics["train_error"][0])
    assert not [
        e for e in law.entries() if e.metric == "train_error" and dict(e.place)["step"] == 0
    ]


def test_every_learner_is_tried() -> None:
    tried = {name for name, *_ in CASES}
    for row in TWINS:
        both = [metric.name for metric in row.metrics if metric.simulated and metric.predicted]
        assert row.name in tried or not both, row.name
