"""The risk on power-law spectra over the number of samples: a line of theory, and dots on it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from giantstep.figures.figure import Workbench
from giantstep.figures.line_and_dots import Along, entries, line_and_dots
from giantstep.studies.study import Study

if TYPE_CHECKING:
    import pandas

#: Variance of the label noise.
NOISE = 0.3
#: Slopes are measured between these numbers of samples.
FAR = (1e7, 1e8)


class Sizes(NamedTuple):
    """Pixels of the map along a side, points of a line, samples of each dot, simulations."""

    pixels: int
    points: int
    dots: tuple[int, ...]
    seeds: int


def power_law_curve(
    name: str, settings: dict[str, float], fewest: float, sizes: Sizes, bench: Workbench
) -> pandas.DataFrame:
    """Test errors from the fewest samples to the most, then at the dots, with ``samples``."""
    import numpy as np

    study = Study(
        name=name,
        learner="power-law",
        problem={"noise": NOISE},
        settings=settings,
        seeds=sizes.seeds,
    )
    line = [*np.geomspace(fewest, FAR[0], sizes.points).round(), FAR[1]]
    dots = [float(n) for n in sizes.dots]
    found = line_and_dots(bench, study, Along("samples", "{:.0f}".format, "samples"), line, dots)
    return entries(found, {"test_error": "test_error"}, ["samples"])


def slope(law: pandas.DataFrame) -> float:
    """The slope of one law between the two largest numbers of samples."""
    import numpy as np

    risk = law.set_index("samples")["test_error.theory"]
    return float(-np.log(risk[FAR[1]] / risk[FAR[0]]) / np.log(FAR[1] / FAR[0]))
