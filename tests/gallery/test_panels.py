"""What the figures of the gallery compute with: averages over seeds as theory means them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from giantstep.asking.verbs import compare
from giantstep.gallery.figure import Along, Sizes, Workbench
from giantstep.settings.giant_step import GiantStep
from giantstep.settings.kernel import Kernel


def test_overlaps_are_averaged_by_their_squares(tmp_path: Path) -> None:
    """Theory gives the root mean square; the mean of cosines that scatter lies below it."""
    settings = GiantStep(dim=64, samples="1d", width="1", readout="ones")
    bench = Workbench(tmp_path / "store.sqlite")
    plain, squares = (
        bench.table(["overlap"], settings, "h1", seeds=50, root_mean_square=way)
        for way in (False, True)
    )
    assert list(plain) == ["step", "direction", "overlap", "overlap.sem", "overlap.theory"]
    assert list(plain.direction) == ["h1", "h1"]
    start, root = plain[plain.step == 0].iloc[0], squares[squares.step == 0].iloc[0]
    # Mean square = mean^2 + variance; a cosine of a random start scatters as much as it is large.
    spread = np.sqrt(start["overlap"] ** 2 + 49 * start["overlap.sem"] ** 2)
    assert root["overlap"] == pytest.approx(spread, rel=1e-9)
    assert root["overlap"] > 1.1 * start["overlap"]
    theory = root["overlap.theory"]
    assert theory == pytest.approx(start["overlap.theory"])
    assert abs(root["overlap"] - theory) < 4 * root["overlap.sem"] < 0.5 * theory


def test_a_curve_has_its_numbers_beside_what_was_swept(tmp_path: Path) -> None:
    """Line and dots of a grid over a size and two targets are the answers of the verbs."""
    bench, settings = Workbench(tmp_path / "store.sqlite"), Kernel(dim=20)
    along, targets = Along("samples", "{:g}d".format, "ratio"), ["h1^2", "h1"]
    sizes = Sizes(points=[1, 2, 3], dots=[2], seeds=2)
    found = bench.curve(["test_error"], settings, targets, along, sizes)
    assert len(found) == 2 * (3 + 1)
    assert set(found.target) == set(targets)
    law = found[found.test_error.isna()].set_index(["target", "ratio"])["test_error.theory"]
    run = found.dropna(subset="test_error").set_index("target")
    for target in targets:
        direct = compare(settings.replace(samples="2d"), target, seeds=2)
        assert law[target, 2] == run["test_error.theory"][target]
        assert law[target, 2] == direct.prediction.metrics["test_error"]
        assert run.test_error[target] == pytest.approx(direct.mean("test_error"), rel=1e-12)
        assert run["test_error.sem"][target] == pytest.approx(direct.sem("test_error"), rel=1e-12)
