"""The values of a cell: plain records that travel from a worker to the store."""

from __future__ import annotations

import io
import struct
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

#: Metrics, arrays beside them, a theory's errors, and the subspaces that it says are learned.
METRIC, ARRAY, ERROR, SUBSPACE = "metric", "array", "error", "subspace"
#: Bytes of a role, of a name and of its array.
_SIZES = struct.Struct("<IIQ")


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


def packed(values: Iterable[Value]) -> bytes:
    """Named arrays as one piece of bytes."""
    parts = []
    for value in values:
        role, name = value.role.encode(), value.name.encode()
        parts += [_SIZES.pack(len(role), len(name), len(value.npy)), role, name, value.npy]
    return b"".join(parts)


def unpacked(content: bytes) -> tuple[Value, ...]:
    """The named arrays again."""
    values, at = [], 0
    while at < len(content):
        role, name, npy = _SIZES.unpack_from(content, at)
        begin = at + _SIZES.size
        middle, at = begin + role + name, begin + role + name + npy
        values.append(
            Value(
                name=content[begin + role : middle].decode(),
                role=content[begin : begin + role].decode(),
                npy=content[middle:at],
            )
        )
    return tuple(values)
