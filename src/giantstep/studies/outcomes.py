"""What came out of a block: the plain record that travels from a worker to the store."""

from __future__ import annotations

import io
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

#: `no-theory` is an answer, not a failure: there is no prediction at that point.
DONE, FAILED, NO_THEORY = "done", "failed", "no-theory"
#: Values that tables and axes show, and larger arrays that are only kept.
METRIC, ARRAY = "metric", "array"


@dataclass(frozen=True)
class Value:
    """One named array of one cell, as the bytes of an npy file: lossless, dtype and shape too."""

    name: str
    role: str
    npy: bytes

    @classmethod
    def of(cls, name: str, role: str, value: Any) -> Value:
        """Encode a value; what has no numeric or text dtype is refused."""
        array = np.asarray(value)
        if array.dtype == object:
            array = np.asarray(value, dtype=float)
        file = io.BytesIO()
        np.save(file, array, allow_pickle=False)
        return cls(name, role, file.getvalue())

    def array(self) -> np.ndarray:
        """The array again."""
        return np.load(io.BytesIO(self.npy), allow_pickle=False)

    def number(self) -> float | None:
        """A real scalar as plain SQL can hold it; None for anything else."""
        array = self.array()
        if array.ndim or array.dtype.kind not in "fiub" or np.isnan(array):
            return None
        return float(array)


@dataclass(frozen=True)
class Outcome:
    """The end of a block: its status and, if it is done, the values of each of its cells."""

    keys: tuple[str, ...]
    status: str
    error: str | None = None
    seconds: float = math.nan
    values: tuple[tuple[Value, ...], ...] = ()
    about: Mapping[str, Any] = field(default_factory=dict)


def overdue(cell_seconds: float, cells: int) -> str:
    """The error of a block that took too long."""
    together = f", {cells} cells together" if cells > 1 else ""
    return f"it was ended after more than --cell-seconds {cell_seconds:g} a cell{together}"
