"""A study along one axis, as most figures show it: predicted along a line, simulated at dots."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from giantstep.figures.figure import Workbench
from giantstep.studies.study import Study

if TYPE_CHECKING:
    import numpy as np
    import pandas


class LineAndDots(NamedTuple):
    """Points of a line of theory, dots on it, their dimension and their seeds."""

    points: int
    dots: int
    dim: int
    seeds: int


class Along(NamedTuple):
    """The axis of a study, how its values are written there, and the column that keeps them."""

    axis: str
    write: Callable[[float], Any]
    column: str


def line_and_dots(
    bench: Workbench,
    study: Study,
    along: Along,
    line: Sequence[float] | np.ndarray,
    dots: Sequence[float] | np.ndarray = (),
    **averages: str,
) -> pandas.DataFrame:
    """Predictions at the values of the line, then simulations beside predictions at the dots."""
    import pandas

    parts = []
    for verbs, values in ((["predict"], line), (["simulate", "predict"], dots)):
        if len(values):
            own = replace(
                study,
                name=f"{study.name} {verbs[0]}",
                axes={along.axis: [along.write(value) for value in values]},
                verbs=verbs,
            )
            found = bench.summary(own, **averages)
            parts.append(found.assign(**{along.column: list(values)}))
    return pandas.concat(parts, ignore_index=True)


def entries(
    table: pandas.DataFrame, names: Mapping[str, str], keep: Sequence[str] = ()
) -> pandas.DataFrame:
    """The entries of a summary under names of their own, with errors and theory, and ``keep``."""
    columns = {
        f"{entry}{end}": f"{name}{end}"
        for entry, name in names.items()
        for end in ("", ".sem", ".theory")
    }
    found = table.rename(columns=columns)
    return found[[c for c in (*keep, *columns.values()) if c in found]]
