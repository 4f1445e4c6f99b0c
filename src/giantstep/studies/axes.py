"""The values along one axis of a study: a list, or a range such as ``0.1d:4d:40``."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from giantstep.errors import SettingsError
from giantstep.inputs import read_inputs
from giantstep.results import plain
from giantstep.settings.sweeps import is_sweep, sweep_values
from giantstep.sizes import Size


def axis_values(name: str, given: Any, kind: type) -> tuple[Any, ...]:
    """The values of an axis as plain numbers and texts.

    >>> axis_values("samples", "1d:2d:3", Size)
    ('d', '1.5d', '2d')
    >>> axis_values("dim", "100:200:3", int)
    (100, 150, 200)
    >>> axis_values("ridge", [0.1, 1], float)
    (0.1, 1)
    """
    if is_sweep(given, kind):
        sizes = sweep_values(given, name)
        if kind is not Size and sizes[0].power != 0:
            raise SettingsError(f"{name} = {given!r} cannot depend on d: give plain numbers")
        return tuple(_swept(size, kind) for size in sizes)
    if hasattr(given, "tolist"):
        given = given.tolist()
    if isinstance(given, str) or not isinstance(given, Sequence):
        raise SettingsError(
            f"axis {name} = {given!r}: give a list of values, or a range such as 1:10:19, "
            f"1e-4:10:50log or 0.1d:4d:40"
        )
    values = tuple(str(value) if isinstance(value, Size) else plain(value) for value in given)
    if not values:
        raise SettingsError(f"axis {name} is empty: give at least one value")
    return values


def _swept(size: Size, kind: type) -> str | float:
    if kind is Size:
        return str(size)
    # A range of whole numbers goes through fractions; 126.00000000000001 means 126.
    whole = round(size.coefficient)
    near = math.isclose(size.coefficient, whole, rel_tol=1e-12)
    return whole if kind is int and near else size.coefficient


def coordinate(value: Any) -> Any:
    """A value as an axis shows it: a number where the text is one, else the text.

    >>> coordinate("4096"), coordinate("4d"), coordinate({"law": "spiked", "strength": "d^0.5"})
    (4096, '4d', 'spiked:d^0.5')
    """
    if isinstance(value, dict):
        return str(read_inputs(value))
    if not isinstance(value, str):
        return value
    try:
        number = float(value)
    except ValueError:
        return value
    return int(number) if number.is_integer() and abs(number) < 2**53 else number
