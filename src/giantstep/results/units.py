"""Sizes of a result in numbers: n, n/d, p, p/d."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from giantstep.errors import SettingsError
from giantstep.sizes import Size

#: The letter that mathematics gives to a size, for tables and frames.
LETTERS = {"samples": "n", "width": "p", "readout_samples": "readout n", "dim": "d"}


def size_of(given: Any) -> Size | None:
    """The size that a setting holds; None where it is no size."""
    if given is None or isinstance(given, bool):
        return None
    try:
        return Size.parse(given)
    except SettingsError:
        return None


def sizes_in_numbers(settings: Mapping[str, Any]) -> dict[str, float]:
    """Each size as a number and as a multiple of d, as far as the settings say.

    >>> sizes_in_numbers({"dim": 200, "samples": "4d", "width": "20"})
    {'d': 200.0, 'n': 800.0, 'n/d': 4.0, 'p': 20.0, 'p/d': 0.1}
    >>> sizes_in_numbers({"dim": None, "samples": "4d", "width": "20"})
    {'n/d': 4.0, 'p': 20.0}
    """
    dim = settings.get("dim")
    found: dict[str, float] = {} if dim is None else {"d": float(dim)}
    for name, letter in LETTERS.items():
        size = size_of(settings.get(name))
        if name == "dim" or size is None:
            continue
        if dim is not None:
            found[letter] = float(round(size.at(dim)))
            found[f"{letter}/d"] = found[letter] / float(dim)
        elif size.power == 0:
            found[letter] = size.coefficient
        elif size.power == 1:
            found[f"{letter}/d"] = size.coefficient
    return found


def size_words(name: str, given: Any, dim: Any) -> str:
    """A size with its unit.

    >>> size_words("samples", "4d", 200), size_words("width", "20", 200)
    ('n = 800 = 4d', 'p = 20')
    >>> size_words("samples", "4d", None), size_words("step_size", "d^0.5", 100)
    ('n = 4d', 'step size = 10 = d^0.5')
    """
    letter, size = LETTERS.get(name, name.replace("_", " ")), size_of(given)
    if size is not None and size.power == 0:
        return f"{letter} = {size.coefficient:.6g}"
    if size is None or dim is None:
        return f"{letter} = {given}"
    value = size.at(dim)
    return f"{letter} = {round(value) if name in LETTERS else f'{value:.4g}'} = {size}"
