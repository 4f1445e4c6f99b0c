"""The angle to the predicted subspaces: a number that takes a simulation and a theory."""

from __future__ import annotations

import numpy as np
import pytest

from giantstep import measures
from giantstep.answer import Answer
from giantstep.asking.verbs import compare, simulate
from giantstep.settings.giant_step import GiantStep

SETTINGS = GiantStep(dim=300, samples="8d", width=8, steps=2, step_size=2)


@pytest.fixture(scope="module")
def both() -> Answer:
    return compare(SETTINGS, "h1 + h1*h2", seeds=4)


def test_the_comparison_alone_has_it(both: Answer) -> None:
    alone = simulate(SETTINGS, "h1 + h1*h2", seeds=4)
    assert both.run.metrics.keys() - alone.metrics.keys() == {"angle"}
    assert "angle" not in both.prediction.metrics
    angle = both.run.metrics["angle"]
    # Nothing is learned before the first step; all there is, after the second.
    np.testing.assert_allclose(angle[:, [0, 2]], 0, atol=1e-7)
    top = alone.arrays["overlap_matrix"][:, 1]
    np.testing.assert_array_equal(angle[:, 1], measures.angle(top, np.array([[1.0, 0.0]])))
    assert np.all((angle[:, 1] > 0) & (angle[:, 1] < 0.5))


def test_json_and_table_show_it(both: Answer) -> None:
    answer = both.to_json()
    assert len(answer["simulation"]["angle"]["mean"]) == 3
    assert answer["subspaces"][:2] == [[], [[1.0, 0.0]]]
    assert answer["statuses"]["subspaces"] == "conjecture"
    assert "angle" not in {line["metric"] for line in answer["comparison"]}
    rows = [line.split()[0] for line in both.table(everything=True).splitlines() if line]
    assert rows.count("angle") == 3
    shown = [line.split()[0] for line in both.table().splitlines() if line]
    # After the last step nothing is left to learn, and the angle is 0 whatever was learned.
    assert "angle" not in shown


def test_a_sweep_over_steps_has_it_at_every_point() -> None:
    points = [SETTINGS.replace(steps=steps) for steps in (1, 2)]
    sweep = compare(points, "h1 + h1*h2", seeds=2)
    assert [point.run.metrics["angle"].shape for point in sweep] == [(2, 2), (2, 3)]
    answer = sweep.to_json()
    assert [len(subspaces) for subspaces in answer["subspaces"]] == [2, 3]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("readout", "learned"), [("symmetric-sign", False), ("normal", True)], ids=["equal", "unequal"]
)
def test_a_plane_of_which_one_line_is_learned_is_not_learned(readout: str, learned: bool) -> None:
    """Example 3b: two steps learn the plane of h2 and h3 only with unequal readouts.

    The subspace is all of the target's directions, to which every basis has the angle 0.
    """
    settings = GiantStep(
        **{"dim": 16_384, "samples": "32d", "steps": 2, "step_size": 4, "width": 20},
        readout=readout,
    )
    found = compare(settings, "h1 + h1*h2 + He3(h1)*h3", seeds=2)
    assert [len(space) for space in found.prediction.subspaces] == [0, 1, 3]
    angle = found.run.metrics["angle"]
    assert np.all(angle[:, 1] < 0.1)
    np.testing.assert_allclose(angle[:, 2], 0 if learned else np.pi / 2, atol=1e-6)
