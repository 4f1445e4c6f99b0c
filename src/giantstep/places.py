"""Where in a metric an entry stands: after which step, along which direction."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from giantstep.sweep import swept_words

#: Axes in their order with the coordinate of an entry, such as (("step", 1), ("direction", "h2")).
Place = tuple[tuple[str, Any], ...]

#: Axes of metrics. Steps count from 0, the state before the first; everything else from 1.
STEP, DIRECTION, TIME = "step", "direction", "time"
COUNTED = ("component", "block", "transition", "degree", "entry")
#: Axes whose coordinates are names, by the setting that lists them.
NAMED = {"network": "networks", "stage": "stages"}


def entries(
    shape: Sequence[int], axes: Sequence[str], settings: Mapping[str, Any]
) -> Iterator[tuple[tuple[int, ...], Place]]:
    """Each index into an array of that shape with its place.

    An array with fewer axes than its metric speaks of the last step alone, or of the first
    direction alone; what has no name is counted as an entry.

    >>> [place for _, place in entries((2, 1), ("step", "direction"), {})]
    [(('step', 0), ('direction', 'h1')), (('step', 1), ('direction', 'h1'))]
    >>> list(entries((), ("step",), {"steps": 3}))
    [((), (('step', 3),))]
    >>> [place for _, place in entries((2,), ("time",), {"times": "0.5,2"})]
    [(('time', 0.5),), (('time', 2.0),)]
    """
    missing = max(len(axes) - len(shape), 0)
    fixed = [(axis, _only(axis, settings)) for axis in axes[:missing]]
    known = (*axes[missing:], *["entry"] * len(shape))
    listed: dict[str, Sequence[Any]] = {
        axis: settings[name].split(",") for axis, name in NAMED.items() if axis in axes
    }
    if TIME in axes:
        listed[TIME] = [float(time) for time in settings["times"].split(",")]
    for index in np.ndindex(*shape):
        own = [(axis, _coordinate(axis, i, listed)) for axis, i in zip(known, index, strict=False)]
        yield index, tuple(pair for pair in (*fixed, *own) if pair[1] is not None)


def words(place: Place) -> str:
    """A place as text.

    >>> words((("samples", "2d"), ("step", 1), ("direction", "h1")))
    'samples = 2d, step 1, h1'
    """
    return ", ".join(_words(axis, coordinate) for axis, coordinate in place)


def _words(axis: str, coordinate: Any) -> str:
    if axis == DIRECTION or axis in NAMED:
        return str(coordinate)
    return f"{axis} {coordinate}" if axis in (STEP, *COUNTED) else swept_words(axis, coordinate)


def _coordinate(axis: str, index: int, listed: Mapping[str, Sequence[Any]]) -> Any:
    if axis == DIRECTION:
        return f"h{index + 1}"
    if axis in listed:
        return listed[axis][index]
    return index if axis == STEP else index + 1


def _only(axis: str, settings: Mapping[str, Any]) -> Any:
    """The coordinate of an axis that an array leaves out; None where the axis says nothing."""
    return settings.get("steps") if axis == STEP else "h1" if axis == DIRECTION else None
