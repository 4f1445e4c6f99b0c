"""What was found of each claim when its command was last run."""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import Any

from giantstep.files import write_text_file
from giantstep.numerics.scaling import PowerFit
from giantstep.talks.claims import Check, Claim

_FILE = "verdicts.json"


def stored_verdicts() -> dict[str, Any]:
    """What was measured of each claim, by its key: whether it ``holds``, what was ``measured``,
    the ``seconds`` of a processor that took, and our ``version``."""
    place = resources.files(__package__).joinpath(_FILE)
    return json.loads(place.read_text(encoding="utf-8")) if place.is_file() else {}


def claim_verdict(claim: Claim, found: Mapping[str, Any] | None) -> str:
    """The verdict on a claim, given what was measured of it.

    >>> claim = Claim(key="k", slide="s", kind="theorem", says="...", verdict="holds", figure="f")
    >>> [claim_verdict(claim, found) for found in ({"holds": True}, {"holds": False}, None)]
    ['holds', 'does not hold', 'not run']
    """
    if not claim.is_shown:
        return claim.verdict
    if found is None:
        return "not run"
    return claim.verdict if found["holds"] else "does not hold"


def claim_evidence(claim: Claim, found: Mapping[str, Any] | None) -> list[str]:
    """What was measured and what it was to be, or what the figure's caption claims, one line each.

    >>> check = Check("metrics/overlap", about=0.5, within=0.01)
    >>> claim = Claim(key="k", slide="s", kind="theorem", says="...", verdict="holds", command="c",
    ...               checks=(check,))
    >>> claim_evidence(claim, {"holds": True, "measured": {"metrics/overlap": 0.503217}})
    ['metrics/overlap = 0.5032 (0.5 within 0.01)']
    """
    if found is None:
        return []
    measured = dict(found["measured"])
    read = [_compared_claim(check, measured.pop(check.value, None)) for check in claim.checks]
    drawn = [text if holds else f"does not hold: {text}" for text, holds in measured.items()]
    return read + drawn


def _compared_claim(check: Check, value: Any) -> str:
    shown = f"{value:.4g}" if isinstance(value, float) else str(value)
    if check.fit and value is not None:
        shown = f"{check.fit} {PowerFit(**value)}"
    wanted = "" if check.about is None else f" ({check.about:g} within {check.within:g})"
    return f"{check.value} = {shown}{wanted}"


def keep_verdicts(results: Mapping[str, Any], folder: Path) -> Path:
    """Write what was measured into a folder, beside what is there for other claims."""
    path = folder / _FILE
    before = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    text = json.dumps({**before, **results}, indent=1, sort_keys=True, ensure_ascii=False)
    write_text_file(path, text + "\n")
    return path
