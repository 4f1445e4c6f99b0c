"""What the figures of the gallery compute with: averages over seeds as theory means them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from giantstep.figures.figure import Workbench
from giantstep.studies.study import Study


def test_overlaps_are_averaged_by_their_squares(tmp_path: Path) -> None:
    """Theory gives the root mean square; the mean of cosines that scatter lies below it."""
    study = Study(
        name="scatter",
        learner="giant-step",
        problem={"target": "h1"},
        settings={"dim": 64, "samples": "1d", "width": "1", "readout": "ones"},
        seeds=50,
    )
    bench = Workbench(tmp_path / "store.sqlite")
    plain, squares = bench.summary(study), bench.summary(study, root_mean_square="overlap")
    mean, error = (float(plain[f"overlap[0, 0]{end}"].iloc[0]) for end in ("", ".sem"))
    # Mean square = mean^2 + variance; a cosine of a random start scatters as much as it is large.
    assert float(squares["overlap[0, 0]"].iloc[0]) == pytest.approx(
        np.sqrt(mean**2 + 49 * error**2), rel=1e-9
    )
    assert float(squares["overlap[0, 0]"].iloc[0]) > 1.1 * mean
    theory = squares["overlap[0, 0].theory"].iloc[0]
    assert theory == pytest.approx(plain["overlap[0, 0].theory"].iloc[0])
    gap = abs(squares["overlap[0, 0]"].iloc[0] - theory)
    assert gap < 4 * squares["overlap[0, 0].sem"].iloc[0] < 0.5 * theory
