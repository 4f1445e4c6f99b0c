"""The versions of the libraries behind a cell: numbers may differ between them."""

from __future__ import annotations

import json
import platform
from collections import Counter
from collections.abc import Mapping
from functools import cache
from importlib import metadata
from typing import Any

import giantstep
from giantstep.answer.plain import counted

LIBRARIES = ("numpy", "scipy", "jax", "jaxlib")


@cache
def library_versions() -> dict[str, str]:
    """What this process computes with; nothing is imported for it."""
    versions = {"giantstep": giantstep.__version__, "python": platform.python_version()}
    for name in LIBRARIES:
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return versions


def cell_versions(about: Mapping[str, Any]) -> str:
    """The versions behind a cell as a text that can be counted."""
    return json.dumps(about.get("versions", {}), sort_keys=True)


def mixed_versions_note(versions: Counter[str]) -> str | None:
    """A sentence on the libraries whose versions differ between cells; None if there are none.

    >>> versions = {'{"jax": "0.4", "numpy": "2.0"}': 3, '{"jax": "0.5", "numpy": "2.0"}': 1}
    >>> mixed_versions_note(Counter(versions))
    'its cells were computed with different versions: jax 0.4 (3 cells), 0.5 (1 cell)'
    """
    by_library: dict[str, Counter[str]] = {}
    for text, cells in versions.items():
        for name, version in json.loads(text).items():
            by_library.setdefault(name, Counter())[str(version)] += cells
    mixed = [
        f"{name} " + ", ".join(f"{v} ({counted(n, 'cell')})" for v, n in found.most_common())
        for name, found in sorted(by_library.items())
        if len(found) > 1
    ]
    if not mixed:
        return None
    return "its cells were computed with different versions: " + "; ".join(mixed)
