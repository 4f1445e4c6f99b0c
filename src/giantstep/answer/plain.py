"""Values as JSON can hold them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np


def json_value(value: Any) -> Any:
    """The value as JSON can hold it: arrays become lists, NaN and infinity become None or text."""
    # Most values are such, and the abstract class behind Mapping is slow to ask.
    if type(value) in (str, int, bool, type(None)):
        return value
    if type(value) is float and math.isfinite(value):
        return value
    if isinstance(value, Mapping):
        return {str(name): json_value(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [json_value(item) for item in value]
    if isinstance(value, np.ndarray) or hasattr(value, "__array__"):
        return json_value(np.asarray(value).tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else str(value)
    return value if isinstance(value, str | int | float) else str(value)


def counted(number: int, noun: str) -> str:
    """1 direction, 2 directions.

    >>> counted(1, "seed"), counted(3, "seed")
    ('1 seed', '3 seeds')
    """
    return f"{number} {noun}" + ("" if number == 1 else "s")


def unique(texts: Iterable[str]) -> list[str]:
    """Each text once, in the order of first appearance."""
    return list(dict.fromkeys(texts))
