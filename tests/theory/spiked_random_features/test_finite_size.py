"""Finite-size versions: their limit, and how far apart they are at d = 100."""

from __future__ import annotations

import numpy as np
import pytest
from spiked_rows import ROWS

from giantstep.theory.spiked_random_features.finite_size import (
    SpikedGrid,
    Version,
    finite_size_version,
)
from giantstep.theory.spiked_random_features.prediction import predict


def risk(name: str, version: Version, dim: int | None) -> float:
    row = ROWS[name]
    return predict(row.problem(), row.settings(dim), version=version).metrics["test_error"]


@pytest.mark.parametrize("version", ["spike-strength", "fitting-cost", "second-chaos", "cumulants"])
@pytest.mark.parametrize(("name", "dim"), [("C2", 2000), ("C4", 2000), ("C7", 1_000_000)])
def test_every_version_has_the_same_limit(name: str, dim: int, version: Version) -> None:
    """C7 has a third function that little sets apart from the others: its 1/d begins late."""
    limit = risk(name, "limit", None)
    assert risk(name, version, 10**8) == pytest.approx(limit, rel=1e-6)
    # Deviations are of order 1/d: ten times the dimension, a tenth of the deviation.
    near, far = (risk(name, version, d) / limit - 1 for d in (dim, 10 * dim))
    assert near / far == pytest.approx(10, rel=0.05)


@pytest.mark.parametrize(
    ("name", "dim", "deviations"),
    [
        ("C2", 100, (-0.33, -0.72, -0.14, -0.17)),
        ("C4", 100, (1.05, 0.00, -0.06, -0.04)),
        ("C3", 100, (-2.15, -2.25, -1.44, 0.35)),
        ("C7", 200, (-0.36, -0.77, -0.30, -0.31)),
        ("C8", 100, (1.52, 0.25, 0.17, 0.12)),
    ],
)
def test_measured_deviations(name: str, dim: int, deviations: tuple[float, ...]) -> None:
    """Per cent by which one long simulation deviated from each version."""
    versions: tuple[Version, ...] = (
        "spike-strength",
        "fitting-cost",
        "second-chaos",
        "cumulants",
    )
    found = [risk(name, version, dim) for version in versions]
    simulated = [r * (1 + deviation / 100) for r, deviation in zip(found, deviations, strict=True)]
    np.testing.assert_allclose(simulated, np.mean(simulated), rtol=1.2e-4)


def test_the_version_is_chosen_and_reported() -> None:
    near, far = ROWS["C3"], ROWS["C2"]
    assert finite_size_version(near.samples, near.width, near.settings().ridge) == "cumulants"
    assert finite_size_version(far.samples, far.width, far.settings().ridge) == "second-chaos"
    assert "version cumulants" in predict(near.problem(), near.settings(100)).notes[0]
    assert "version second-chaos" in predict(far.problem(), far.settings(100)).notes[0]
    assert "limit" in predict(far.problem(), far.settings()).notes[0]


def test_grid_has_the_moments_of_the_input() -> None:
    grid = SpikedGrid.of("second-chaos", 50.0)
    assert grid.weights.sum() == pytest.approx(1.0)
    assert grid.weights @ grid.kappa**4 == pytest.approx(3.0, rel=1e-10)
    squared = grid.radius**2
    assert grid.weights @ squared == pytest.approx(1.0, rel=1e-12)
    assert grid.weights @ (squared - 1) ** 2 == pytest.approx(2 / 49, rel=2e-3)
