"""Answers that were given once: by settings and seed, the oldest forgotten first.

Workers' threads put answers in and look there before they begin a task, so that fifty people who
open the same page have its dots computed once.
"""

from __future__ import annotations

import json
import threading
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any

from giantstep.laboratory.laid_over import LabLaw

#: What the lab keeps in all.
MOST_BYTES = 200 * 2**20
#: What an answer takes beside its arrays.
_FRAME_BYTES = 6000


def lab_cache_key(*parts: Any) -> str:
    """A text that is the same for the same plain values."""
    return json.dumps(parts, sort_keys=True, default=str)


class Cache:
    """Answers by key, as many as fit."""

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self._most, self._held = most_bytes, 0
        self._lock = threading.Lock()
        self._answers: OrderedDict[str, tuple[Any, int]] = OrderedDict()

    def get(self, key: str) -> Any | None:
        """The answer, which now counts as new; None if there is none."""
        with self._lock:
            if key not in self._answers:
                return None
            self._answers.move_to_end(key)
            return self._answers[key][0]

    def put(self, key: str, answer: Any) -> None:
        """Keep an answer.

        >>> kept = Cache(most_bytes=13000)
        >>> for name in "abc":
        ...     kept.put(name, name)
        >>> kept.get("a"), kept.get("c")
        (None, 'c')
        """
        # An outcome holds its answer; anything else is one.
        size = _lab_answer_bytes(getattr(answer, "value", answer)) + _FRAME_BYTES
        with self._lock:
            if key in self._answers:
                self._held -= self._answers.pop(key)[1]
            self._answers[key] = answer, size
            self._held += size
            while self._held > self._most:
                _, (_, freed) = self._answers.popitem(last=False)
                self._held -= freed


def _lab_answer_bytes(answer: Any) -> int:
    """Bytes of the arrays in a result."""
    is_law = isinstance(answer, LabLaw)
    records = (answer.prediction,) if is_law else getattr(answer, "runs", ())
    tables = [getattr(each, name, {}) for each in records for name in ("metrics", "arrays")]
    if isinstance(answer, Mapping):
        tables.append(answer)
    if isinstance(answer, str):
        return len(answer)
    return sum(getattr(value, "nbytes", 0) for table in tables for value in table.values())
