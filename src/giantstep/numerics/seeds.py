"""One seed for each (problem, settings, seed index), the same wherever and whenever it runs."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np


def stable_digest(*parts: Any) -> str:
    """SHA-256 of the parts' JSON text: equal parts have equal digests on every machine."""
    text = json.dumps(parts, sort_keys=True, separators=(",", ":"), default=str)
    return hashlib.sha256(text.encode()).hexdigest()


def stable_seed(*parts: Any) -> int:
    """A 63-bit integer that depends on the parts alone."""
    return int(stable_digest(*parts)[:16], 16) >> 1


def generator(*parts: Any) -> np.random.Generator:
    """A numpy generator that depends on the parts alone."""
    import numpy as np

    return np.random.default_rng(stable_seed(*parts))
