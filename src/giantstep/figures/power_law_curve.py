"""The risk on power-law spectra over the number of samples: a line of theory, and dots on it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from giantstep.figures.figure import Workbench
from giantstep.studies.study import Study

if TYPE_CHECKING:
    import pandas


def power_law_curve(
    name: str,
    settings: dict[str, float],
    noise: float,
    line: Sequence[float],
    dots: Sequence[float],
    seeds: int,
    bench: Workbench,
) -> pandas.DataFrame:
    """Test errors at the samples of the line, then at those of the dots, with ``samples``."""
    import pandas

    parts = []
    for verbs, samples in ((["predict"], line), (["simulate", "predict"], dots)):
        part = bench.summary(
            Study(
                name=f"{name} {verbs[0]}",
                learner="power-law",
                problem={"noise": noise},
                settings=settings,
                axes={"samples": [f"{n:.0f}" for n in samples]},
                seeds=seeds,
                verbs=verbs,
            )
        )
        part = part[[c for c in part if c.partition(".")[0] == "test_error"]]
        parts.append(part.assign(samples=[float(n) for n in samples]))
    return pandas.concat(parts, ignore_index=True)
