"""Directions in words: h1, (h1 + h2)/sqrt(2), 0.6*h1 + 0.8*h2."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from jaxtyping import Float


def direction_text(row: Float[np.ndarray, " r"]) -> str:
    """One unit vector as a combination of h1..hr.

    >>> direction_text(np.array([1.0, -1.0, 0.0]) / 2**0.5)
    '(h1 - h2)/sqrt(2)'
    """
    used = np.flatnonzero(np.abs(row) > 5e-3)
    smallest = np.min(np.abs(row[used]))
    whole = row / smallest
    squares = int(np.round(np.sum(np.round(whole) ** 2)))
    if np.allclose(whole, np.round(whole), atol=2e-2) and squares <= 20:
        text = _combination((int(np.round(whole[i])), f"h{i + 1}") for i in used)
        if squares == 1:
            return text
        root = round(squares**0.5)
        return f"({text})/" + (str(root) if root**2 == squares else f"sqrt({squares})")
    return _combination((round(float(row[i]), 3), f"h{i + 1}") for i in used)


def _combination(parts: Iterable[tuple[float, str]]) -> str:
    text = ""
    for number, name in parts:
        size = "" if abs(number) == 1 else f"{abs(number):g}*"
        sign = (" - " if text else "-") if number < 0 else (" + " if text else "")
        text += f"{sign}{size}{name}"
    return text


def directions_text(rows: Float[np.ndarray, "m r"]) -> str:
    """Several directions, separated by commas; `nothing` if there are none.

    >>> directions_text(np.eye(3)[:2])
    'h1, h2'
    """
    return ", ".join(direction_text(row) for row in rows) or "nothing"
