"""Digests that are kept beside the rows of a store: a row that was altered is known by them.

They guard against damage (a bad disk, a copy that broke off), not against malice.
"""

from __future__ import annotations

import hashlib
from typing import Any


def digest_of(*fields: Any) -> bytes:
    """The digest of what a row of the database holds: texts, numbers, bytes, None.

    >>> digest_of("ab", "c") == digest_of("a", "bc"), digest_of(1) == digest_of("1")
    (False, False)
    """
    digest = hashlib.blake2b(digest_size=16)
    for field in fields:
        if isinstance(field, str):
            kind, content = b"s", field.encode("utf-8", "surrogatepass")
        elif isinstance(field, bytes):
            kind, content = b"b", field
        else:
            kind, content = b"n", repr(field).encode()
        digest.update(b"%s%d:" % (kind, len(content)))
        digest.update(content)
    return digest.digest()
