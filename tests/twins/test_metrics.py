"""The table lists exactly what is returned; each prediction says how sure it is of each number."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest

from giantstep.problem import Problem
from giantstep.results import STATUSES, Prediction, Run
from giantstep.twins.table import TWINS, Twin
from giantstep.twins.verbs import predict, simulate


class Path(NamedTuple):
    """One way through a learner's code: settings, target, and what is asked of theory."""

    settings: dict[str, Any]
    target: str | Problem | None = "h1"
    optimise: tuple[str, ...] = ()


TREE = "tree-he2"
RISK = {"activation": "tanh", "readout": "ones", "samples": "20d", "step_size": 3, "width": "1d"}
RISK |= {"readout_samples": "1.6d", "ridge": 0.1}
#: Ways that are simulated, quick ones, such that every metric occurs.
SIMULATED: dict[str, list[Path]] = {
    "giant-step": [
        Path({"dim": 30, "width": 4, "ridge": 0.1}, "h1 + h1*h2"),
        Path({"dim": 20, "width": 4, "recipe": "spiked-network"}),
    ],
    "online-sgd": [Path({"dim": 20, "times": "0.5,1", "until": 0.5}, "h1 + h1*h2")],
    "mean-field": [Path({"dim": 20, "times": "0.2", "width": 4}, "h1*h2")],
    "repetition": [Path({"dim": 20, "samples": 50}, "h1*h2")],
    "spiked-random-features": [Path({"dim": 20})],
    "random-features": [
        Path({"dim": 20, "test_samples": 20}),
        Path({"dim": 20, "test_samples": 20, "loss": "logistic"}, "sign(h1 + h2)"),
    ],
    "kernel": [Path({"dim": 20, "test_samples": 20})],
    "amp": [Path({"dim": 20, "iterations": 2}, "sign(h1*h2)")],
    "spectral": [Path({"dim": 20}, "sign(h1*h2)"), Path({"dim": 20}, "abs(h1)")],
    "power-law": [Path({"samples": 20}, None)],
    "gradient-flow": [
        Path({"dim": 10, "times": 1, "until": 0.1, "starts": 1, "test_samples": 20}, "h1"),
    ],
    "pca": [Path({"dim": 10, "test_samples": 20})],
    "three-layer": [
        Path({"dim": 9, "samples": 60, "width": 20, "second_width": 10, "test_samples": 20}, TREE),
    ],
    "langevin": [Path({"dim": 5, "steps": 3, "width": 4, "test_samples": 20}, "sign(h1)")],
}
#: Ways through each theory.
PREDICTED: dict[str, list[Path]] = {
    "giant-step": [
        Path({"steps": 0}),
        Path({"step_size": 2}, "h1 + h1*h2"),
        Path({"dim": 500, "readout": "normal", "activation": "tanh"}),
        Path({"steps": 2, "width": 4}),
        Path({"steps": 2, "width": 1, "batches": "reused", "readout": "ones"}),
        Path(RISK),
        Path({**RISK, "dim": 200, "readout": "sign"}),
        Path({**RISK, "step_size": "2d^-0.5"}),
        Path({**RISK, "step_size": "2*n^0.3", "readout": "normal"}),
        Path(RISK, optimise=("step_size", "ridge")),
    ],
    "online-sgd": [
        Path({"activation": "tanh", "times": "0,1"}),
        Path({"width": 2, "readout": "1,-1", "geometry": "free", "times": "1"}),
        Path(
            {"activation": "He2", "loss": "correlation", "step_size": 0.01, "times": "1,2"}
            | {"until": 0.5, "start_overlap": "d^-0.5", "dim": 100},
            "He2(h1)",
        ),
    ],
    "mean-field": [Path({"times": "0,1", "width": 2})],
    "repetition": [Path({}, "He3(h1)"), Path({"activation": "tanh"}, "sign(h1*h2)")],
    "spiked-random-features": [Path({}), Path({"dim": 100, "spike": "-1:0.5,1:0.5"})],
    "random-features": [
        Path({}),
        Path({"dim": 60}, optimise=("ridge",)),
        Path({"samples": "d^1.5", "width": "d^2"}, "h1 + He2(h1)"),
        Path({"loss": "logistic"}, "sign(h1 + h2)"),
    ],
    "kernel": [Path({}), Path({"dim": 60}, optimise=("ridge",)), Path({"samples": "d^1.5"})],
    "amp": [
        Path({}, "sign(h1*h2)"),
        Path({"start": "informed"}, "sign(h1)"),
        Path({"phases": True}, "abs(h1)"),
    ],
    "spectral": [
        Path({}, "abs(h1)"),
        Path({"samples": "6d"}, "sign(h1*h2)"),
        Path({"phases": True}, "abs(h1)"),
    ],
    "power-law": [
        Path({"width": 500}, None),
        Path({"exponents": True, "ridge_exponent": 0.5}, None),
        Path({}, None, ("ridge",)),
    ],
    "gradient-flow": [
        Path({"dim": 50}, "He2(h1)"),
        Path({"start_overlap": 0.1, "until": 0.5, "geometry": "spherical"}, "He2(h1)"),
        Path({"dim": 50, "until": 0.5, "geometry": "normalised"}, "-He2(h1)"),
    ],
    "pca": [Path({}), Path({"dim": 50}, "h1*h2")],
    "three-layer": [Path({"dim": 64}, TREE), Path({}, TREE)],
    "langevin": [Path({"dim": 50}, Problem("sign(h1*h2)", inputs="hypercube"))],
}

rows = pytest.mark.parametrize("row", TWINS, ids=lambda row: row.name)


@rows
def test_simulations_return_what_the_table_lists(row: Twin) -> None:
    found: dict[str, int] = {}
    for path in SIMULATED[row.name]:
        run: Run = simulate(row.load("settings")(**path.settings), path.target, seeds=2)
        found |= {name: values.ndim - 1 for name, values in run.metrics.items()}
        assert all(len(values) == 2 for values in run.metrics.values())
    listed = {metric.name: metric for metric in row.metrics if metric.simulated}
    assert set(found) == set(listed)
    for name, axes in found.items():
        assert axes <= len(listed[name].axes), name


@pytest.mark.slow
@rows
def test_predictions_return_what_the_table_lists_and_say_how_sure_they_are(row: Twin) -> None:
    found: set[str] = set()
    for path in PREDICTED[row.name]:
        law: Prediction = predict(
            row.load("settings")(**path.settings), path.target, optimise=path.optimise
        )
        found |= set(law.metrics)
        # What is learned is no metric, but it has a status too.
        assert set(law.statuses) - {"subspaces"} == set(law.metrics)
        assert ("subspaces" in law.statuses) == bool(law.subspaces)
        assert set(law.statuses.values()) <= set(STATUSES)
        assert law.references
        for name, value in law.metrics.items():
            assert np.ndim(value) <= len(row.axes[name]), name
            assert np.shape(law.errors.get(name, 0.0)) in ((), np.shape(value)), name
        for entry in law.entries():
            assert np.isfinite(entry.error), entry
            assert entry.error >= 0, entry
            # An optimum that is not there is no number, and a note says so.
            explained = any(entry.metric in note for note in law.notes)
            assert np.isfinite(entry.value) or explained, entry
    assert found == {metric.name for metric in row.metrics if metric.predicted}
