"""Where in a metric a number stands: after which step, along which direction."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from giantstep.answer.axis import named_answer_coordinate
from giantstep.answer.records import Status

#: Axes in their order with the coordinate of an entry, such as (("step", 1), ("direction", "h2")).
Place = tuple[tuple[str, Any], ...]

#: Axes of metrics. Steps count from 0, the state before the first; everything else from 1.
STEP, DIRECTION, TIME = "step", "direction", "time"
COUNTED = ("component", "block", "transition", "degree", "entry")
#: Axes whose coordinates are listed in the settings, by the property that lists them.
LISTED = {"network": "networks", "stage": "stages", TIME: "time_list"}


class Datum(NamedTuple):
    """One entry of a metric at its place: measured, predicted, or both.

    ``mean`` and ``sem`` are NaN where nothing was simulated, ``theory`` where nothing is
    predicted; ``error`` is how far off the theory may be (0: exact in float64).
    """

    metric: str
    place: Place
    mean: float = math.nan
    sem: float = math.nan
    theory: float = math.nan
    error: float = 0.0
    status: Status | None = None
    runs: int = 0

    @property
    def deviation(self) -> float:
        """Simulation minus theory in standard errors, few ``runs`` allowed for.

        It is the Gaussian score that is as rare as gap/sem by Student's law of that many runs.

        >>> round(Datum("overlap", (), 0.5, 0.001, 5.2, runs=2).deviation, 2)
        -3.82
        """
        from scipy.special import ndtri, stdtr

        gap = self.mean - self.theory
        if not self.sem > 0:
            return 0.0 if gap == 0 else math.nan
        ratio = gap / self.sem
        tail = float(stdtr(self.runs - 1, -abs(ratio))) if self.runs > 1 else 0.0
        # Beyond the smallest float, both laws are too rare to be told apart.
        return math.copysign(-float(ndtri(tail)), ratio) if tail > 0 else ratio

    @property
    def at(self) -> dict[str, Any]:
        """The place as a mapping from axis to coordinate."""
        return dict(self.place)


class Located(NamedTuple):
    """An array whose axes have names and coordinates; an axis without a name is an ``entry``."""

    array: np.ndarray
    axes: tuple[str, ...]
    coordinates: tuple[tuple[Any, ...], ...]

    def entries(self) -> Iterator[tuple[Place, Any]]:
        """Each number with its place."""
        for index in np.ndindex(self.array.shape):
            pairs = zip(self.axes, self.coordinates, index, strict=True)
            yield tuple((axis, own[i]) for axis, own, i in pairs), self.array[index]


def metric_entries(value: Any, axes: Sequence[str], settings: Any) -> Located:
    """The entries of a metric with their places.

    An array with fewer axes than its metric speaks of the last step alone, or of the first
    direction alone; what has no name is counted as an entry.

    >>> metric_entries(0.5, ("step",), None).axes
    ()
    >>> found = metric_entries(np.zeros((2, 1)), ("step", "direction"), None)
    >>> [place for place, _ in found.entries()]
    [(('step', 0), ('direction', 'h1')), (('step', 1), ('direction', 'h1'))]
    """
    array = np.asarray(value)
    missing = max(len(axes) - array.ndim, 0)
    names = [*axes[missing:], *["entry"] * (array.ndim - len(axes) + missing)]
    found = [_metric_places(axis, n, settings) for axis, n in zip(names, array.shape, strict=True)]
    for axis in reversed(axes[:missing]):
        only = _only_metric_coordinate(axis, settings)
        if only is not None:
            array, names, found = array[np.newaxis], [axis, *names], [(only,), *found]
    return Located(array, tuple(names), tuple(found))


def metric_place(place: Place) -> str:
    """A place as text.

    >>> metric_place((("samples", "2d"), ("step", 1), ("direction", "h1")))
    'samples = 2d, step 1, h1'
    """
    return ", ".join(_metric_place_words(axis, coordinate) for axis, coordinate in place)


def _metric_place_words(axis: str, coordinate: Any) -> str:
    if axis in (DIRECTION, "network", "stage"):
        return str(coordinate)
    return (
        f"{axis} {coordinate}"
        if axis in (STEP, *COUNTED)
        else named_answer_coordinate(axis, coordinate)
    )


def _metric_places(axis: str, count: int, settings: Any) -> tuple[Any, ...]:
    if axis == DIRECTION:
        return tuple(f"h{i + 1}" for i in range(count))
    listed = getattr(settings, LISTED.get(axis, ""), None)
    if listed is not None:
        return tuple(listed)
    return tuple(range(count)) if axis == STEP else tuple(range(1, count + 1))


def _only_metric_coordinate(axis: str, settings: Any) -> Any:
    """The coordinate of an axis that an array leaves out; None where the axis says nothing."""
    return getattr(settings, "steps", None) if axis == STEP else "h1" if axis == DIRECTION else None
