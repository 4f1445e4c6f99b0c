"""Which numbers of an answer are shown: the last step, and of a grid the metrics that vary."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from giantstep.answer.places import DIRECTION, STEP, Datum
from giantstep.answer.plain import unique
from giantstep.errors import GiantstepError, shown

if TYPE_CHECKING:
    from giantstep.answer.answer import Answer

_WANTED = re.compile(r"(?P<name>\w+)\s*(\[(?P<index>[\d,\s]+)\])?$")
#: Relative changes below this are rounding, not variation.
_ROUNDING = 1e-9

#: Metrics by name, as one text with commas or as a list; an entry by its index: ``overlap[2,0]``.
GivenMetric = str | Sequence[str] | None


class Wanted(NamedTuple):
    """A metric that was asked for, and which entry of it; without an index, all of its last step.

    >>> wanted_metrics("test_error, overlap[2,0]")
    [Wanted(metric='test_error', entry=None), Wanted(metric='overlap', entry=(2, 0))]
    """

    metric: str
    entry: tuple[int, ...] | None = None

    def is_of(self, number: Datum, swept: Collection[str]) -> bool:
        """Whether the number is, or belongs to, what was asked for."""
        if number.metric != self.metric or self.entry is None:
            return number.metric == self.metric
        return self.entry == tuple(_metric_index(a, at) for a, at in number.place if a not in swept)


class Selection(NamedTuple):
    """Numbers to show; those that are the same at every point; metrics left out, and copies."""

    shown: list[Datum]
    constant: list[Datum]
    left_out: list[str]
    copies: dict[str, str]


def wanted_metrics(metric: GivenMetric) -> list[Wanted]:
    """The metrics that a text or a list names."""
    if metric is None:
        return []
    texts = re.split(r",(?![^\[]*\])", metric) if isinstance(metric, str) else list(metric)
    found = []
    for text in texts:
        match = _WANTED.match(text.strip())
        if not match:
            raise GiantstepError(
                f"metric = {shown(text)}: give a name such as test_error, or overlap[2,0] for "
                "step 2 and the first direction"
            )
        index = match["index"]
        found.append(
            Wanted(match["name"], None if index is None else tuple(map(int, index.split(","))))
        )
    return found


def shown_metrics(
    answer: Answer, metric: GivenMetric = None, *, everything: bool = False
) -> Selection:
    """What to show of an answer; ``everything`` leaves nothing out."""
    swept = tuple(answer.axes)
    every, asked = list(answer.numbers()), wanted_metrics(metric)
    names = unique(number.metric for number in every)
    if asked:
        every = _asked_metrics(answer, every, asked)
    both = {n.metric for n in every if n.mean == n.mean and n.theory == n.theory}
    if everything:
        return Selection(every, [], [], {})
    if not asked and both:
        # A comparison is about what was measured and predicted.
        every = [n for n in every if n.metric in both and n.mean + n.theory == n.mean + n.theory]
    whole = {want.metric for want in asked if want.entry is not None}
    last = _last_metric_steps(every, swept)
    every = [n for n in every if n.metric in whole or _is_last(n, last.get(_point(n, swept)))]
    if asked:
        return Selection(every, [], [], {})
    every = _metrics_without_still_sides(every)
    copies = _copied_metrics(every)
    every = [n for n in every if n.metric not in copies]
    constant = _constant_metrics(every, swept) if len(answer) > 1 else set()
    kept = unique(n.metric for n in every)
    return Selection(
        [n for n in every if n.metric not in constant],
        _metrics_once([n for n in every if n.metric in constant], swept),
        [name for name in names if name not in kept and name not in copies],
        copies,
    )


def _asked_metrics(answer: Answer, every: list[Datum], asked: Sequence[Wanted]) -> list[Datum]:
    found = []
    for want in asked:
        own = [number for number in every if want.is_of(number, tuple(answer.axes))]
        if all(number.metric != want.metric for number in every):
            raise GiantstepError(answer.lacking(want.metric))
        if not own:
            index = ",".join(map(str, want.entry or ()))
            raise GiantstepError(
                f"metric = '{want.metric}[{index}]': it has no such entry; --all shows which it has"
            )
        found += own
    return found


def _metrics_without_still_sides(every: list[Datum]) -> list[Datum]:
    """Values before and after a transition say nothing where they are the same."""
    values = {(n.metric, n.place): n.theory for n in every}

    def is_still(number: Datum) -> bool:
        stem, _, side = number.metric.rpartition("_")
        other = {"before": f"{stem}_after", "after": f"{stem}_before"}.get(side)
        return other is not None and values.get((other, number.place)) == number.theory

    return [number for number in every if not is_still(number)]


def _last_metric_steps(every: Sequence[Datum], swept: Collection[str]) -> dict[Any, int]:
    last: dict[Any, int] = {}
    for number in every:
        if STEP in number.at:
            point = _point(number, swept)
            last[point] = max(last.get(point, 0), number.at[STEP])
    return last


def _point(number: Datum, swept: Collection[str]) -> Any:
    """The point of the grid at which a number stands."""
    return tuple(pair for pair in number.place if pair[0] in swept)


def _is_last(number: Datum, last: int | None) -> bool:
    return number.at.get(STEP, last) == last


def _constant_metrics(every: Sequence[Datum], swept: Collection[str]) -> set[str]:
    """The metrics that are the same at every point; none if that is all of them."""
    values: dict[tuple[str, Any], list[float]] = {}
    points: dict[tuple[str, Any], int] = {}
    for number in every:
        rest = tuple(pair for pair in number.place if pair[0] not in (*swept, STEP))
        key = number.metric, rest
        values.setdefault(key, []).append(number.theory if np.isnan(number.mean) else number.mean)
        points[key] = points.get(key, 0) + 1
    most = max(points.values(), default=0)
    varying = {key[0] for key, found in values.items() if points[key] < most or _differ(found)}
    constant = {metric for metric, _ in values} - varying
    return constant if varying else set()


def _differ(values: Sequence[float]) -> bool:
    """Whether numbers differ by more than rounding; two infinities of one sign do not."""
    if not np.all(np.isfinite(values)):
        return len(set(values)) > 1
    return bool(np.ptp(values) > _ROUNDING * np.max(np.abs(values)))


def _metrics_once(every: Sequence[Datum], swept: Collection[str]) -> list[Datum]:
    """The numbers of the first point that has them, without its value."""
    found: dict[Any, Datum] = {}
    for number in every:
        place = tuple(pair for pair in number.place if pair[0] not in (*swept, STEP))
        found.setdefault((number.metric, place), number._replace(place=place))
    return list(found.values())


def _copied_metrics(every: Sequence[Datum]) -> dict[str, str]:
    """Metrics that hold the very numbers of an earlier one, such as noisy errors without noise."""
    values: dict[str, list[str]] = {}
    for number in every:
        shown = f"{number.mean:.9g} {number.theory:.9g}"
        values.setdefault(number.metric, []).append(shown)
    found: dict[str, str] = {}
    for name in values:
        for other in values:
            if other == name:
                break
            if other in name and values[other] == values[name]:
                found[name] = other
    return found


def _metric_index(axis: str, coordinate: Any) -> int:
    if axis == STEP:
        return int(coordinate)
    return int(str(coordinate).removeprefix("h") if axis == DIRECTION else coordinate) - 1
