"""Values for one setting, as people write them: ``0.1d:4d:40``, ``1e-4:10:50log``, ``1d,2d,4d``."""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from giantstep.errors import SettingsError, shown
from giantstep.language.inputs import Inputs
from giantstep.language.sizes import Size
from giantstep.settings.options import Settings, Values

_RANGE = re.compile(r"^(?P<first>[^:]+):(?P<last>[^:]+):(?P<count>\d+)(?P<log>log)?$")
#: More points than a figure can show are a slip of the keyboard.
MOST_POINTS = 100_000
#: The kinds of a problem's fields; those of settings are in their declarations.
PROBLEM_KINDS: dict[str, Any] = {"target": str, "noise": float, "inputs": Inputs}


def setting_kinds(settings_class: type[Settings]) -> dict[str, Any]:
    """What each field of a settings class holds: Size, int, float, bool or str."""
    fields = dataclasses.fields(settings_class)
    return {f.name: f.metadata["kind"] for f in fields if "kind" in f.metadata}


def is_swept(given: Any, kind: Any) -> bool:
    """Whether several values are given: a range or a list of numbers or sizes.

    >>> is_swept("1d:4d:4", Size), is_swept("1,2", float), is_swept("-1:0.3,2:0.7", str)
    (True, True, False)
    """
    if isinstance(given, list | tuple | range) or hasattr(given, "tolist"):
        return isinstance(given, list | tuple | range) or np.ndim(given) > 0
    if not isinstance(given, str):
        return False
    if kind is Inputs:
        return given.partition(":")[2].count(":") in (1, 2)
    return kind in (Size, float, int) and (":" in given or "," in given)


def setting_values(name: str, given: Any, kind: Any) -> tuple[Any, ...]:
    """The values along an axis as plain numbers and texts.

    >>> setting_values("samples", "1d:2d:3", Size)
    ('d', '1.5d', '2d')
    >>> setting_values("dim", "100:200:3", int)
    (100, 150, 200)
    >>> setting_values("ridge", [0.1, 1], float)
    (0.1, 1)
    >>> setting_values("inputs", "spiked:1:2:2", Inputs)
    ('spiked:1', 'spiked:2')
    """
    if hasattr(given, "tolist"):
        given = given.tolist()
    if isinstance(given, str) and is_swept(given, kind):
        values: Iterable[Any] = _written_setting_values(name, given, kind)
    elif isinstance(given, str) or not isinstance(given, Sequence):
        raise SettingsError(
            f"axis {name} = {shown(given)}: give a list of values, or a range such as 1:10:19, "
            f"1e-4:10:50log or 0.1d:4d:40"
        )
    else:
        values = [value.item() if isinstance(value, np.generic) else value for value in given]
    found = tuple(values)
    if not found:
        raise SettingsError(f"axis {name} is empty: give at least one value")
    return found


def setting_range_values(text: str, name: str) -> list[Size]:
    """The values of a range, first and last included.

    >>> [str(size) for size in setting_range_values("1d:3d:3", "samples")]
    ['d', '2d', '3d']
    """
    match = _RANGE.match(text.replace(" ", ""))
    if text.count(":") == 1:
        raise SettingsError(
            f"{name} = {shown(text)} does not say how many values: write {text.strip()}:8, or "
            f"{text.strip()}:8log for even spacing by decades"
        )
    remedy = "write first:last:count or first:last:countlog, such as 0.1d:4d:40 or 1e-4:10:50log"
    if not match:
        raise SettingsError(f"{name} = {text[:60]!r} is not a range: {remedy}")
    first, last = (Size.or_zero(match[end], name) for end in ("first", "last"))
    count = int(match["count"]) if len(match["count"]) < 9 else MOST_POINTS + 1
    if not 1 <= count <= MOST_POINTS:
        raise SettingsError(f"{name} = {shown(text)}: a range has 1 to {MOST_POINTS} values")
    low, high = first.coefficient, last.coefficient
    power = last.power if low == 0 else first.power
    if high != 0 and power != last.power:
        raise SettingsError(f"{name} = {shown(text)}: both ends need the same power of d")
    fractions = [i / max(count - 1, 1) for i in range(count)]
    if match["log"] and min(low, high) == 0:
        raise SettingsError(f"{name} = {shown(text)}: a logarithmic range cannot begin or end at 0")
    if match["log"]:
        numbers = [float(f"{low * (high / low) ** f:.12g}") for f in fractions]
    else:
        numbers = [float(f"{low + f * (high - low):.12g}") for f in fractions]
    # Twelve digits keep 0.3 from being 0.30000000000000004; both ends are as they were written.
    numbers[0], numbers[-1] = low, high if count > 1 else low
    return [Size(number, power) for number in numbers]


def settings_with_values(points: Sequence[Settings]) -> Settings:
    """Settings that differ in one field, as one object that holds all values of that field."""
    learners = dict.fromkeys(point.learner for point in points)
    if len(learners) > 1:
        raise SettingsError(f"a sweep has one learner; these points have {' and '.join(learners)}")
    first, *others = points
    names = [field.name for field in dataclasses.fields(first)]
    differing = [n for n in names if any(getattr(p, n) != getattr(first, n) for p in others)]
    if len(differing) != 1:
        how = " and ".join(differing) or "nothing"
        raise SettingsError(f"a sweep varies one setting, and these points differ in {how}")
    return first.replace(**{differing[0]: Values(getattr(p, differing[0]) for p in points)})


def _written_setting_values(name: str, text: str, kind: Any) -> Iterable[Any]:
    """The values of a text: a range, or a list with commas."""
    if kind is Inputs:
        law, _, strengths = text.partition(":")
        return [f"{law}:{strength}" for strength in setting_range_values(strengths, name)]
    if ":" not in text:
        return [part.strip() for part in text.split(",")]
    sizes = setting_range_values(text, name)
    if kind is not Size and any(size.power != 0 for size in sizes):
        raise SettingsError(f"{name} = {shown(text)} cannot depend on d: give plain numbers")
    return [_plain_setting_value(size, kind) for size in sizes]


def _plain_setting_value(size: Size, kind: type) -> str | float:
    if kind is Size:
        return str(size)
    # A range of whole numbers goes through fractions; 126.00000000000001 means 126.
    whole = round(size.coefficient)
    near = math.isclose(size.coefficient, whole, rel_tol=1e-12)
    return whole if kind is int and near else size.coefficient
