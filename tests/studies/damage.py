"""Files that were damaged in one place, as disks and broken copies damage them."""

from __future__ import annotations

import random
from pathlib import Path

#: What SQLite writes at least of any file; smaller stretches are bad spots within it.
PAGE = 4096


def damage(rng: random.Random, path: Path) -> str:
    """Spoil one spot of the file; says what was done."""
    content = bytearray(path.read_bytes())
    at = rng.randrange(len(content))
    kind = rng.choice(["bit", "bit", "byte", "bytes", "zeros", "page", "swap", "cut"])
    if kind == "bit":
        content[at] ^= 1 << rng.randrange(8)
    elif kind == "byte":
        content[at] = rng.randrange(256)
    elif kind == "bytes":
        length = rng.randint(2, 64)
        content[at : at + length] = rng.randbytes(len(content[at : at + length]))
    elif kind == "zeros":
        length = rng.randint(2, 512)
        content[at : at + length] = bytes(len(content[at : at + length]))
    elif kind == "page":
        page = at // PAGE * PAGE
        content[page : page + PAGE] = rng.randbytes(len(content[page : page + PAGE]))
    elif kind == "swap":
        one, other = (rng.randrange(max(len(content) // PAGE, 1)) * PAGE for _ in range(2))
        kept = content[one : one + PAGE]
        content[one : one + PAGE] = content[other : other + PAGE]
        content[other : other + PAGE] = kept
    else:
        del content[at:]
    path.write_bytes(bytes(content))
    return f"{kind} at {at}"
