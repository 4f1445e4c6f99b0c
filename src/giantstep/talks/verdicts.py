"""What was found of each claim when its command was last run."""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import Any

from giantstep.talks.claims import Claim

_FILE = "verdicts.json"


def stored() -> dict[str, Any]:
    """What was measured of each claim, by its key: ``holds``, ``measured`` and ``version``."""
    place = resources.files(__package__).joinpath(_FILE)
    return json.loads(place.read_text(encoding="utf-8")) if place.is_file() else {}


def verdict(claim: Claim, found: Mapping[str, Any] | None) -> str:
    """The verdict on a claim, given what was measured of it.

    >>> claim = Claim(key="k", slide="s", kind="theorem", says="...", verdict="holds", command="c")
    >>> verdict(claim, {"holds": True}), verdict(claim, {"holds": False}), verdict(claim, None)
    ('holds', 'does not hold', 'not run')
    """
    if not claim.shown_by:
        return claim.verdict
    if found is None:
        return "not run"
    return claim.verdict if found["holds"] else "does not hold"


def keep(results: Mapping[str, Any], folder: Path) -> Path:
    """Write what was measured into a folder, beside what is there for other claims."""
    path = folder / _FILE
    before = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    text = json.dumps({**before, **results}, indent=1, sort_keys=True, ensure_ascii=False)
    path.write_text(text + "\n", encoding="utf-8")
    return path
