"""The columns of a study's table that belong to a metric: ``overlap[2, 0]`` and where it stands."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from giantstep.errors import GiantstepError
from giantstep.places import DIRECTION, NAMED, STEP, Place
from giantstep.results.selection import wanted
from giantstep.twins.metrics import Metric
from giantstep.twins.table import TWINS

if TYPE_CHECKING:
    import pandas

_COLUMN = re.compile(r"(?P<metric>[^\[\]]+?)(\[(?P<index>[\d, ]+)\])?(\.(sem|seeds|theory))?")


class MetricColumn(NamedTuple):
    """A column of a summary: its name, the metric, the indices, and the place they mean."""

    name: str
    metric: str
    entry: tuple[int, ...]
    place: Place


def metric_columns(
    definition: Mapping[str, Any], table: pandas.DataFrame, metric: str | None = None
) -> list[MetricColumn]:
    """The columns of a metric after the last step, or of the entry that is asked for.

    Without a metric, those of the first that has a prediction.
    """
    every = _every(definition, table)
    if not every:
        raise GiantstepError("no cell of the study is done yet: there is nothing to show")
    names = list(dict.fromkeys(column.metric for column in every))
    if metric is None:
        predicted = [c.metric for c in every if f"{c.name}.theory" in table]
        return last_step([c for c in every if c.metric == [*predicted, *names][0]])
    found: list[MetricColumn] = []
    for want in wanted(metric):
        own = [c for c in every if c.metric == want.metric and want.entry in (None, c.entry)]
        if want.metric not in names:
            raise GiantstepError(f"--metric = {want.metric!r} is unknown: use {', '.join(names)}")
        if not own:
            known = ", ".join(c.name for c in every if c.metric == want.metric)
            raise GiantstepError(f"--metric = {metric!r} has no such entry: use {known}")
        found += own if want.entry is not None else last_step(own)
    return found


def last_step(columns: Sequence[MetricColumn]) -> list[MetricColumn]:
    """The columns without a step, and those of the last one of their metric."""
    last: dict[str, int] = {}
    for column in columns:
        step = dict(column.place).get(STEP, 0)
        last[column.metric] = max(last.get(column.metric, 0), step)
    return [c for c in columns if dict(c.place).get(STEP, last[c.metric]) == last[c.metric]]


def shown_columns(definition: Mapping[str, Any], table: pandas.DataFrame) -> list[MetricColumn]:
    """Every metric after its last step."""
    return last_step(_every(definition, table))


def _every(definition: Mapping[str, Any], table: pandas.DataFrame) -> list[MetricColumn]:
    axes = _metric_axes(definition)
    found: dict[str, MetricColumn] = {}
    for column in table:
        match = _COLUMN.fullmatch(str(column))
        if column in definition["axes"] or match is None:
            continue
        entry = tuple(int(i) for i in match["index"].split(",")) if match["index"] else ()
        name = match["metric"] + (f"[{match['index']}]" if match["index"] else "")
        own = axes.get(match["metric"], ())
        known = own[len(own) - len(entry) :] if len(own) >= len(entry) else ()
        place = tuple((axis, _at(axis, i)) for axis, i in zip(known, entry, strict=False))
        found.setdefault(name, MetricColumn(name, match["metric"], entry, place))
    return list(found.values())


def _metric_axes(definition: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    """The axes of each metric, from the table of learners or from the study's own learner."""
    learner = definition["learner"]
    if isinstance(learner, Mapping):
        return {m.name: m.axes for m in (Metric.of(given) for given in learner["metrics"])}
    return next((row.axes for row in TWINS if row.name == learner), {})


def _at(axis: str, index: int) -> Any:
    if axis in NAMED:
        # Which names there are depends on the settings of each point.
        return f"{axis} {index + 1}"
    return f"h{index + 1}" if axis == DIRECTION else index if axis == STEP else index + 1
