"""A range of values for one setting: ``0.1d:4d:40``, ``1e-4:10:50log``."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Sequence
from typing import Any

from giantstep.errors import SettingsError
from giantstep.settings.options import Settings
from giantstep.sizes import Size

_SWEEP = re.compile(r"^(?P<first>[^:]+):(?P<last>[^:]+):(?P<count>\d+)(?P<log>log)?$")
#: More points than a figure can show are a slip of the keyboard.
MOST_POINTS = 100_000


def is_sweep(text: Any, kind: type) -> bool:
    """Whether the text is a range; only numbers and sizes can be swept."""
    return kind in (Size, float, int) and isinstance(text, str) and text.count(":") == 2


def sweep_values(text: str, name: str) -> list[Size]:
    """The values of a range, first and last included.

    >>> [str(size) for size in sweep_values("1d:3d:3", "samples")]
    ['d', '2d', '3d']
    """
    match = _SWEEP.match(text.replace(" ", ""))
    remedy = "write first:last:count or first:last:countlog, such as 0.1d:4d:40 or 1e-4:10:50log"
    if not match:
        raise SettingsError(f"{name} = {text[:60]!r} is not a range: {remedy}")
    first, last = Size.parse(match["first"], name), Size.parse(match["last"], name)
    count = int(match["count"]) if len(match["count"]) < 9 else MOST_POINTS + 1
    if not 1 <= count <= MOST_POINTS:
        raise SettingsError(f"{name} = {text!r}: a range has 1 to {MOST_POINTS} values")
    if first.power != last.power:
        raise SettingsError(f"{name} = {text!r}: both ends need the same power of d")
    low, high = first.coefficient, last.coefficient
    fractions = [i / max(count - 1, 1) for i in range(count)]
    if match["log"]:
        numbers = [float(f"{low * (high / low) ** f:.12g}") for f in fractions]
    else:
        numbers = [float(f"{low + f * (high - low):.12g}") for f in fractions]
    # Twelve digits keep 0.3 from being 0.30000000000000004; both ends are as they were written.
    numbers[0], numbers[-1] = low, high if count > 1 else low
    return [Size(number, first.power) for number in numbers]


def swept(
    settings_class: type[Settings], given: dict[str, Any]
) -> tuple[str | None, Sequence[Settings]]:
    """The name of the swept field, if any, and the settings of every point of the sweep."""
    kinds = {f.name: f.metadata["kind"] for f in dataclasses.fields(settings_class) if f.metadata}
    ranges = [name for name, value in given.items() if is_sweep(value, kinds.get(name, str))]
    if not ranges:
        return None, [settings_class(**given)]
    if len(ranges) > 1:
        raise SettingsError(f"{' and '.join(ranges)} are both ranges: sweep one setting at a time")
    name = ranges[0]
    values = sweep_values(given[name], name)
    if kinds[name] is not Size and values[0].power != 0:
        raise SettingsError(f"{name} = {given[name]!r} cannot depend on d: give plain numbers")
    points: list[Any] = [v if kinds[name] is Size else v.coefficient for v in values]
    return name, [settings_class(**{**given, name: point}) for point in points]
