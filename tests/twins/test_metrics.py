"""The table lists exactly the metrics that simulations return.

Predictions are walked in test_predictions.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest

from giantstep.results import Run
from giantstep.twins.table import TWINS, Twin
from giantstep.twins.verbs import simulate


class Path(NamedTuple):
    """One way through a learner's code: settings and target."""

    settings: dict[str, Any]
    target: str | None = "h1"


TREE = "tree-he2"
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
