"""The values of a cell: named arrays that travel from a worker to the store."""

from __future__ import annotations

import io
from collections.abc import Mapping
from typing import Any

import numpy as np

#: Metrics, arrays beside them, a theory's errors, and the subspaces that it says are learned.
METRIC, ARRAY, ERROR, SUBSPACE = "metric", "array", "error", "subspace"


def packed_cell(values: Mapping[tuple[str, str], Any]) -> bytes:
    """Arrays by role and name as the bytes of an npz file: lossless, dtype and shape too.

    What has no numeric or text dtype is refused.
    """
    arrays: dict[str, Any] = {}
    for (role, name), value in values.items():
        array = np.asarray(value)
        arrays[f"{role}/{name}"] = np.asarray(value, float) if array.dtype == object else array
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()


def unpacked_cell(content: bytes) -> dict[str, dict[str, np.ndarray]]:
    """The named arrays again, role by role."""
    found: dict[str, dict[str, np.ndarray]] = {METRIC: {}, ARRAY: {}, ERROR: {}, SUBSPACE: {}}
    with np.load(io.BytesIO(content), allow_pickle=False) as file:
        for place in file:
            role, _, name = place.partition("/")
            found[role][name] = file[place]
    return found
